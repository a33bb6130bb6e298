use ratchet_core::calendar::Granularity;
use ratchet_core::catalog::dashboard::widget::{
    AggregationKind, ChartKind, Metric, MetricsRecords, MetricsSpec, TableSort, Widget,
};
use ratchet_core::catalog::filter::FilterCondition;
use ratchet_core::issue::Issue;
use ratchet_core::record::field_table::{OBSERVATION, SCORE, TRACE};
use ratchet_core::time::Timestamp;
use ratchet_store::project::ProjectId;

use super::query::{QueryProblem, Question, question};
use super::response::Shape;
use super::view::{APPROXIMATE_COST, COUNT, Names, Unit};
use super::widget_filters::check_filters;
use crate::validation::{Checks, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};

const MAX_PARTS: usize = 50;
const MAX_ROWS: u32 = 1_000;
const MAX_BINS: u32 = 100;
/// Default number of bars.
const BARS: i64 = 12;
/// Default number of table rows.
const ROWS: i64 = 100;

/// Refuses what makes no sense.
///
/// # Errors
/// Everything that is wrong.
pub fn check(widget: &Widget) -> Result<(), Vec<Issue>> {
    let mut checks = Checks::default();
    checks.text("name", &widget.name, 1..=MAX_NAME_CHARS);
    checks.text("description", &widget.description, 0..=MAX_DESCRIPTION_CHARS);
    checks.len("dimensions", widget.dimensions.len(), 0..=MAX_PARTS);
    checks.len("metrics", widget.metrics.len(), 1..=MAX_PARTS);
    let names = Names::of(widget.view.into());
    for (index, dimension) in widget.dimensions.iter().enumerate() {
        if let Some(why) = names.no_dimension(&dimension.field) {
            checks.report(Issue::in_list("dimensions", (index, "field"), why));
        }
    }
    for (index, metric) in widget.metrics.iter().enumerate() {
        if let Some(why) = names.no_measure(&metric.measure) {
            checks.report(Issue::in_list("metrics", (index, "measure"), why));
        }
    }
    let is_within = |number: Option<u32>, most: u32| number.is_none_or(|n| (1..=most).contains(&n));
    let rows = format!("row_limit must be from 1 to {MAX_ROWS}");
    checks.must(is_within(widget.settings.row_limit, MAX_ROWS), "chartConfig", &rows);
    let bins = format!("bins must be from 1 to {MAX_BINS}");
    checks.must(is_within(widget.settings.bins, MAX_BINS), "chartConfig", &bins);
    check_filters(&mut checks, &widget.filters);
    checks.finish()
}

/// The metrics query of a widget, for a time range in buckets and with additional conditions.
///
/// After the widget's metrics, it requests the approximate part of a cost, if it shows one, and last how
/// many records each value has, unless it is a histogram, which contains them. Conditions on what
/// its view does not have are left out: they were made for all charts of a page, and not every chart
/// has a model.
///
/// # Errors
/// Fails with the errors of the metrics API.
pub fn asks(
    project: ProjectId,
    widget: &Widget,
    besides: &[FilterCondition],
    ((from, to), every): ((Timestamp, Timestamp), Granularity),
) -> Result<(Question, Shape), Vec<QueryProblem>> {
    let view = MetricsRecords::from(widget.view);
    let fits = |filter: &&FilterCondition| has_column(view, &filter.column);
    let filters = widget.filters.iter().chain(besides.iter().filter(fits)).cloned().collect();
    let spec = MetricsSpec {
        view,
        dimensions: dimensions(widget),
        metrics: figures(widget),
        filters,
        every: widget.chart.is_over_time().then_some(every),
        from,
        to,
        order: order(widget),
        bins: widget.settings.bins.map(i64::from),
        row_limit: row_limit(widget),
    };
    question(project, &spec)
}

fn has_column(view: MetricsRecords, name: &str) -> bool {
    match view {
        MetricsRecords::Traces => TRACE.by_api_name(name).is_some(),
        MetricsRecords::Observations => OBSERVATION.by_api_name(name).is_some(),
        MetricsRecords::ScoresNumeric
        | MetricsRecords::ScoresBoolean
        | MetricsRecords::ScoresCategorical => SCORE.by_api_name(name).is_some(),
    }
}

/// One number and one histogram are of everything.
fn dimensions(widget: &Widget) -> Vec<String> {
    if matches!(widget.chart, ChartKind::Number | ChartKind::Histogram) {
        return Vec::new();
    }
    widget.dimensions.iter().map(|dimension| dimension.field.clone()).collect()
}

fn figures(widget: &Widget) -> Vec<Metric> {
    if widget.chart == ChartKind::Histogram {
        let first = widget.metrics.first().cloned();
        let aggregation = AggregationKind::Histogram;
        return first.map(|one| Metric { aggregation, ..one }).into_iter().collect();
    }
    let asked = |measure: &str, aggregation| Metric { measure: measure.to_owned(), aggregation };
    let names = Names::of(widget.view.into());
    let is_cost =
        |metric: &Metric| names.measures.contains(&(metric.measure.as_str(), Unit::Dollars));
    let approximate = widget.metrics.iter().any(is_cost);
    let approximate = approximate.then(|| asked(APPROXIMATE_COST, AggregationKind::Sum));
    let count = asked(COUNT, AggregationKind::Count);
    widget.metrics.iter().cloned().chain(approximate).chain([count]).collect()
}

fn order(widget: &Widget) -> Vec<TableSort> {
    let sort = widget.settings.default_sort.clone();
    sort.filter(|_| widget.chart == ChartKind::PivotTable).into_iter().collect()
}

fn row_limit(widget: &Widget) -> Option<i64> {
    let default = match widget.chart {
        ChartKind::HorizontalBar | ChartKind::VerticalBar | ChartKind::Pie => BARS,
        ChartKind::PivotTable => ROWS,
        ChartKind::LineTimeSeries
        | ChartKind::AreaTimeSeries
        | ChartKind::BarTimeSeries
        | ChartKind::Number
        | ChartKind::Histogram => return None,
    };
    Some(widget.settings.row_limit.map_or(default, i64::from))
}
