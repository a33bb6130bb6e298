//! Sums by hour and by dimension: what dashboards ask.

use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use crate::histogram::Histogram;
use crate::project::ProjectId;
use crate::query::{Condition, ObservationColumn, TimeRange};

/// What observations can be grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    Environment,
    Kind,
    Name,
    Model,
    Level,
    Version,
    Agent,
    Prompt,
    TraceName,
    User,
    Session,
    Release,
    /// The whole set of the trace's tags, as a JSON list.
    Tags,
}

impl Dimension {
    /// Whether hourly sums keep it apart, so that a question by it costs the same at any size.
    pub const fn is_kept(self) -> bool {
        match self {
            Self::Environment | Self::Kind | Self::Name | Self::Model => true,
            Self::Level
            | Self::Version
            | Self::Agent
            | Self::Prompt
            | Self::TraceName
            | Self::User
            | Self::Session
            | Self::Release
            | Self::Tags => false,
        }
    }
}

/// How wide the steps on the time axis are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// One step: the whole range.
    #[default]
    Whole,
    Hour,
    /// A day, in UTC.
    Day,
}

/// A question for sums over observations.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateQuery {
    pub project: ProjectId,
    /// Begun when. Rollups answer by the hour: the range is widened to whole hours.
    pub range: TimeRange,
    /// One group for each combination of these.
    pub by: Vec<Dimension>,
    /// And for each step of time.
    pub step: Step,
    /// Over observations that pass all of these.
    pub conditions: Vec<Condition<ObservationColumn>>,
}

/// The answer, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The groups, by time and then by dimension.
    pub groups: Vec<Group>,
    /// Where the numbers come from.
    pub source: AggregateSource,
    /// How many rows were read for it.
    pub rows_read: u64,
}

/// Where the numbers of an aggregate come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateSource {
    /// Hourly sums kept up to date by recording.
    Rollup,
    /// A scan of the observations in the range.
    Scan,
}

/// One group of observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The start of its step of time; `None` for the whole range.
    pub at: Option<Timestamp>,
    /// Its value for each dimension asked for, in that order.
    pub key: Vec<Option<String>>,
    pub sums: Sums,
}

/// Sums over observations. Each can be subtracted again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub count: i64,
    pub errors: i64,
    /// Tokens in.
    pub input_tokens: i64,
    /// Tokens out.
    pub output_tokens: i64,
    /// All tokens.
    pub total_tokens: i64,
    pub cost: Money,
    /// How much of that is approximate, because its tokens were counted here.
    pub approximate_cost: Money,
    /// How many have a known cost.
    pub costs_known: i64,
    /// How many used tokens but have no known cost.
    pub cost_unknown: i64,
    /// All latencies together in nanoseconds; wraps around rather than lose what it was.
    pub latency_nanos: i64,
    pub latency: Histogram,
}

impl Sums {
    /// Adds the sums of other observations.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost = self.cost + other.cost;
        self.approximate_cost = self.approximate_cost + other.approximate_cost;
        self.costs_known += other.costs_known;
        self.cost_unknown += other.cost_unknown;
        self.latency_nanos = self.latency_nanos.wrapping_add(other.latency_nanos);
        self.latency.add_all(&other.latency, 1);
    }
}
