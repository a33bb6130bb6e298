//! Figures as people read them.

use ratchet_core::catalog::dashboard::widget::{
    AggregationKind, ChartKind, Metric, Widget, WidgetRecords,
};
use ratchet_core::money::Money;
use ratchet_stages::dashboards::response::{FigureColumn, Shape};
use ratchet_stages::dashboards::view::{APPROXIMATE_COST, Unit};
use ratchet_store::metrics::{Aggregation, Figure, MetricsRow};

use crate::components::figure;
use crate::sums::whole_number;

/// A value as a number.
#[expect(clippy::cast_precision_loss, reason = "drawn and compared, never summed")]
pub(super) fn number(figure: &Figure) -> Option<f64> {
    match figure {
        Figure::Count(count) => Some(*count as f64),
        Figure::Number(number) => Some(*number),
        Figure::None | Figure::Histogram(_) => None,
    }
}

/// Whether the figures of two groups together are the figure of both.
pub(super) const fn adds_up(column: &FigureColumn) -> bool {
    matches!(column.aggregation, Aggregation::Count | Aggregation::Sum)
}

/// Query for the approximate part of the cost, appended to the chart's metrics.
pub(super) fn approximate_cost(own: usize, shape: &Shape, rows: &[MetricsRow]) -> Money {
    let name = format!("sum_{APPROXIMATE_COST}");
    let Some(at) = shape.metrics.iter().skip(own).position(|column| column.name == name) else {
        return Money::default();
    };
    let parts = rows.iter().filter_map(|row| number(row.figures.get(own + at)?));
    Money::from_dollars(parts.sum()).unwrap_or_default()
}

/// Note on approximate costs: the amount for a total, else only that there are some.
pub(super) fn approximate_part(chart: &Widget, approximate: Money) -> String {
    let is_exact = approximate == Money::default();
    let is_sum = |metric: &Metric| {
        metric.measure == "totalCost" && metric.aggregation == AggregationKind::Sum
    };
    if is_exact || chart.metrics.iter().any(is_sum) {
        return figure::and_of_which(approximate);
    }
    ", partly approximate".to_owned()
}

/// How a figure reads, with its unit.
pub(super) fn read(column: &FigureColumn) -> fn(f64) -> String {
    match (column.aggregation, column.unit) {
        (Aggregation::Count | Aggregation::Distinct, _)
        | (_, Unit::Different)
        | (Aggregation::Sum, Unit::Pieces) => |value| figure::count(whole_number(value)),
        // The store counts seconds.
        (_, Unit::Milliseconds) => |seconds| {
            figure::duration(i64::try_from(whole_number(seconds * 1e9)).unwrap_or(i64::MAX))
        },
        (_, Unit::Dollars) => figure::dollars,
        (_, Unit::Pieces | Unit::Plain) => figure::number,
    }
}

/// How it reads with all its digits.
pub(super) fn exact(column: &FigureColumn) -> fn(f64) -> String {
    match (column.aggregation, column.unit) {
        (Aggregation::Count | Aggregation::Distinct, _) => figure::digits,
        (_, Unit::Milliseconds) => |seconds| format!("{} ms", figure::digits(seconds * 1e3)),
        (_, Unit::Dollars) => figure::exact_dollars,
        (_, Unit::Pieces | Unit::Plain | Unit::Different) => figure::digits,
    }
}

/// What a measure is called.
pub(super) fn measure(name: &str, of: WidgetRecords) -> String {
    let known = match (name, of) {
        ("count", WidgetRecords::Observations) => "observations",
        ("count", _) => "scores",
        ("value", _) => "score",
        ("latency", _) => "latency",
        ("streamingLatency", _) => "streaming time",
        ("timeToFirstToken", _) => "time to first token",
        ("inputTokens", _) => "input tokens",
        ("outputTokens", _) => "output tokens",
        ("totalTokens", _) => "tokens",
        ("outputTokensPerSecond", _) => "output tokens per second",
        ("tokensPerSecond", _) => "tokens per second",
        ("inputCost", _) => "input cost",
        ("outputCost", _) => "output cost",
        ("totalCost", _) => "cost",
        ("approximateCost", _) => "approximate cost",
        ("countScores", _) => "scores",
        (other, _) => other,
    };
    known.to_owned()
}

