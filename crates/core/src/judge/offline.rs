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

use crate::judge::evidence::Evidence;
use crate::judge::rubric::Rubric;
use crate::judge::session_timeline;
use crate::judge::verdict::Verdict;

use detectors::PeerRanks;
pub use peers::{Peers, Size};
pub use signals::{Signal, SignalSet};

/// Judges a session by the built-in signals.
///
/// ```
/// use ratchet_core::judge::evidence::Evidence;
/// use ratchet_core::id::SessionId;
/// use ratchet_core::judge::offline::{self, Peers};
/// use ratchet_core::judge::rubric::{JudgeSettings, Rubric};
///
/// let judge = JudgeSettings { temperature: 0.0, max_output_tokens: 1_000 };
/// let (name, description) = ("mine".to_owned(), String::new());
/// let rubric = Rubric { name, version: 1, description, dimensions: Vec::new(), judge };
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
    let moves = session_timeline::of_with(evidence, &signals.notations);
    let size = Size::with(evidence, &moves);
    let among = PeerRanks {
        rank: peers.rank(&size),
        cost: size.cost.map(|cost| peers.cost_rank(cost)),
        need_no_tools: peers.do_without_tools(),
    };
    let detections = detectors::detect(signals, &moves, among);
    let dimensions = rubric
        .dimensions
        .iter()
        .map(|dimension| dimension_scores::judge(signals, dimension, &detections));
    Verdict { dimensions: dimensions.collect() }
}

#[cfg(test)]
mod tests;
