//! Questions about scores by name: bounded samples, newest first, so that they cost the same
//! however many scores there are.

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_core::time::Timestamp;

use crate::project::ProjectId;
use crate::query::TimeRange;

/// How far scores of one name are counted; beyond, there are "at least" so many.
pub const COUNTED_UP_TO: u64 = 1_000_000;

/// Which scores are looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreScope {
    pub project: ProjectId,
    pub range: TimeRange,
    /// In one of these environments; in any when empty.
    pub environments: Vec<String>,
}

/// A question for the newest scores of each name.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleQuery {
    pub scope: ScoreScope,
    /// Of this name only; of every name when `None`.
    pub name: Option<String>,
    /// Scores at most, shared evenly among the names.
    pub at_most: u64,
}

/// The newest scores of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    /// How many scores there are, counted up to [`COUNTED_UP_TO`].
    pub total: u64,
    /// The newest of them, newest first.
    pub judgements: Vec<ScoreValueRow>,
}

/// What one score says, without the rest of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreValueRow {
    pub value: ScoreValue,
    pub source: ScoreSource,
    /// When it was first given.
    pub timestamp: Timestamp,
}

/// One side of a comparison: scores of one name, by anyone or by one kind of judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub name: String,
    /// Only by these, if it matters.
    pub source: Option<ScoreSource>,
}

/// A question for what two kinds of scores say about the same traces.
#[derive(Clone, Debug, PartialEq)]
pub struct PairQuery {
    pub scope: ScoreScope,
    /// The one side, whose newest scores are looked at.
    pub left: Side,
    pub right: Side,
    /// Scores of the left side to look at, at most.
    pub at_most: u64,
}

/// What two kinds of scores say about the same traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Both verdicts, newest first.
    pub rows: Vec<Pair>,
    /// How many scores of the left side were looked at.
    pub looked_at: u64,
    /// Whether there are more of them.
    pub is_cut: bool,
}

/// Two verdicts on one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub trace: TraceId,
    /// Which step of it, where the left side judges a step. The right side's verdict on the same
    /// step is taken first, then its newest on the trace.
    pub observation: Option<ObservationId>,
    /// What the left side says.
    pub left: ScoreValue,
    /// What the right side says.
    pub right: ScoreValue,
}
