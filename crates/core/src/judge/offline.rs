//! A judge that needs no model: it counts signals in what happened.
//!
//! Deterministic and honest about its reach. Signals, what they count and the words they look for
//! are a file (`SignalSet::shipped`); `docs/offline-judge.md` tells them one by one. Words only
//! count in the mouth that may say them: a correction only from the user, a test result only from
//! a command that the agent ran. What a page, a file or a fake verdict says changes nothing.

/// How other sessions of the same agent went.
pub mod peers;
/// The file of signals.
pub mod signals;
/// The form in which they are written.
mod file;
/// What was seen of each signal.
mod detectors;
/// From what was seen to marks.
mod dimension_scores;

use crate::judge::evidence::Evidence;
use crate::judge::rubric::Rubric;
use crate::judge::session_timeline;
use crate::judge::verdict::Verdict;

use detectors::Among;
pub use peers::{Peers, Size};
pub use signals::{Signal, SignalSet};

/// Judges a session by the signals that come with Ratchet.
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

/// Judges a session by signals of one's own.
pub fn judge_with(
    signals: &SignalSet,
    rubric: &Rubric,
    evidence: &Evidence,
    peers: &Peers,
) -> Verdict {
    let moves = session_timeline::of(evidence);
    let size = Size::with(evidence, &moves);
    let among = Among {
        rank: peers.rank(&size),
        cost: size.cost.map(|cost| peers.cost_rank(cost)),
        need_no_tools: peers.do_without_tools() == Some(true),
    };
    let seen = detectors::look(signals, &moves, among);
    let dimensions = rubric
        .dimensions
        .iter()
        .map(|dimension| dimension_scores::judge(signals, dimension, &seen));
    Verdict { dimensions: dimensions.collect() }
}

#[cfg(test)]
mod tests;
