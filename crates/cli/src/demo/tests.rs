use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::time::Timestamp;

use super::people::Place;
use super::rhythm::DAY;
use super::stories::coding;
use super::story::{Run, Step, Work};
use super::week::{self, Happenings};
use super::wire;

fn end() -> Timestamp {
    Timestamp::parse("2026-11-15T04:30:00Z").unwrap()
}

fn traffic(seed: u64) -> Happenings {
    week::imagine(seed, end())
}

fn bytes(seed: u64) -> (Vec<wire::Export>, Vec<String>) {
    let traffic = traffic(seed);
    let scores = traffic.thumbs.iter().map(|thumb| wire::score(thumb).to_string()).collect();
    (wire::exports(&traffic.runs), scores)
}

fn steps(run: &Run) -> Vec<&Step> {
    run.root.all()
}

fn is_call(step: &&Step) -> bool {
    matches!(step.work, Work::Model(_) | Work::Tool(_))
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    assert_eq!(bytes(1), bytes(1));
}

#[test]
fn another_seed_gives_another_week() {
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn there_are_about_a_thousand_runs_and_thirty_coding_sessions() {
    let traffic = traffic(1);
    let (coding, others): (Vec<_>, Vec<_>) =
        traffic.runs.iter().partition(|run| run.agent.name == "claude-code");
    assert!((980..1_040).contains(&others.len()), "{} runs", others.len());
    let mut sessions: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for run in coding {
        let (runs, calls) = sessions.entry(&run.session).or_default();
        *runs += 1;
        *calls += steps(run).into_iter().filter(is_call).count();
    }
    assert_eq!(sessions.len(), week::CODING_SESSIONS);
    for (session, (runs, calls)) in sessions {
        assert!(runs >= 3, "{session} has {runs} runs");
        assert!(coding::STEPS.contains(&calls), "{session} has {calls} steps");
    }
}

#[test]
fn everything_happens_within_the_week_and_in_order() {
    let traffic = traffic(3);
    for run in &traffic.runs {
        // A conversation that begins near the start may have been moved back a little.
        assert!(end().since(run.root.start) < 8 * DAY);
        for step in steps(run) {
            assert!(step.start <= step.end && step.end <= end(), "{step:?}");
            for child in &step.children {
                assert!(step.start <= child.start && child.end <= step.end, "{:?}", child.work);
            }
        }
    }
    assert!(traffic.thumbs.iter().all(|thumb| thumb.at <= end()));
    let newest = traffic.runs.iter().map(|run| run.root.start).max().unwrap();
    assert!(end().since(newest) < DAY / 24);
}

#[test]
fn ids_are_unique() {
    let traffic = traffic(4);
    let traces: BTreeSet<_> = traffic.runs.iter().map(|run| run.id).collect();
    assert_eq!(traces.len(), traffic.runs.len());
    let all: Vec<_> = traffic.runs.iter().flat_map(steps).map(|step| step.id).collect();
    let distinct: BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

/// The share of failed steps and of thumbs that point up, in production.
fn health(traffic: &Happenings, is_chosen: impl Fn(&Run) -> bool) -> (f64, f64) {
    let chosen: Vec<_> = traffic.runs.iter().filter(|run| is_chosen(run)).collect();
    let all: Vec<_> = chosen.iter().flat_map(|run| steps(run)).collect();
    let failed = all.iter().filter(|step| step.has_failed()).count();
    let ids: BTreeSet<_> = chosen.iter().map(|run| run.id).collect();
    let thumbs: Vec<_> = traffic.thumbs.iter().filter(|thumb| ids.contains(&thumb.trace)).collect();
    let up = thumbs.iter().filter(|thumb| thumb.up).count();
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    (share(failed, all.len()), share(up, thumbs.len()))
}

#[test]
fn the_bad_release_shows() {
    let traffic = traffic(5);
    let support = |run: &Run| run.agent.name == "support-desk" && run.place == Place::Prod;
    let (bad_errors, bad_thumbs) = health(&traffic, |run| support(run) && run.release.is_bad);
    let (errors, thumbs) = health(&traffic, |run| support(run) && !run.release.is_bad);
    assert!(bad_errors > 3.0 * errors, "{bad_errors} against {errors}");
    assert!(bad_thumbs + 0.25 < thumbs, "{bad_thumbs} against {thumbs}");
}

#[test]
fn every_slot_is_filled() {
    let templates = ["{given}", "{order}", "{product}", "{city}", "{symbol}", "{file}", "{upshot}"];
    let traffic = traffic(6);
    for step in traffic.runs.iter().flat_map(steps) {
        let text = format!("{:?}", step.work);
        assert!(!templates.iter().any(|slot| text.contains(slot)), "{text}");
    }
}

#[test]
fn another_agent_is_asked_in_the_same_session() {
    let traffic = traffic(7);
    let asked: Vec<_> = traffic.runs.iter().filter(|run| run.asked_by.is_some()).collect();
    assert!(asked.len() > 50);
    for run in asked {
        let by = run.asked_by.unwrap();
        let caller = traffic.runs.iter().find(|run| run.id == by.trace).unwrap();
        assert_eq!(caller.session, run.session);
        assert!(steps(caller).iter().any(|step| step.id == by.step));
    }
}

#[test]
fn context_grows_within_a_session() {
    let traffic = traffic(8);
    let session = &traffic.runs.iter().find(|run| run.agent.name == "claude-code").unwrap().session;
    let runs = traffic.runs.iter().filter(|run| run.session == *session);
    let sizes: Vec<u64> = runs
        .flat_map(|run| run.root.children.iter())
        .filter_map(|step| match &step.work {
            Work::Model(call) => Some(call.tokens.input + call.tokens.cached + call.tokens.written),
            _ => None,
        })
        .collect();
    assert!(sizes.last() > sizes.first(), "{sizes:?}");
}
