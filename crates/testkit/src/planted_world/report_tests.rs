use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::proposal::{Proposal, ProposalInput, propose};

use super::*;

const SEEDS: [u64; 3] = [1, 2, 77];

fn proposals(world: &PlantedWorld) -> Vec<Proposal> {
    let (traces, traffic) = world.observed();
    propose(ProposalInput {
        agent: AGENT,
        traces: &traces,
        traffic,
        code: &world.code(),
        phrases: FailurePhrases::shipped(),
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

#[test]
fn a_world_without_a_defect_gets_no_proposal_for_it() {
    for seed in SEEDS {
        for defect in PlantedDefect::ALL {
            let twin = PlantedWorld::new(seed).with(DefectSet::all().without(defect));
            let grades = grade(&twin, &proposals(&twin));
            let wrong = &grades.false_proposals;
            assert!(!grades.topics.contains(defect.topic()), "{seed}: {defect:?} {wrong:#?}");
        }
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
