//! The offline judge: rule-based detectors over the session timeline, no model.
//!
//! Deterministic. Signals, their weights and their phrases are in a file (`SignalSet::shipped`),
//! documented in `docs/offline-judge.md`. Phrases count only from the right source: a correction
//! only from the user, a test result only from a command that the agent ran. Text in a web page, a
//! file or a fake verdict has no effect.

/// Comparison with other sessions of the same agent.
pub mod peers;
/// The set of signals.
pub mod signals;
/// File format of signals.
mod file;
/// Detection of signals.
mod detectors;
/// Scores from detected signals.
mod dimension_scores;
/// P(success), fitted to labels.
pub mod success;
/// Overrides of signals, drafted from labels.
pub mod overrides;

use crate::judge::evidence::Evidence;
use crate::judge::rubric::Rubric;
use crate::judge::session_timeline::{self, TimelineEvent};
use crate::judge::verdict::Verdict;

use detectors::{Detections, PeerRanks};
pub use overrides::SignalOverrides;
pub use peers::{Peers, Size};
pub use signals::{Signal, SignalSet};
pub use success::{SuccessEstimate, SuccessModel};

/// The name of the offline judge, in commands and in the metadata of scores.
pub const NAME: &str = "offline";

/// Judges a session by the built-in signals.
///
/// ```
/// use ratchet_core::judge::evidence::Evidence;
/// use ratchet_core::id::SessionId;
/// use ratchet_core::judge::offline::{self, Peers};
/// use ratchet_core::judge::rubric::{Critics, JudgeSettings, Rubric};
///
/// let critics = Critics::Together;
/// let judge = JudgeSettings { temperature: 0.0, max_output_tokens: 1_000 };
/// let (name, description) = ("mine".to_owned(), String::new());
/// let rubric = Rubric { name, version: 1, description, dimensions: Vec::new(), judge, critics };
/// let session = Evidence::new(SessionId::parse("s-1")?, Vec::new());
/// assert!(offline::judge(&rubric, &session, &Peers::default()).dimensions.is_empty());
/// # Ok::<(), ratchet_core::id::IdError>(())
/// ```
pub fn judge(rubric: &Rubric, evidence: &Evidence, peers: &Peers) -> Verdict {
    judge_with(SignalSet::shipped(), rubric, evidence, peers)
}

/// Judges a session by a custom set of signals.
pub fn judge_with(
    signals: &SignalSet,
    rubric: &Rubric,
    evidence: &Evidence,
    peers: &Peers,
) -> Verdict {
    verdict(signals, rubric, &examine(signals, evidence, peers).detections)
}

/// Judges a session by signals, and its outcome by a model that was fitted to labels.
pub fn judge_calibrated(
    (signals, model): (&SignalSet, &SuccessModel),
    rubric: &Rubric,
    evidence: &Evidence,
    peers: &Peers,
) -> (Verdict, SuccessEstimate) {
    let Examined { moves, detections } = examine(signals, evidence, peers);
    let mut verdict = verdict(signals, rubric, &detections);
    let features = success::of(signals, rubric, (&moves, &detections), &verdict);
    let estimate = model.estimate(&features);
    let outcomes = rubric.dimensions.iter().zip(&mut verdict.dimensions);
    for (dimension, judgement) in outcomes.filter(|(it, _)| it.name == success::OUTCOME) {
        let probability = estimate.probability;
        judgement.finding = success::finding(dimension, probability);
        judgement.rationale = format!("{} {}", judgement.rationale, estimate.sentence());
        judgement.confidence = probability.max(1.0 - probability);
        if judgement.evidence.is_empty() {
            judgement.evidence = moves.last().map(|event| event.trace).into_iter().collect();
        }
    }
    (verdict, estimate)
}

/// What was found in a session.
struct Examined {
    moves: Vec<TimelineEvent>,
    detections: Detections,
}

fn examine(signals: &SignalSet, evidence: &Evidence, peers: &Peers) -> Examined {
    let moves = session_timeline::of_with(evidence, &signals.notations);
    let size = Size::with(evidence, &moves);
    let among = PeerRanks {
        rank: peers.rank(&size),
        cost: size.cost.map(|cost| peers.cost_rank(cost)),
        need_no_tools: peers.do_without_tools(),
    };
    let last = evidence.traces.last().and_then(|last| last.trace.content.as_ref());
    let has_output = last.is_some_and(|content| content.output.is_some());
    let detections = detectors::detect(signals, &moves, among, has_output);
    Examined { moves, detections }
}

fn verdict(signals: &SignalSet, rubric: &Rubric, detections: &Detections) -> Verdict {
    let dimensions = rubric
        .dimensions
        .iter()
        .map(|dimension| dimension_scores::judge(signals, dimension, detections));
    Verdict { dimensions: dimensions.collect() }
}

#[cfg(test)]
mod tests;
