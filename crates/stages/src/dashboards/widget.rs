use ratchet_core::calendar::Granularity;
use ratchet_core::issue::Issue;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::{
    ChartType, SortOrder, WidgetFilter, WidgetMetric, WidgetView,
};
use ratchet_remote::langfuse::wire::metrics::{
    AggregationWord, DimensionSent, DirectionWord, GranularityWord, MetricSent, MetricsConfig,
    MetricsRequest, OrderBy, TimeDimension, View,
};
use ratchet_remote::langfuse::wire::word::Word;
use ratchet_store::project::ProjectId;

use super::filter::column;
use super::query::{Question, Version, question};
use super::response::Shape;
use super::view::{APPROXIMATE_COST, Names, Unit};
use super::widget_filters::check_filters;
use crate::validation::{Checks, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};

const MAX_PARTS: usize = 50;
const MAX_ROWS: u32 = 1_000;
const MAX_BINS: u32 = 100;
/// Bars that can be told apart, where the widget does not say how many.
const BARS: i64 = 12;
/// Rows of a table, where the widget does not say how many.
const ROWS: i64 = 100;

/// Refuses what makes no sense.
///
/// # Errors
/// Everything that is wrong.
pub fn check(view: &WidgetView) -> Result<(), Vec<Issue>> {
    let mut checks = Checks::default();
    checks.text("name", &view.name, 1..=MAX_NAME_CHARS);
    checks.text("description", &view.description, 0..=MAX_DESCRIPTION_CHARS);
    checks.len("dimensions", view.dimensions.len(), 0..=MAX_PARTS);
    checks.len("metrics", view.metrics.len(), 1..=MAX_PARTS);
    let names = Names::of(view.view.into());
    for (place, dimension) in view.dimensions.iter().enumerate() {
        if let Some(why) = names.no_dimension(&dimension.field) {
            checks.report(Issue::in_list("dimensions", (place, "field"), why));
        }
    }
    for (place, metric) in view.metrics.iter().enumerate() {
        if let Some(why) = names.no_measure(&metric.measure) {
            checks.report(Issue::in_list("metrics", (place, "measure"), why));
        }
    }
    let is_within = |number: Option<u32>, most: u32| number.is_none_or(|n| (1..=most).contains(&n));
    let rows = format!("row_limit must be from 1 to {MAX_ROWS}");
    checks.must(is_within(view.chart_config.row_limit, MAX_ROWS), "chartConfig", &rows);
    let bins = format!("bins must be from 1 to {MAX_BINS}");
    checks.must(is_within(view.chart_config.bins, MAX_BINS), "chartConfig", &bins);
    check_filters(&mut checks, &view.filters);
    checks.finish()
}

/// Whether a chart is drawn over time.
pub const fn is_over_time(chart: ChartType) -> bool {
    match chart {
        ChartType::LineTimeSeries | ChartType::AreaTimeSeries | ChartType::BarTimeSeries => true,
        ChartType::HorizontalBar
        | ChartType::VerticalBar
        | ChartType::Pie
        | ChartType::Number
        | ChartType::Histogram
        | ChartType::PivotTable => false,
    }
}

/// What a widget asks, over a time in steps and under conditions beside its own.
///
/// Behind its own figures it asks how much of a cost is approximate, if it shows one, and last how
/// many records each is made of, unless it is a histogram, which says so itself. Conditions on what
/// its view does not have are left out: they were made for all charts of a page, and not every chart
/// has a model.
///
/// # Errors
/// What makes no sense about it, as the metrics API says it.
pub fn asks(
    project: ProjectId,
    widget: &WidgetView,
    besides: &[WidgetFilter],
    ((from, to), every): ((Timestamp, Timestamp), Granularity),
) -> Result<(Question, Shape), Vec<Issue>> {
    let view = View::from(widget.view);
    let fits = |filter: &&WidgetFilter| has_column(view, &filter.column);
    let filters: Vec<_> = widget.filters.iter().chain(besides.iter().filter(fits)).collect();
    let filters = serde_json::value::to_raw_value(&filters).ok().map(Into::into);
    let is_timed = is_over_time(widget.chart_type);
    let every = TimeDimension { granularity: Word(word(every)) };
    let request = MetricsRequest {
        view: Word(view),
        dimensions: dimensions(widget),
        metrics: figures(widget),
        filters,
        time_dimension: is_timed.then_some(every),
        from_timestamp: from.into(),
        to_timestamp: to.into(),
        order_by: order(widget),
        config: config(widget),
    };
    question(project, &request, Version::First)
}