/// What is made of all its values, before the name of a measure.
pub(super) const fn aggregation(word: AggregationKind) -> &'static str {
    match word {
        AggregationKind::Sum => "sum",
        AggregationKind::Avg => "avg",
        AggregationKind::Count => "count",
        AggregationKind::Max => "max",
        AggregationKind::Min => "min",
        AggregationKind::P50 => "p50",
        AggregationKind::P75 => "p75",
        AggregationKind::P90 => "p90",
        AggregationKind::P95 => "p95",
        AggregationKind::P99 => "p99",
        AggregationKind::Histogram => "histogram",
        AggregationKind::Uniq => "distinct",
    }
}

/// Name of a metric: `p95 latency`, `observations`.
pub(super) fn metric(metric: &Metric, of: WidgetRecords) -> String {
    let name = measure(&metric.measure, of);
    match metric.aggregation {
        AggregationKind::Count if metric.measure == "count" => name,
        AggregationKind::Sum => format!("total {name}"),
        AggregationKind::Avg => format!("avg {name}"),
        AggregationKind::Count => format!("count of {name}"),
        AggregationKind::Histogram => format!("{name} distribution"),
        other => format!("{} {name}", aggregation(other)),
    }
}

/// What a dimension is called.
pub(super) fn dimension(name: &str) -> String {
    let known = match name {
        "providedModelName" | "observationModelName" => "model",
        "userId" => "user",
        "sessionId" => "session",
        "traceId" => "trace",
        "observationId" => "observation",
        "parentObservationId" => "parent",
        "traceName" => "trace name",
        "observationName" => "observation name",
        "promptName" | "observationPromptName" => "prompt",
        "promptVersion" | "observationPromptVersion" => "prompt version",
        "isRootObservation" => "root observation",
        "startTimeMonth" | "timestampMonth" => "month",
        "timestampDay" => "day",
        "traceRelease" => "trace release",
        "traceVersion" => "trace version",
        "dataType" => "score type",
        "configId" => "score config",
        "stringValue" => "categorical value",
        "booleanValue" => "boolean value",
        other => other,
    };
    known.to_owned()
}

/// A key of a dimension, as people read it.
pub(super) fn key(word: Option<&str>) -> String {
    let Some(word) = word else { return "none".to_owned() };
    let tags = word.strip_prefix('[').and_then(|_| serde_json::from_str::<Vec<String>>(word).ok());
    tags.map_or_else(|| word.to_owned(), |tags| tags.join(", "))
}

/// What a way to draw is called.
pub(super) const fn chart(chart: ChartKind) -> &'static str {
    match chart {
        ChartKind::LineTimeSeries => "Line over time",
        ChartKind::AreaTimeSeries => "Area over time",
        ChartKind::BarTimeSeries => "Bar over time",
        ChartKind::HorizontalBar => "Horizontal bar",
        ChartKind::VerticalBar => "Vertical bar",
        ChartKind::Pie => "Pie",
        ChartKind::Number => "Number",
        ChartKind::Histogram => "Histogram",
        ChartKind::PivotTable => "Pivot table",
    }
}

/// Default title of a chart: `p95 latency by model`.
pub(super) fn about(widget: &Widget) -> String {
    if let (ChartKind::Histogram, Some(one)) = (widget.chart, widget.metrics.first()) {
        return format!("{} distribution", measure(&one.measure, widget.view));
    }
    let metrics: Vec<String> = widget.metrics.iter().map(|one| metric(one, widget.view)).collect();
    let by: Vec<String> = widget.dimensions.iter().map(|one| dimension(&one.field)).collect();
    if by.is_empty() || widget.chart == ChartKind::Number {
        return metrics.join(", ");
    }
    format!("{} by {}", metrics.join(", "), by.join(" and "))
}
