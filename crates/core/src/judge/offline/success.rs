//! P(success): how likely the work of a session was done, fitted to a project's own labels.
//!
//! The offline judge's levels are a guess of ours until people have labelled sessions. With enough
//! labels, a regression over the same signals says how often sessions like this one were complete in
//! this project. It also shows whether length predicts anything there.

/// Cross-validated comparison with the judge as it is, and with a constant.
pub mod check;
/// Fitting to labels.
pub mod fit;
/// The fitted model and its file.
pub mod model;

use std::collections::BTreeMap;

use super::detectors::Detections;
use super::dimension_scores::describe_signal;
use super::signals::{Signal, SignalSet};
use crate::judge::evidence::Evidence;
use crate::judge::rubric::{Dimension, Rubric, Scale};
use crate::judge::session_timeline::{TimelineAction, TimelineEvent};
use crate::judge::verdict::{Finding, Verdict};

pub use check::CrossCheck;
pub use fit::{LabelledFeatures, NotFitted, SuccessFit, fit};
pub use model::{SuccessEstimate, SuccessModel};

/// The dimension whose labels tell success.
pub const OUTCOME: &str = "task_completion";
/// Labels from here on are a success: "complete" and better, in all rubrics that ship.
pub const SUCCESS: f64 = 0.6;
/// How the part of a rationale that explains a probability begins. It repeats signals.
pub const EXPLANATION: &str = "P(success)";
/// The uncalibrated overall score, as a feature.
const SCORE: &str = "offline_score";
/// The number of characters of a first request that tell tasks apart.
const MAX_GROUP_CHARS: usize = 400;

/// What a regression sees of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFeatures {
    /// The strength of each signal by name, and the uncalibrated score. What cannot be compared
    /// is missing.
    pub values: BTreeMap<String, f64>,
    /// The plain words for detected signals.
    words: BTreeMap<String, String>,
    /// The uncalibrated score of the outcome: what the judge says without labels.
    pub uncalibrated: Option<f64>,
    /// The start of the first request: sessions with the same one attempt the same task.
    pub group: String,
}

impl SessionFeatures {
    /// Returns whether a signal was detected.
    pub(super) fn has(&self, signal: Signal) -> bool {
        self.words.contains_key(&signal.name())
    }

    #[cfg(test)]
    pub(super) fn for_tests(signals: &[(Signal, f64)], group: &str) -> Self {
        let words = signals.iter().map(|(signal, _)| (signal.name(), signal.name()));
        let values = signals.iter().map(|(signal, strength)| (signal.name(), *strength));
        Self {
            values: values.collect(),
            words: words.collect(),
            uncalibrated: None,
            group: group.to_owned(),
        }
    }
}

/// Returns whether a mark of the outcome is a success.
pub fn is_success(mark: f64) -> bool {
    mark >= SUCCESS
}

/// Returns the features of a session.
pub fn features(
    set: &SignalSet,
    rubric: &Rubric,
    evidence: &Evidence,
    peers: &super::Peers,
) -> SessionFeatures {
    let seen = super::examine(set, evidence, peers);
    let verdict = super::verdict(set, rubric, &seen.detections);
    of(set, rubric, (&seen.moves, &seen.detections), &verdict)
}

/// Returns the features of a session that was examined.
pub(super) fn of(
    set: &SignalSet,
    rubric: &Rubric,
    (moves, detections): (&[TimelineEvent], &Detections),
    verdict: &Verdict,
) -> SessionFeatures {
    let mut values = BTreeMap::new();
    let mut words = BTreeMap::new();
    for (signal, weighing) in &set.signals {
        let detection = detections.of(*signal);
        // What needs peers or costs is unknown without them; any other signal was not there.
        let is_comparison = matches!(signal, Signal::AmongPeers | Signal::CostAmongPeers);
        let strength = match detection {
            Some(detection) => detection.strength.min(weighing.limit),
            None if is_comparison => continue,
            None => 0.0,
        };
        values.insert(signal.name(), strength);
        if let Some(detection) = detection {
            words.insert(signal.name(), describe_signal(weighing, detection));
        }
    }
    let overall = verdict.overall(rubric);
    values.extend(overall.map(|overall| (SCORE.to_owned(), overall)));
    let outcome = verdict.judgement(OUTCOME).and_then(|judgement| judgement.finding.value());
    let first = moves.iter().find_map(|event| match &event.act {
        TimelineAction::UserSays(text) => Some(text.trim()),
        TimelineAction::AgentSays(_) | TimelineAction::Calls(_) => None,
    });
    let group = first.unwrap_or_default().chars().take(MAX_GROUP_CHARS).collect();
    SessionFeatures { values, words, uncalibrated: outcome.or(overall), group }
}

/// Returns the finding that a probability of success stands for: success from 1 in 2 on. Below, the
/// grades that are no success share the rest.
pub(super) fn finding(dimension: &Dimension, probability: f64) -> Finding {
    let Scale::Ordered(grades) = &dimension.scale else { return Finding::Number(probability) };
    let good = grades.iter().position(|grade| is_success(grade.value)).unwrap_or(grades.len());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place among a handful of grades"
    )]
    let place = (probability.clamp(0.0, 0.5) * 2.0 * good as f64).floor() as usize;
    let grade = grades.get(place.min(good)).or_else(|| grades.last());
    grade.map_or(Finding::NotObservable, |grade| Finding::Grade(grade.clone()))
}

#[cfg(test)]
mod tests;
