//! Hourly sums of observations, grouped by dimension: the data behind dashboards.

use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use crate::histogram::Histogram;
use crate::project::ProjectId;
use crate::query::{Condition, ObservationColumn, TimeRange};

/// A field that observations can be grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AggregateDimension {
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

impl AggregateDimension {
    /// Whether the hourly rollup is grouped by it, so that a query costs the same at any data size.
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

/// Width of the buckets on the time axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// One bucket: the whole range.
    #[default]
    Whole,
    Hour,
    /// A day, in UTC.
    Day,
}

/// A query for sums over observations.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateQuery {
    pub project: ProjectId,
    /// Start times. The rollup answers by the hour: the range is widened to whole hours.
    pub range: TimeRange,
    /// One group for each combination of these.
    pub by: Vec<AggregateDimension>,
    /// And for each time bucket.
    pub step: Step,
    /// Only observations that match all of these.
    pub conditions: Vec<Condition<ObservationColumn>>,
}

/// The result of an aggregate query, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Ordered by time, then by dimension.
    pub groups: Vec<Group>,
    pub source: AggregateSource,
    pub rows_read: u64,
}

/// Where the numbers of an aggregate were read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateSource {
    /// Hourly sums that recording keeps up to date.
    Rollup,
    /// A scan of the observations in the range.
    Scan,
}

/// One group of observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Start of the time bucket; `None` for the whole range.
    pub at: Option<Timestamp>,
    /// The value for each requested dimension, in the query's order.
    pub key: Vec<Option<String>>,
    pub sums: Sums,
}

/// Sums over observations. Every field can be subtracted again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub count: i64,
    pub errors: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub total_tokens: i64,
    pub cost: Money,
    /// The part of `cost` that is approximate, because its tokens were counted here.
    pub approximate_cost: Money,
    /// Observations with a known cost.
    pub costs_known: i64,
    /// Observations that used tokens but have no known cost.
    pub cost_unknown: i64,
    /// Sum of latencies in nanoseconds; wraps on overflow, so that subtraction stays exact.
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
