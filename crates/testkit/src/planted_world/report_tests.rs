use ratchet_core::improve::group::GroupingContext;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::proposal::{Proposal, ProposalInput, TrackedWeek, Trend, propose};

use super::*;

const SEEDS: [u64; 3] = [1, 2, 77];
/// Seeds that nothing was developed with.
const HELD_OUT: [u64; 2] = [90_210, 4_711];

fn proposals(world: &PlantedWorld) -> Vec<Proposal> {
    tracked(world, &[]).proposals
}

fn tracked(world: &PlantedWorld, known: &[Proposal]) -> TrackedWeek {
    let (traces, traffic) = world.observed();
    propose(ProposalInput {
        agent: AGENT,
        traces: &traces,
        traffic,
        code: &world.code(),
        grouping: GroupingContext::offline(FailurePhrases::shipped()),
        known,
    })
}

#[test]
fn the_report_names_at_least_ten_defects_with_at_most_two_false_proposals() {
    for seed in SEEDS {
        let world = PlantedWorld::new(seed);
        let found = proposals(&world);
        let grades = grade(&world, &found);
        let missed: Vec<PlantedDefect> =
            PlantedDefect::ALL.into_iter().filter(|it| !grades.right.contains(it)).collect();
        let wrong = &grades.false_proposals;
        assert!(grades.right.len() >= 10 && wrong.len() <= 2, "{seed}: {missed:?} {wrong:#?}");
    }
}

/// The components that the words of the held-out world show, and those of other seeds.
#[test]
fn the_report_holds_for_seeds_and_words_that_it_was_not_developed_with() {
    for seed in HELD_OUT {
        for wording in [PlantedWording::Known, PlantedWording::Others, PlantedWording::HeldOut] {
            let world = PlantedWorld::new(seed).worded(wording);
            let grades = grade(&world, &proposals(&world));
            let missed: Vec<PlantedDefect> =
                PlantedDefect::ALL.into_iter().filter(|it| !grades.right.contains(it)).collect();
            let wrong = &grades.false_proposals;
            assert!(
                grades.right.len() >= 10 && wrong.len() <= 2,
                "{seed} {wording:?}: {missed:?} {wrong:#?}"
            );
        }
    }
}

#[test]
fn a_world_without_a_defect_gets_no_proposal_for_it() {
    for seed in SEEDS {
        for defect in PlantedDefect::ALL {
            let twin = PlantedWorld::new(seed).with(DefectSet::all().without(defect));
            assert_nothing_about(defect, &twin);
        }
    }
}

fn assert_nothing_about(defect: PlantedDefect, twin: &PlantedWorld) {
    let grades = grade(twin, &proposals(twin));
    let wrong = &grades.false_proposals;
    assert!(!grades.topics.contains(defect.topic()), "{twin:?}: {defect:?} {wrong:#?}");
}

#[test]
fn a_held_out_world_without_a_defect_gets_no_proposal_for_it() {
    for defect in PlantedDefect::ALL {
        let twin = PlantedWorld::new(HELD_OUT[1]).worded(PlantedWording::HeldOut);
        assert_nothing_about(defect, &twin.with(DefectSet::all().without(defect)));
    }
}

#[test]
fn proposed_diffs_apply_to_the_repository() {
    let world = PlantedWorld::new(1);
    let folder = tempfile::tempdir().unwrap();
    world.write_repository(folder.path());
    let diffs: Vec<String> =
        proposals(&world).into_iter().filter_map(|proposal| proposal.diff).collect();
    assert!(diffs.len() >= 3, "{diffs:?}");
    for (number, diff) in diffs.iter().enumerate() {
        let file = format!("{number}.diff");
        std::fs::write(folder.path().join(&file), diff).unwrap();
        let mut git = std::process::Command::new("git");
        let output = git.args(["apply", "--check", &file]).current_dir(folder.path()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{diff}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A report of each week, with the proposals of the reports before it as a store keeps them: the newest
/// of each id.
fn weekly_reports(defects: &DefectSet, weeks: usize, seed: u64) -> Vec<TrackedWeek> {
    let mut known: Vec<Proposal> = Vec::new();
    let report = |week: usize| {
        let world = PlantedWorld::new(seed).with(defects.clone()).weeks(week + 1);
        let report = tracked(&world, &known);
        known.retain(|old| report.proposals.iter().all(|new| new.id != old.id));
        known.extend(report.proposals.iter().cloned());
        report
    };
    (0..weeks).map(report).collect()
}

#[test]
fn a_defect_that_appears_is_fixed_and_comes_back_is_one_pattern() {
    for (defect, seed) in [
        (PlantedDefect::WrongStock, 1),
        (PlantedDefect::ReturnsFromMemory, 2),
        (PlantedDefect::UnknownShopHours, HELD_OUT[0]),
    ] {
        let defects = DefectSet::all().without(defect).in_weeks(defect, &[1, 2, 4]);
        let reports = weekly_reports(&defects, 5, seed);
        let about = |week: usize| {
            let world = PlantedWorld::new(seed).with(defects.clone()).weeks(week + 1);
            let found = &reports[week].proposals;
            let is_it =
                |one: &&Proposal| grade(&world, std::slice::from_ref(*one)).right.contains(&defect);
            found.iter().filter(is_it).cloned().collect::<Vec<_>>()
        };
        assert!(about(0).is_empty() && about(3).is_empty(), "{defect:?}");
        let (first, second, back) = (about(1), about(2), about(4));
        let [first, second, back] = [first, second, back].map(|found| {
            let [one] = found.as_slice() else { panic!("{defect:?}: {found:#?}") };
            one.clone()
        });
        assert_eq!((&first.id, &second.id), (&second.id, &back.id), "{defect:?}");
        assert_eq!((first.trend, back.trend), (Trend::New, Trend::Back), "{defect:?}");
        assert!(!matches!(second.trend, Trend::New | Trend::Back), "{defect:?}");
        let gone = reports[3].faded.iter().find(|one| one.id == first.id);
        let trend = gone.map(|one| one.trend);
        assert!(matches!(trend, Some(Trend::Gone | Trend::Shrinking)), "{defect:?}: {trend:?}");
    }
}

#[test]
fn what_stays_keeps_its_id_from_week_to_week() {
    let reports = weekly_reports(&DefectSet::all(), 4, 77);
    for pair in reports.windows(2) {
        let ids = |report: &TrackedWeek| -> Vec<String> {
            report.proposals.iter().map(|one| one.id.clone()).collect()
        };
        let (before, after) = (ids(&pair[0]), ids(&pair[1]));
        let kept = before.iter().filter(|id| after.contains(id)).count();
        assert!(kept + 1 >= before.len(), "{kept} of {before:?} in {after:?}");
    }
}
