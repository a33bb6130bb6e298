//! Widgets and the metrics queries behind them.

use serde::{Deserialize, Serialize};

use super::iso_8601;
use crate::calendar::Granularity;
use crate::catalog::filter::FilterCondition;
use crate::time::Timestamp;

/// A chart of metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Widget {
    pub id: String,
    #[serde(with = "iso_8601")]
    pub created_at: Timestamp,
    #[serde(with = "iso_8601")]
    pub updated_at: Timestamp,
    pub name: String,
    pub description: String,
    /// The records that it aggregates.
    pub view: WidgetRecords,
    pub dimensions: Vec<GroupBy>,
    pub metrics: Vec<Metric>,
    pub filters: Vec<FilterCondition>,
    #[serde(rename = "chartType")]
    pub chart: ChartKind,
    #[serde(rename = "chartConfig")]
    pub settings: ChartSettings,
}

/// The records that a widget aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WidgetRecords {
    Observations,
    ScoresNumeric,
    ScoresBoolean,
    ScoresCategorical,
}

/// A dimension to group by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupBy {
    /// Dimension name.
    pub field: String,
}

/// A measure and how its values are aggregated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Measure name.
    pub measure: String,
    #[serde(rename = "agg")]
    pub aggregation: AggregationKind,
}

/// How values are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AggregationKind {
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

/// A chart type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChartKind {
    LineTimeSeries,
    AreaTimeSeries,
    BarTimeSeries,
    HorizontalBar,
    VerticalBar,
    Pie,
    Number,
    Histogram,
    PivotTable,
}

/// Chart settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartSettings {
    /// The same as the chart type of the widget.
    #[serde(rename = "type")]
    pub chart: ChartKind,
    /// Maximum number of rows, for charts without a time axis.
    pub row_limit: Option<u32>,
    pub show_value_labels: Option<bool>,
    /// Number of histogram bins.
    pub bins: Option<u32>,
    /// Sort order of a table.
    #[serde(rename = "defaultSort")]
    pub default_sort: Option<TableSort>,
}

/// Sort order of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSort {
    pub column: String,
    pub order: SortDirection,
}

/// A sort direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SortDirection {
    Asc,
    Desc,
}

/// A metrics query: what to count, of which records, grouped and ordered how.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsSpec {
    pub view: MetricsRecords,
    /// Names of dimensions to group by.
    pub dimensions: Vec<String>,
    pub metrics: Vec<Metric>,
    pub filters: Vec<FilterCondition>,
    /// The width of time buckets, if it has any.
    pub every: Option<Granularity>,
    /// Start of the time range, inclusive.
    pub from: Timestamp,
    pub to: Timestamp,
    /// A dimension, a metric or the time bucket each.
    pub order: Vec<TableSort>,
    pub bins: Option<i64>,
    pub row_limit: Option<i64>,
}

/// The records of a metrics query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsRecords {
    Traces,
    Observations,
    ScoresNumeric,
    ScoresBoolean,
    ScoresCategorical,
}

impl From<WidgetRecords> for MetricsRecords {
    fn from(records: WidgetRecords) -> Self {
        match records {
            WidgetRecords::Observations => Self::Observations,
            WidgetRecords::ScoresNumeric => Self::ScoresNumeric,
            WidgetRecords::ScoresBoolean => Self::ScoresBoolean,
            WidgetRecords::ScoresCategorical => Self::ScoresCategorical,
        }
    }
}

impl MetricsRecords {
    pub const ALL: [Self; 5] = [
        Self::Traces,
        Self::Observations,
        Self::ScoresNumeric,
        Self::ScoresBoolean,
        Self::ScoresCategorical,
    ];

    /// Returns the name in queries.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Observations => "observations",
            Self::ScoresNumeric => "scores-numeric",
            Self::ScoresBoolean => "scores-boolean",
            Self::ScoresCategorical => "scores-categorical",
        }
    }
}

impl WidgetRecords {
    pub const ALL: [Self; 4] =
        [Self::Observations, Self::ScoresNumeric, Self::ScoresBoolean, Self::ScoresCategorical];

    /// Returns the name in stored widgets.
    pub fn as_str(self) -> &'static str {
        MetricsRecords::from(self).as_str()
    }
}

impl AggregationKind {
    pub const ALL: [Self; 12] = [
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
    ];

    /// Returns the name in stored widgets.
    pub const fn as_str(self) -> &'static str {
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

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl ChartKind {
    pub const ALL: [Self; 9] = [
        Self::LineTimeSeries,
        Self::AreaTimeSeries,
        Self::BarTimeSeries,
        Self::HorizontalBar,
        Self::VerticalBar,
        Self::Pie,
        Self::Number,
        Self::Histogram,
        Self::PivotTable,
    ];

    /// Returns the name in stored widgets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LineTimeSeries => "LINE_TIME_SERIES",
            Self::AreaTimeSeries => "AREA_TIME_SERIES",
            Self::BarTimeSeries => "BAR_TIME_SERIES",
            Self::HorizontalBar => "HORIZONTAL_BAR",
            Self::VerticalBar => "VERTICAL_BAR",
            Self::Pie => "PIE",
            Self::Number => "NUMBER",
            Self::Histogram => "HISTOGRAM",
            Self::PivotTable => "PIVOT_TABLE",
        }
    }

    /// Returns whether the chart has a time axis.
    pub const fn is_over_time(self) -> bool {
        match self {
            Self::LineTimeSeries | Self::AreaTimeSeries | Self::BarTimeSeries => true,
            Self::HorizontalBar
            | Self::VerticalBar
            | Self::Pie
            | Self::Number
            | Self::Histogram
            | Self::PivotTable => false,
        }
    }
}

impl ChartSettings {
    /// Returns the defaults of a chart type.
    pub const fn new(chart: ChartKind) -> Self {
        Self { chart, row_limit: None, show_value_labels: None, bins: None, default_sort: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A document as data folders hold it.
    fn stored() -> Value {
        json!({
            "id": "w1",
            "createdAt": "2026-11-15T10:00:00.000Z",
            "updatedAt": "2026-11-15T10:00:00.000Z",
            "name": "Cost by model",
            "description": "",
            "view": "scores-numeric",
            "dimensions": [{"field": "providedModelName"}],
            "metrics": [{"measure": "totalCost", "agg": "p95"}],
            "filters": [{"column": "totalCost", "operator": ">", "type": "number", "value": 0.5, "key": null}],
            "chartType": "PIVOT_TABLE",
            "chartConfig": {"type": "PIVOT_TABLE", "row_limit": 5, "show_value_labels": null,
                "bins": null, "defaultSort": {"column": "p95_totalCost", "order": "DESC"}},
        })
    }

    #[test]
    fn stored_documents_are_read_and_written_alike() {
        let widget: Widget = serde_json::from_value(stored()).unwrap();
        assert_eq!(serde_json::to_value(&widget).unwrap(), stored());
    }

    #[test]
    fn names_are_those_of_the_stored_form() {
        for kind in ChartKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for records in WidgetRecords::ALL {
            assert_eq!(serde_json::to_value(records).unwrap(), records.as_str());
        }
        for kind in AggregationKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(AggregationKind::parse(kind.as_str()), Some(kind));
        }
    }
}
