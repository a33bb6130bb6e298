//! Queries and renders one chart.

use maud::{Markup, html};
use ratchet_core::calendar::Granularity;
use ratchet_core::catalog::dashboard::widget::Widget;
use ratchet_core::catalog::filter::{FilterCondition, FilterKind, Operator};
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;
use ratchet_stages::dashboards::QueryProblem;
use ratchet_stages::dashboards::response::Shape;
use ratchet_stages::dashboards::widget;
use ratchet_store::StoreError;
use ratchet_store::aggregate::AggregateSource;
use ratchet_store::metrics::{Figure, MetricsRow, PERCENTILE_ERROR};
use ratchet_store::query::TimeRange;

use super::drill::Drill;
use super::{drawing, judges, others, reading};
use crate::components::figure;
use crate::components::plot::PlotHeight;
use crate::filter::{Filter, RecordField, Term, saved::Counted};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::sums::{self, ScanRange};
use crate::time_buckets;
use crate::time_buckets::TimeBuckets;
use crate::viewer_time::ViewerTime;
use crate::web::Web;

/// The column of environments in filters of charts.
const ENVIRONMENT: &str = "environment";

pub(super) struct ChartData {
    pub(super) shape: Shape,
    pub(super) rows: Vec<MetricsRow>,
    pub(super) course: TimeBuckets,
    /// Approximate part of the cost.
    pub(super) approximate_cost: Money,
    /// Where the figures come from, and of how many.
    pub(super) note: String,
    /// Figures of all keys that are not shown one by one.
    pub(super) others: Vec<MetricsRow>,
}

/// Error of a chart query.
pub(super) enum ChartError {
    /// The query is invalid.
    Wrong(Vec<QueryProblem>),
    /// The query exceeds a limit.
    TooMuch(String),
}

/// Renders a chart with current data.
pub(super) async fn draw(
    web: &Web,
    ctx: &RequestContext,
    chart: &Widget,
    besides: &[FilterCondition],
    tall: PlotHeight,
) -> PageResult<Markup> {
    let besides = &with_production(web, ctx, chart, besides).await?;
    let judged = judges::tell_apart(web, ctx, chart, besides).await?;
    let (chart, judge) = (&*judged.chart, judged.only.as_deref());
    let asked = ChartQuery { chart, besides, judge };
    let mut answer = match self::answer(web, ctx, &asked).await? {
        Ok(answer) => answer,
        Err(nothing) => return Ok(refused(chart, &nothing)),
    };
    answer.note.push_str(&judged.note);
    let shown = drawing::shown_keys(chart, &answer);
    if let Some((together, without)) = others::query(chart, &answer, &shown) {
        let besides: Vec<_> = besides.iter().chain(&without).cloned().collect();
        let asked = ChartQuery { chart: &together, besides: &besides, judge };
        if let Ok(rest) = self::answer(web, ctx, &asked).await? {
            answer.others = rest.rows;
        }
    }
    let drill = Drill::of(chart, besides, ctx);
    Ok(drawing::draw(chart, &answer, (tall, drill.as_ref())))
}

/// What is asked for a chart.
#[derive(Clone, Copy)]
pub(super) struct ChartQuery<'a> {
    pub(super) chart: &'a Widget,
    /// The filters of its page.
    pub(super) besides: &'a [FilterCondition],
    /// Only scores of this judge.
    pub(super) judge: Option<&'a str>,
}

/// Runs the query of a chart, with the filters and the scope of its page.
pub(super) async fn answer(
    web: &Web,
    ctx: &RequestContext,
    asked: &ChartQuery<'_>,
) -> PageResult<Result<ChartData, ChartError>> {
    let ChartQuery { chart, besides, judge } = *asked;
    let mut besides = besides.to_vec();
    let time = time(web, ctx).await?;
    besides.extend(of_scope(ctx));
    let width = time_buckets::width(time.0, time.1);
    let asked = widget::asks(ctx.project_id(), chart, &besides, (time, width));
    let (mut question, shape) = match asked {
        Ok(asked) => asked,
        Err(issues) => return Ok(Err(ChartError::Wrong(issues))),
    };
    if let Some(judge) = judge {
        question.judged_by(judge);
    }
    let telemetry = &web.store.telemetry;
    let mut since = None;
    if !question.is_of_sums(telemetry) && ctx.params.get("all").is_none() {
        let range = TimeRange { from: Some(time.0), to: Some(time.1) };
        if let ScanRange::Since(from) = sums::scan_start(web, ctx, range).await? {
            question.shorten(TimeRange { from: Some(from), to: None });
            since = Some(from);
        }
    }
    let found = match question.answer(telemetry).await {
        Ok(found) => found,
        Err(StoreError::BadQuery(why)) => return Ok(Err(ChartError::TooMuch(why))),
        Err(error) => return Err(error.into()),
    };
    let approximate_cost = reading::approximate_cost(chart.metrics.len(), &shape, &found.rows);
    let note = format!(
        "n = {}, {}{}",
        figure::grouped(counted(&found.rows)),
        note(&shape, found.source, since, ctx.now),
        reading::approximate_part(chart, approximate_cost)
    );
    let rows = shape.arrange(found.rows);
    let width = shape.every.unwrap_or(Granularity::Day);
    let course = TimeBuckets::by(width, time.0, before(time.1)).shown_to(&ctx.time);
    Ok(Ok(ChartData { shape, rows, course, approximate_cost, note, others: Vec::new() }))
}

