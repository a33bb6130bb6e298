//! Questions to the store, as types: never SQL, so that every engine can answer them.

use std::time::Duration;

use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;

use crate::project::ProjectId;

/// From a moment (included) to a moment (excluded); open where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl TimeRange {
    /// The moments inside both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            from: self.from.into_iter().chain(other.from).max(),
            to: self.to.into_iter().chain(other.to).min(),
        }
    }
}

/// A test on one column of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition<Column> {
    pub column: Column,
    pub test: Test,
}

impl<Column> Condition<Column> {
    /// A column is exactly this text.
    pub fn equals(column: Column, text: impl Into<String>) -> Self {
        Self { column, test: Test::Text(TextTest::Equals, text.into()) }
    }
}

/// What must hold of a column. A missing value passes no test but `IsNull`, `NoneOf` and `Not…`.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A text equals, contains, or starts or ends with another.
    Text(TextTest, String),
    Number(Compare, f64),
    /// One of these numbers.
    AnyNumber(Vec<f64>),
    Time(Compare, Timestamp),
    Is(bool),
    /// One of these; for tags, any of these is there.
    AnyOf(Vec<String>),
    /// None of these; for tags, none of these is there.
    NoneOf(Vec<String>),
    /// All of these tags are there.
    AllOf(Vec<String>),
    /// There is no value.
    IsNull,
    IsNotNull,
    /// The value at a key of the metadata passes a test.
    Key(String, Box<Test>),
}

/// How texts compare. Case matters, as in Langfuse, unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTest {
    Equals,
    /// Not the same.
    Differs,
    Contains,
    Lacks,
    /// Somewhere inside, in any case.
    Matches,
    /// Nowhere inside, in any case.
    Misses,
    StartsWith,
    EndsWith,
}

/// How numbers and times compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Equal,
    /// Not the same.
    Unequal,
    Greater,
    /// Above or the same.
    AtLeast,
    Less,
    /// Below or the same.
    AtMost,
}

/// The columns of a trace that can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceColumn {
    Id,
    Timestamp,
    Name,
    User,
    Session,
    Release,
    Version,
    Environment,
    Agent,
    Tags,
    Public,
    Bookmarked,
    Metadata,
    Input,
    Output,
    Level,
    ObservationCount,
    /// Scores on it and on its observations.
    ScoreCount,
    /// The numbers of its scores and its observations', averaged; by name with a key.
    ScoreNumbers,
    /// The labels of its scores and its observations', by name.
    ScoreLabels,
    /// `True` or `False` of its scores and its observations', by name.
    ScoreTruths,
    DebugCount,
    DefaultCount,
    WarningCount,
    ErrorCount,
    /// In seconds.
    Latency,
    InputTokens,
    OutputTokens,
    TotalTokens,
    /// In dollars.
    Cost,
    /// In dollars: how much of the cost is approximate.
    ApproximateCost,
    /// In dollars.
    InputCost,
    /// In dollars.
    OutputCost,
    /// The models its observations called: a test holds if one of them passes it.
    Models,
}

/// The columns of an observation that can be tested, its trace's among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationColumn {
    Id,
    Trace,
    Kind,
    Name,
    Parent,
    /// Whether a run begins with it.
    Root,
    Start,
    End,
    Level,
    StatusMessage,
    Version,
    Environment,
    Agent,
    Model,
    PromptName,
    PromptVersion,
    Metadata,
    Input,
    Output,
    /// In seconds.
    Latency,
    /// In seconds.
    TimeToFirstToken,
    /// In seconds, from the first token to the end.
    StreamingLatency,
    /// Output tokens a second.
    TokensPerSecond,
    /// Output tokens a second from the first token on.
    StreamedTokensPerSecond,
    /// All tokens a second.
    TotalTokensPerSecond,
    ScoreCount,
    /// The numbers of its scores, averaged; by name with a key.
    ScoreNumbers,
    /// The labels of its scores, by name.
    ScoreLabels,
    /// `True` or `False` of its scores, by name.
    ScoreTruths,
    InputTokens,
    OutputTokens,
    TotalTokens,
    /// In dollars.
    Cost,
    /// In dollars: how much of the cost is approximate.
    ApproximateCost,
    /// In dollars.
    InputCost,
    /// In dollars.
    OutputCost,
    TraceName,
    TraceUser,
    TraceSession,
    TraceTags,
    TraceEnvironment,
    TraceRelease,
    TraceVersion,
    TracePublic,
    TraceBookmarked,
}

