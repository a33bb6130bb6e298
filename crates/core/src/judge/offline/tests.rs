/// Verdicts on small sessions.
mod stories;
/// The same sessions in the notations of agent families.
mod notations;
/// Who speaks.
mod speakers;
/// Properties of every session.
mod properties;
/// Prompt injection attempts.
mod hostile;

use super::*;
use crate::judge::rubric::{self, Rubric};
use crate::judge::verdict::{Finding, Judgement};

fn rubrics() -> Vec<&'static Rubric> {
    rubric::shipped().collect()
}

/// The default rubric.
fn usual() -> &'static Rubric {
    rubrics().into_iter().find(|rubric| rubric.name == rubric::DEFAULT).unwrap()
}

/// The judgement of a dimension of either rubric.
#[track_caller]
fn of(evidence: &Evidence, dimension: &str) -> Judgement {
    let rubric = rubrics().into_iter().find(|rubric| rubric.dimension(dimension).is_some());
    let verdict = judge(rubric.unwrap(), evidence, &Peers::default());
    verdict.judgement(dimension).unwrap().clone()
}

#[track_caller]
fn value(evidence: &Evidence, dimension: &str) -> f64 {
    of(evidence, dimension).finding.value().unwrap()
}

#[track_caller]
fn grade(judgement: &Judgement) -> &str {
    match &judgement.finding {
        Finding::Grade(grade) => &grade.label,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_dimension_that_ships_is_known() {
    for dimension in rubrics().iter().flat_map(|rubric| &rubric.dimensions) {
        let known = &SignalSet::shipped().dimensions;
        assert!(known.contains_key(&dimension.name), "{}", dimension.name);
    }
}

/// The weights of all signals, as a snapshot. A change must raise the version.
#[test]
fn what_signals_count() {
    let set = SignalSet::shipped();
    let mut lines = vec![format!("version {}", set.version)];
    for (name, marking) in &set.dimensions {
        lines.push(format!("{name}: {} {:?}, sure {:?}", marking.base, marking.cuts, marking.sure));
    }
    for (signal, weighing) in &set.signals {
        lines.push(format!(
            "{}, at most {}: {:?}",
            signal.name(),
            weighing.limit,
            weighing.effects
        ));
    }
    insta::assert_snapshot!(lines.join("\n"));
}