/// The last moment that is inside.
fn before(end: Timestamp) -> Timestamp {
    end.plus_nanos(-1)
}

/// The time that is looked at. All time begins with what hourly sums know first.
async fn time(web: &Web, ctx: &RequestContext) -> PageResult<(Timestamp, Timestamp)> {
    let range = ctx.range();
    let to = range.to.unwrap_or(ctx.now.plus_nanos(1));
    if let Some(from) = range.from {
        return Ok((from, to));
    }
    let all = sums::over_time(web, ctx, range, &[]).await?;
    Ok((all.course.start().unwrap_or(ctx.now).min(before(to)), to))
}

/// The part of the project that is looked at, as conditions.
fn of_scope(ctx: &RequestContext) -> Vec<FilterCondition> {
    let scope = &ctx.scope;
    let environment = scope.environment.as_deref().map(|word| (RecordField::Environment, word));
    let agent = scope.agent.as_deref().map(|word| (RecordField::Agent, word));
    let terms = environment.into_iter().chain(agent);
    let terms = terms.map(|(field, word)| Term::word(field, word)).collect();
    Filter { terms }.to_stored(Counted::Observations).unwrap_or_default()
}

/// Leaves judges and experiments out of a chart that is not about environments itself, and of the
/// lists that it leads to.
async fn with_production(
    web: &Web,
    ctx: &RequestContext,
    chart: &Widget,
    besides: &[FilterCondition],
) -> PageResult<Vec<FilterCondition>> {
    let mut besides = besides.to_vec();
    let is_about = chart.dimensions.iter().any(|by| by.field == ENVIRONMENT)
        || chart.filters.iter().any(|filter| filter.column == ENVIRONMENT);
    if is_about {
        return Ok(besides);
    }
    let (from, to) = time(web, ctx).await?;
    let range = TimeRange { from: Some(from), to: Some(to) };
    let left_out = sums::left_out(web, ctx, range).await?;
    besides.extend((!left_out.is_empty()).then(|| FilterCondition {
        column: ENVIRONMENT.to_owned(),
        operator: Operator::NoneOf,
        kind: FilterKind::StringOptions,
        value: left_out.into(),
        key: None,
    }));
    Ok(besides)
}

/// How many records the figures are made of: the last figure of each row, or all of its bins.
fn counted(rows: &[MetricsRow]) -> u64 {
    let of_row = |row: &MetricsRow| match row.figures.last() {
        Some(Figure::Count(count)) => *count,
        Some(Figure::Histogram(bins)) => bins.iter().map(|bin| bin.count).sum(),
        Some(Figure::Number(_) | Figure::None) | None => 0,
    };
    rows.iter().map(of_row).sum()
}

fn note(
    shape: &Shape,
    source: AggregateSource,
    since: Option<Timestamp>,
    now: Timestamp,
) -> String {
    match (source, since) {
        (AggregateSource::Rollup, _) if shape.has_percentiles() => {
            format!("hourly rollups, ±{}", figure::percent(PERCENTILE_ERROR))
        }
        (AggregateSource::Rollup, _) => "hourly rollups".to_owned(),
        (AggregateSource::Scan, None) => "all records".to_owned(),
        (AggregateSource::Scan, Some(since)) => {
            format!("only records since {} UTC", ViewerTime::utc(now).short(since))
        }
    }
}

fn refused(chart: &Widget, why: &ChartError) -> Markup {
    html! {
        figure.chart {
            figcaption { bdi { (chart.name) } }
            @match why {
                ChartError::Wrong(problems) => {
                    p.lead { "This chart's query is not valid." }
                    ul { @for problem in problems { li { (problem) } } }
                },
                ChartError::TooMuch(why) => {
                    p.lead { "This query would read too many records." }
                    p.muted { (why) }
                },
            }
        }
    }
}