/// The columns of a score that can be tested, its trace's among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreColumn {
    Id,
    Name,
    DataType,
    /// The value as a number.
    Number,
    /// The value as a text.
    Text,
    /// Whether the value is a number other than zero.
    Truth,
    Source,
    Timestamp,
    Environment,
    Comment,
    Author,
    Config,
    Queue,
    /// The trace it judges, or whose observation it judges.
    Trace,
    Observation,
    Session,
    DatasetRun,
    Metadata,
    TraceName,
    TraceUser,
    TraceTags,
    TraceRelease,
    TraceVersion,
    /// The session it judges, or whose trace it judges.
    AnySession,
    ObservationName,
    ObservationModel,
    ObservationPromptName,
    ObservationPromptVersion,
}

/// What to order traces by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceOrder {
    #[default]
    Timestamp,
    Id,
    Name,
    User,
    Session,
    Release,
    Version,
    Public,
    Bookmarked,
    Latency,
    Cost,
    TotalTokens,
}

/// Up or down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    /// From the greatest: newest first.
    #[default]
    Descending,
}

/// A page by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageNumber {
    /// The page's number, from 1.
    pub page: u64,
    pub limit: u64,
}

impl PageNumber {
    /// How many rows stand before the page.
    pub const fn offset(self) -> u64 {
        self.page.saturating_sub(1).saturating_mul(self.limit)
    }
}

/// Which slice of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paging {
    /// Page by number; the answer says how many there are in all.
    Numbered(PageNumber),
    /// The rows after a cursor; cheap at any depth.
    After {
        /// Where the last answer stopped; from the start when `None`.
        cursor: Option<String>,
        /// Rows at most.
        limit: u64,
    },
}

/// How much of each record to fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The narrow row only.
    #[default]
    Row,
    /// Inputs, outputs and metadata too.
    Content,
}

/// A question for traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    pub conditions: Vec<Condition<TraceColumn>>,
    pub order: (TraceOrder, Direction),
    pub paging: Paging,
    pub detail: Detail,
}

/// A question for observations, ordered by their start.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    /// Of this trace only: spares the scan.
    pub trace: Option<TraceId>,
    pub conditions: Vec<Condition<ObservationColumn>>,
    /// Oldest or newest first.
    pub direction: Direction,
    pub paging: Paging,
    pub detail: Detail,
}

/// A question for how many of the newest records match, cheap at any size.
#[derive(Clone, Debug, PartialEq)]
pub struct TallyQuery<Column> {
    pub project: ProjectId,
    pub range: TimeRange,
    pub conditions: Vec<Condition<Column>>,
    /// How many records to look at, from the newest.
    pub at_most: u64,
}

/// How many of the newest records match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// How many were looked at: all there are, if fewer than asked for.
    pub looked_at: u64,
    /// How many of them match.
    pub matching: u64,
    /// How many of those failed.
    pub failed: u64,
    /// Whether there are more than were looked at.
    pub is_cut: bool,
}

/// A question for sessions, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    /// In one of these environments; in any when empty.
    pub environments: Vec<String>,
    pub paging: Paging,
}

/// How a session begins and ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionEnds {
    /// The trace that began first, with its content.
    pub first: Option<Trace>,
    /// The trace that began last.
    pub last: Option<Trace>,
}

/// A question for scores, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    /// On what: spares the scan.
    pub on: ScoresOn,
    pub conditions: Vec<Condition<ScoreColumn>>,
    pub paging: Paging,
}

/// What the scores asked for judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScoresOn {
    #[default]
    Anything,
    /// This trace or its observations.
    Trace(TraceId),
    Observation(TraceId, ObservationId),
    Session(SessionId),
    /// This run of a dataset.
    DatasetRun(String),
}

/// A search for a text in names, inputs, outputs and metadata of observations, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct TextQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    /// The text, in any case.
    pub text: String,
    /// Where the last answer stopped.
    pub cursor: Option<String>,
    /// Hits at most.
    pub limit: u64,
    /// How long to look before answering with what was found so far.
    pub budget: Duration,
}

/// What a text search found, and how far it came.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHits<T> {
    /// What was found, newest first.
    pub rows: Vec<T>,
    /// Where to go on; `None` when everything was searched.
    pub cursor: Option<String>,
    /// The start of the oldest observation looked at.
    pub searched_back_to: Option<Timestamp>,
    /// How many observations were looked at.
    pub rows_read: u64,
}

/// A slice of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// How many there are in all; for numbered pages only.
    pub total: Option<u64>,
    /// Where to go on; for cursor paging only, `None` at the end.
    pub cursor: Option<String>,
}
