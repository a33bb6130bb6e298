use ratchet_core::catalog::dashboard::widget::{AggregationKind, MetricsRecords};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::json::{Raw, null_as_default};
use super::time::Time;
use super::wire_name::{WireEnum, WireName};

/// A metrics query: the JSON in the `query` parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(expecting = "an object such as {\"view\":…,\"metrics\":[…],\"fromTimestamp\":…}")]
pub struct MetricsRequest {
    pub view: WireName<MetricsRecords>,
    /// Dimensions to group by.
    #[serde(default, deserialize_with = "null_as_default")]
    pub dimensions: Vec<DimensionSent>,
    /// Metrics per row.
    pub metrics: Vec<MetricSent>,
    /// Filters, as in lists.
    #[serde(default, deserialize_with = "some_json")]
    pub filters: Option<Raw>,
    #[serde(default)]
    pub time_dimension: Option<TimeDimension>,
    /// Start of the time range, inclusive.
    pub from_timestamp: Time,
    pub to_timestamp: Time,
    /// Sort order.
    #[serde(default, deserialize_with = "null_as_default")]
    pub order_by: Vec<OrderBy>,
    /// Presentation settings.
    #[serde(default, deserialize_with = "null_as_default")]
    pub config: MetricsConfig,
}

fn some_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw>, D::Error> {
    let sent = Option::<Raw>::deserialize(deserializer)?;
    Ok(sent.filter(|json| json.get() != "null"))
}

/// A dimension to group by.
#[derive(Clone, Debug, Deserialize)]
pub struct DimensionSent {
    pub field: String,
}

/// A metric.
#[derive(Clone, Debug, Deserialize)]
pub struct MetricSent {
    /// Measure name.
    pub measure: String,
    /// Aggregation.
    pub aggregation: AggregationName,
}

/// Grouping by time buckets.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TimeDimension {
    /// Bucket width.
    pub granularity: WireName<GranularityName>,
}

/// A sort criterion.
#[derive(Clone, Debug, Deserialize)]
pub struct OrderBy {
    /// A dimension, a metric, or `time_dimension`.
    pub field: String,
    /// Sort direction.
    pub direction: WireName<DirectionName>,
}

/// Presentation settings of a metrics query.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct MetricsConfig {
    pub bins: Option<i64>,
    /// Maximum number of rows.
    pub row_limit: Option<i64>,
}

impl WireEnum for MetricsRecords {
    const WHAT: &'static str = "view";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// The API name of an aggregation.
pub type AggregationName = WireName<AggregationKind>;

impl WireEnum for AggregationKind {
    const WHAT: &'static str = "aggregation";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// A time bucket width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GranularityName {
    Auto,
    Minute,
    Hour,
    Day,
    Week,
    Month,
}

impl WireEnum for GranularityName {
    const WHAT: &'static str = "granularity";

    fn all() -> Vec<Self> {
        vec![Self::Auto, Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month]
    }

    fn wire_name(self) -> &'static str {
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

/// Sort direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionName {
    Asc,
    Desc,
}

impl WireEnum for DirectionName {
    const WHAT: &'static str = "direction";

    fn all() -> Vec<Self> {
        vec![Self::Asc, Self::Desc]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

/// A metrics response with execution statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MetricsView {
    /// Rows: dimensions by name, `time_dimension`, and metrics such as `sum_totalCost`.
    #[schema(value_type = Vec<BTreeMap<String, Raw>>)]
    pub data: Vec<Map<String, Value>>,
    /// Execution statistics; Langfuse has no such field.
    pub meta: MetricsMeta,
}

/// Execution statistics of a metrics query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsMeta {
    /// `rollup` for hourly rollups, `scan` for individual records.
    pub source: String,
    /// Number of rows read.
    pub rows_read: u64,
    /// Relative error of percentiles; null when exact or not requested.
    pub percentile_error: Option<f64>,
}

/// Metrics of one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DailyMetrics {
    /// Date in UTC.
    pub date: String,
    /// Number of traces.
    pub count_traces: u64,
    /// Number of observations.
    pub count_observations: u64,
    /// Sum of known costs, in dollars.
    pub total_cost: f64,
    /// By model.
    pub usage: Vec<ModelUsage>,
}

/// Metrics of one model on one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Model; null for observations without one.
    pub model: Option<String>,
    /// Input units.
    pub input_usage: u64,
    /// Output units.
    pub output_usage: u64,
    /// Total units.
    pub total_usage: u64,
    /// Number of traces with the model.
    pub count_traces: u64,
    /// Number of observations with the model.
    pub count_observations: u64,
    /// Sum of known costs, in dollars.
    pub total_cost: f64,
}
