//! Score statistics by name: bounded samples, newest first, so that they cost the same however many
//! scores there are.

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::quality::synthesis::JudgeVersion;
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_core::time::Timestamp;

use crate::project::ProjectId;
use crate::query::TimeRange;

/// Limit for counting the scores of one name; beyond it, there are "at least" so many.
pub const MAX_COUNTED: u64 = 1_000_000;

/// Which scores to read.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreScope {
    pub project: ProjectId,
    pub range: TimeRange,
    /// Any when empty.
    pub environments: Vec<String>,
}

/// A query for the newest scores of each name.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleQuery {
    pub scope: ScoreScope,
    /// Every name when `None`.
    pub name: Option<String>,
    /// Maximum number of scores, shared evenly among the names.
    pub at_most: u64,
}

/// The newest scores of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    /// Number of scores, counted up to [`MAX_COUNTED`].
    pub total: u64,
    /// The newest scores, newest first.
    pub judgements: Vec<ScoreValueRow>,
}

/// The value of a score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreValueRow {
    pub value: ScoreValue,
    pub source: ScoreSource,
    /// The judge and versions that its metadata names.
    pub judge: JudgeVersion,
    /// Whether a newer verdict of the judge took its place.
    pub is_superseded: bool,
    /// Whether it names a person as its author, or came from a visitor of a web page.
    pub names_a_person: bool,
    /// When it was first recorded.
    pub timestamp: Timestamp,
}

/// One side of a comparison: scores of one name, optionally of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub name: String,
    /// Any source when `None`.
    pub source: Option<ScoreSource>,
}

/// A query for paired values of two scores on the same traces.
#[derive(Clone, Debug, PartialEq)]
pub struct PairQuery {
    pub scope: ScoreScope,
    /// The side whose newest scores are read.
    pub left: Side,
    pub right: Side,
    /// Maximum number of scores of the left side.
    pub at_most: u64,
}

/// Paired values of two scores on the same traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Newest first.
    pub rows: Vec<Pair>,
    /// Scores of the left side that were read.
    pub looked_at: u64,
    /// Whether there are more of them.
    pub is_cut: bool,
}

/// Two score values of one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub trace: TraceId,
    /// The observation, if the left score is on one. The right score on the same observation takes
    /// precedence, then the newest on the trace.
    pub observation: Option<ObservationId>,
    pub left: ScoreValue,
    pub right: ScoreValue,
}
