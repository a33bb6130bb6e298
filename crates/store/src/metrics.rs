//! Metrics over records: counts, sums, averages and percentiles, by dimension and time bucket.
//!
//! Dimensions and measures are columns of the record: filters, groups and metrics use the same
//! columns.

/// Aggregation of single values.
pub(crate) mod tally;
pub(crate) mod table;

pub use table::OTHER_GROUP;

use ratchet_core::calendar::Granularity;
use ratchet_core::time::Timestamp;

use crate::aggregate::AggregateSource;
use crate::project::ProjectId;
use crate::query::{Condition, TimeRange};

/// Maximum relative error of a percentile from the hourly rollup.
pub const PERCENTILE_ERROR: f64 = 0.033;

/// A metrics query over records with the columns `C`.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsQuery<C> {
    pub project: ProjectId,
    pub range: TimeRange,
    pub conditions: Vec<Condition<C>>,
    /// One row for each combination of these.
    pub by: Vec<By<C>>,
    /// And for each time bucket, if any.
    pub every: Option<Granularity>,
    /// The metrics in each row.
    pub metrics: Vec<MetricRequest<C>>,
}

/// A dimension to group by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<C> {
    /// The value of a column. Tags group by the whole set.
    Column(C),
    /// The day of the start, as `YYYY-MM-DD`.
    Day,
    /// The month of the start, as `YYYY-MM`.
    Month,
}

/// A requested metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricRequest<C> {
    pub measure: Measure<C>,
    pub aggregation: Aggregation,
}

/// The values that a metric aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure<C> {
    /// One for each record.
    Records,
    /// A column's value. Records without one are ignored.
    Column(C),
}

/// How values are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// Number of values.
    Count,
    /// Number of distinct values.
    Distinct,
    Sum,
    Average,
    Min,
    Max,
    /// The lowest value that this many percent of all values do not exceed.
    Percentile(u8),
    /// Counts in bins of equal width.
    Histogram {
        bins: u8,
    },
}

/// The result of a metrics query, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsAnswer {
    /// Ordered by time, then by key.
    pub rows: Vec<MetricsRow>,
    /// Where the numbers were read from. Percentiles from the rollup are off by at most
    /// [`PERCENTILE_ERROR`]; everything else is exact.
    pub source: AggregateSource,
    pub rows_read: u64,
}

/// One group of records.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsRow {
    /// Start of its time bucket.
    pub at: Option<Timestamp>,
    /// The value for each requested dimension, in order; an empty text counts as none. Numbers are
    /// formatted, booleans are `true` or `false`, tags a JSON list.
    pub key: Vec<Option<String>>,
    /// In the order requested.
    pub figures: Vec<Figure>,
}

/// A metric of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// There were no values.
    None,
    Count(u64),
    Number(f64),
    Histogram(Vec<Bin>),
}

/// One bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Inclusive.
    pub lower: f64,
    /// Exclusive, except for the last bin.
    pub upper: f64,
    pub count: u64,
}
