//! Figures over records: counts, sums, averages, percentiles, by dimension and by step of time.
//!
//! A dimension is a column of the record, and so is what is measured: one vocabulary for filters,
//! groups and figures.

/// How single values become figures.
pub(crate) mod tally;
pub(crate) mod table;

use ratchet_core::calendar::Granularity;
use ratchet_core::time::Timestamp;

use crate::aggregate::AggregateSource;
use crate::project::ProjectId;
use crate::query::{Condition, TimeRange};

/// How far a percentile from hourly sums may lie from the exact one, as a share of it.
pub const PERCENTILE_ERROR: f64 = 0.033;

/// A question for figures over records with the columns `C`.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsQuery<C> {
    pub project: ProjectId,
    pub range: TimeRange,
    pub conditions: Vec<Condition<C>>,
    /// One row for each combination of these.
    pub by: Vec<By<C>>,
    /// And for each step of time, if any.
    pub every: Option<Granularity>,
    /// The figures in each row.
    pub metrics: Vec<AskedFigure<C>>,
}

/// What records are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<C> {
    /// The value of a column. Labels group by the whole set of them.
    Column(C),
    /// The day it began, as `YYYY-MM-DD`.
    Day,
    /// The month it began, as `YYYY-MM`.
    Month,
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedFigure<C> {
    pub measure: Measure<C>,
    pub aggregation: Aggregation,
}

/// The values that a figure is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure<C> {
    /// A one for each record.
    Records,
    /// A column's value. Records without one do not count.
    Column(C),
}

/// How values become one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// How many values there are.
    Count,
    /// How many different values there are.
    Distinct,
    Sum,
    Average,
    Min,
    Max,
    /// The least value that this many percent of all values do not exceed.
    Percentile(u8),
    /// How many lie in each of so many bins of equal width.
    Histogram {
        bins: u8,
    },
}

/// The answer, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsAnswer {
    /// The rows, by time and then by key.
    pub rows: Vec<MetricsRow>,
    /// Where the figures come from. Percentiles from rollups are off by [`PERCENTILE_ERROR`] at
    /// most; everything else is exact.
    pub source: AggregateSource,
    /// How many rows were read for it.
    pub rows_read: u64,
}

/// One group of records.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsRow {
    /// The start of its step of time.
    pub at: Option<Timestamp>,
    /// Its value for each dimension asked for, in that order; an empty text counts as none.
    /// Numbers are written out, truths are `true` or `false`, labels a JSON list.
    pub key: Vec<Option<String>>,
    /// The figures, in the order they were asked for.
    pub figures: Vec<Figure>,
}

/// One figure of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// There was no value to make it of.
    None,
    Count(u64),
    Number(f64),
    /// How many in each bin.
    Histogram(Vec<Bin>),
}

/// One bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The least value in it.
    pub lower: f64,
    /// Where the next begins; the last bin holds this value too.
    pub upper: f64,
    /// How many values lie in it.
    pub count: u64,
}