const fn word(every: Granularity) -> GranularityWord {
    match every {
        Granularity::Minute => GranularityWord::Minute,
        Granularity::Hour => GranularityWord::Hour,
        Granularity::Day => GranularityWord::Day,
        Granularity::Week => GranularityWord::Week,
        Granularity::Month => GranularityWord::Month,
    }
}

fn has_column(view: View, name: &str) -> bool {
    match view {
        View::Traces => column::TRACE.has(name),
        View::Observations => column::OBSERVATION.has(name),
        View::ScoresNumeric | View::ScoresBoolean | View::ScoresCategorical => {
            column::SCORE.has(name)
        }
    }
}

/// One number and one histogram are of everything.
fn dimensions(widget: &WidgetView) -> Vec<DimensionSent> {
    if matches!(widget.chart_type, ChartType::Number | ChartType::Histogram) {
        return Vec::new();
    }
    let sent = |field: &String| DimensionSent { field: field.clone() };
    widget.dimensions.iter().map(|dimension| sent(&dimension.field)).collect()
}

fn figures(widget: &WidgetView) -> Vec<MetricSent> {
    let sent = |metric: &WidgetMetric, aggregation| MetricSent {
        measure: metric.measure.clone(),
        aggregation,
    };
    if widget.chart_type == ChartType::Histogram {
        let first = widget.metrics.first();
        return first.map(|one| sent(one, Word(AggregationWord::Histogram))).into_iter().collect();
    }
    let count =
        MetricSent { measure: "count".to_owned(), aggregation: Word(AggregationWord::Count) };
    let names = Names::of(widget.view.into());
    let is_cost =
        |metric: &WidgetMetric| names.measures.contains(&(metric.measure.as_str(), Unit::Dollars));
    let approximate = widget.metrics.iter().any(is_cost).then(|| MetricSent {
        measure: APPROXIMATE_COST.to_owned(),
        aggregation: Word(AggregationWord::Sum),
    });
    let own = widget.metrics.iter().map(|one| sent(one, one.agg));
    own.chain(approximate).chain([count]).collect()
}

fn order(widget: &WidgetView) -> Vec<OrderBy> {
    let sort = widget.chart_config.default_sort.as_ref();
    let sort = sort.filter(|_| widget.chart_type == ChartType::PivotTable);
    let by = |direction| Word(direction);
    let order = |sort: &ratchet_remote::langfuse::wire::dashboard::ChartSort| OrderBy {
        field: sort.column.clone(),
        direction: by(match sort.order {
            SortOrder::Asc => DirectionWord::Asc,
            SortOrder::Desc => DirectionWord::Desc,
        }),
    };
    sort.map(order).into_iter().collect()
}

fn config(widget: &WidgetView) -> MetricsConfig {
    let told = widget.chart_config.row_limit.map(i64::from);
    let row_limit = match widget.chart_type {
        ChartType::HorizontalBar | ChartType::VerticalBar | ChartType::Pie => Some(BARS),
        ChartType::PivotTable => Some(ROWS),
        ChartType::LineTimeSeries
        | ChartType::AreaTimeSeries
        | ChartType::BarTimeSeries
        | ChartType::Number
        | ChartType::Histogram => return MetricsConfig { bins: bins(widget), row_limit: None },
    };
    MetricsConfig { bins: bins(widget), row_limit: told.or(row_limit) }
}

fn bins(widget: &WidgetView) -> Option<i64> {
    widget.chart_config.bins.map(i64::from)
}
