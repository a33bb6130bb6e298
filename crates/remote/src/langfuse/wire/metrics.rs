use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::json::{Raw, null_as_default};
use super::time::Time;
use super::word::{Spelled, Word};

/// A question for figures, the JSON in the `query` parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(expecting = "an object such as {\"view\":…,\"metrics\":[…],\"fromTimestamp\":…}")]
pub struct MetricsRequest {
    pub view: Word<View>,
    /// One row for each combination of these.
    #[serde(default, deserialize_with = "null_as_default")]
    pub dimensions: Vec<DimensionSent>,
    /// The figures in each row.
    pub metrics: Vec<MetricSent>,
    /// What must hold, as in the `filter` of lists.
    #[serde(default, deserialize_with = "some_json")]
    pub filters: Option<Raw>,
    #[serde(default)]
    pub time_dimension: Option<TimeDimension>,
    /// Begun at this moment or later.
    pub from_timestamp: Time,
    pub to_timestamp: Time,
    /// What to order the rows by.
    #[serde(default, deserialize_with = "null_as_default")]
    pub order_by: Vec<OrderBy>,
    /// How to show the answer.
    #[serde(default, deserialize_with = "null_as_default")]
    pub config: MetricsConfig,
}

fn some_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw>, D::Error> {
    let sent = Option::<Raw>::deserialize(deserializer)?;
    Ok(sent.filter(|json| json.get() != "null"))
}

/// A dimension.
#[derive(Clone, Debug, Deserialize)]
pub struct DimensionSent {
    pub field: String,
}

/// A figure.
#[derive(Clone, Debug, Deserialize)]
pub struct MetricSent {
    /// The name of what is measured.
    pub measure: String,
    /// How values become one figure.
    pub aggregation: AggregationName,
}

/// Rows by time.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TimeDimension {
    /// How wide a step is.
    pub granularity: Word<GranularityWord>,
}

/// What to order by.
#[derive(Clone, Debug, Deserialize)]
pub struct OrderBy {
    /// A dimension, a figure, or `time_dimension`.
    pub field: String,
    /// Up or down.
    pub direction: Word<DirectionWord>,
}

/// How to show an answer.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct MetricsConfig {
    pub bins: Option<i64>,
    /// Rows at most.
    pub row_limit: Option<i64>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Traces,
    Observations,
    ScoresNumeric,
    ScoresBoolean,
    ScoresCategorical,
}

impl Spelled for View {
    const WHAT: &'static str = "view";

    fn all() -> Vec<Self> {
        vec![
            Self::Traces,
            Self::Observations,
            Self::ScoresNumeric,
            Self::ScoresBoolean,
            Self::ScoresCategorical,
        ]
    }

    fn word(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Observations => "observations",
            Self::ScoresNumeric => "scores-numeric",
            Self::ScoresBoolean => "scores-boolean",
            Self::ScoresCategorical => "scores-categorical",
        }
    }
}

/// How values become one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregationWord {
    Sum,
    Avg,
    Count,
    Max,
    Min,
    P50,
    P75,
    P90,
    P95,
    P99,
    Histogram,
    Uniq,
}

/// How values become one figure, as its word.
pub type AggregationName = Word<AggregationWord>;

impl Spelled for AggregationWord {
    const WHAT: &'static str = "aggregation";

    fn all() -> Vec<Self> {
        vec![
            Self::Sum,
            Self::Avg,
            Self::Count,
            Self::Max,
            Self::Min,
            Self::P50,
            Self::P75,
            Self::P90,
            Self::P95,
            Self::P99,
            Self::Histogram,
            Self::Uniq,
        ]
    }

    fn word(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Count => "count",
            Self::Max => "max",
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P75 => "p75",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Histogram => "histogram",
            Self::Uniq => "uniq",
        }
    }
}

/// How wide a step of time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GranularityWord {
    Auto,
    Minute,
    Hour,
    Day,
    Week,
    Month,
}

impl Spelled for GranularityWord {
    const WHAT: &'static str = "granularity";

    fn all() -> Vec<Self> {
        vec![Self::Auto, Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month]
    }

    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionWord {
    Asc,
    Desc,
}

impl Spelled for DirectionWord {
    const WHAT: &'static str = "direction";

    fn all() -> Vec<Self> {
        vec![Self::Asc, Self::Desc]
    }

    fn word(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

/// Figures, and what it took to find them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MetricsView {
    /// The rows: dimensions by name, `time_dimension`, and figures as `sum_totalCost`.
    #[schema(value_type = Vec<BTreeMap<String, Raw>>)]
    pub data: Vec<Map<String, Value>>,
    /// What it took; Langfuse does not say.
    pub meta: MetricsMeta,
}

/// What it took to find figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsMeta {
    /// `rollup` for hourly sums, `scan` for the records themselves.
    pub source: String,
    /// How many rows were read.
    pub rows_read: u64,
    /// How far percentiles may be off, as a share; null when they are exact or not asked for.
    pub percentile_error: Option<f64>,
}

/// The figures of one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DailyMetrics {
    /// The day, in UTC.
    pub date: String,
    /// Traces that began.
    pub count_traces: u64,
    /// Observations that began.
    pub count_observations: u64,
    /// The known costs together, in dollars.
    pub total_cost: f64,
    /// The same by model.
    pub usage: Vec<ModelUsage>,
}

/// What one model did on one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// The model; null for steps without one.
    pub model: Option<String>,
    /// Units in.
    pub input_usage: u64,
    /// Units out.
    pub output_usage: u64,
    /// All units.
    pub total_usage: u64,
    /// Traces that used it.
    pub count_traces: u64,
    /// Observations that used it.
    pub count_observations: u64,
    /// The known costs together, in dollars.
    pub total_cost: f64,
}
