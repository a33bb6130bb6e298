//! Typed queries: never SQL, so that every engine can answer them.

use std::time::Duration;

use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;

pub use ratchet_core::record::field_table::{
    ObservationColumn, ScoreColumn, SessionColumn, SessionOrder, TraceColumn, TraceOrder,
};

use crate::project::ProjectId;

/// From a moment (inclusive) to a moment (exclusive); unbounded when `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl TimeRange {
    /// The intersection of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            from: self.from.into_iter().chain(other.from).max(),
            to: self.to.into_iter().chain(other.to).min(),
        }
    }
}

/// A condition on one column of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition<Column> {
    pub column: Column,
    pub test: Test,
}

impl<Column> Condition<Column> {
    /// A column equals this text.
    pub fn equals(column: Column, text: impl Into<String>) -> Self {
        Self { column, test: Test::Text(TextTest::Equals, text.into()) }
    }
}

/// The operator and value of a condition. NULL passes only `IsNull`, `NoneOf` and `Not…`.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    Text(TextTest, String),
    Number(Compare, f64),
    /// One of these numbers.
    AnyNumber(Vec<f64>),
    Time(Compare, Timestamp),
    Is(bool),
    /// One of these; for tags, at least one of these.
    AnyOf(Vec<String>),
    /// None of these.
    NoneOf(Vec<String>),
    /// All of these tags.
    AllOf(Vec<String>),
    IsNull,
    IsNotNull,
    /// A condition on the value of a metadata key.
    Key(String, Box<Test>),
}

/// Text operators. Case-sensitive, as in Langfuse, unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTest {
    Equals,
    Differs,
    Contains,
    Lacks,
    /// Contains, case-insensitive.
    Matches,
    /// Does not contain, case-insensitive.
    Misses,
    StartsWith,
    EndsWith,
}

/// Operators for numbers and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Equal,
    Unequal,
    Greater,
    AtLeast,
    Less,
    AtMost,
}

/// The direction of a sort order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    #[default]
    Descending,
}

/// A numbered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageNumber {
    /// From 1.
    pub page: u64,
    pub limit: u64,
}

impl PageNumber {
    /// Number of rows before the page.
    pub const fn offset(self) -> u64 {
        self.page.saturating_sub(1).saturating_mul(self.limit)
    }
}

/// Pagination of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paging {
    /// By page number; the result has the total.
    Numbered(PageNumber),
    /// After a cursor; cheap at any depth.
    After {
        /// From the previous page; the start when `None`.
        cursor: Option<String>,
        limit: u64,
    },
}

/// How much of each record to fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Without inputs, outputs and metadata.
    #[default]
    Row,
    /// With inputs, outputs and metadata.
    Content,
    /// As `Content` for the first rows of a page: once these have about 2 MB, the rows that follow
    /// have `content: None`, and are to be read one by one.
    BoundedContent,
}

/// A query for traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    pub conditions: Vec<Condition<TraceColumn>>,
    pub order: (TraceOrder, Direction),
    pub paging: Paging,
    pub detail: Detail,
}

/// A query for observations, ordered by start.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    /// Only this trace: avoids a scan.
    pub trace: Option<TraceId>,
    pub conditions: Vec<Condition<ObservationColumn>>,
    pub direction: Direction,
    pub paging: Paging,
    pub detail: Detail,
}

/// Counts matches among the newest records, cheap at any data size.
#[derive(Clone, Debug, PartialEq)]
pub struct TallyQuery<Column> {
    pub project: ProjectId,
    pub range: TimeRange,
    pub conditions: Vec<Condition<Column>>,
    /// Number of records to read, from the newest.
    pub at_most: u64,
}

/// Number of matches among the newest records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// Records read: all, if there are fewer than the limit.
    pub looked_at: u64,
    pub matching: u64,
    /// Matching records with an error.
    pub failed: u64,
    /// Whether there are more records than were read.
    pub is_cut: bool,
}

/// A query for sessions, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    pub conditions: Vec<Condition<SessionColumn>>,
    pub paging: Paging,
}

/// The first and last trace of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionEnds {
    /// With content.
    pub first: Option<Trace>,
    /// With content.
    pub last: Option<Trace>,
}

/// A query for scores, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    /// The target: avoids a scan.
    pub on: ScoresOn,
    pub conditions: Vec<Condition<ScoreColumn>>,
    pub paging: Paging,
}

/// The target of the requested scores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScoresOn {
    #[default]
    Anything,
    /// This trace or its observations.
    Trace(TraceId),
    Observation(TraceId, ObservationId),
    Session(SessionId),
    DatasetRun(String),
}

/// A full-text search in names, inputs, outputs and metadata of observations, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct TextQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    /// Case-insensitive.
    pub text: String,
    /// From the previous result.
    pub cursor: Option<String>,
    pub limit: u64,
    /// Time limit, after which the hits so far are returned.
    pub budget: Duration,
}

/// The hits of a full-text search, and how far it got.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHits<T> {
    /// Newest first.
    pub rows: Vec<T>,
    /// `None` when everything was searched.
    pub cursor: Option<String>,
    /// Start of the oldest observation read.
    pub searched_back_to: Option<Timestamp>,
    pub rows_read: u64,
}

/// A page of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// Total number of rows; for numbered pages only.
    pub total: Option<u64>,
    /// Cursor of the next page; for cursor pagination only, `None` at the end.
    pub cursor: Option<String>,
}
