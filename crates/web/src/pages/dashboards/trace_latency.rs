//! Latencies of whole traces, which hourly rollups of observations do not have.

use ratchet_core::time::Timestamp;
use ratchet_store::metrics::{
    Aggregation, Figure, Measure, MetricRequest, MetricsQuery, MetricsRow,
};
use ratchet_store::query::{Condition, TimeRange, TraceColumn};

use crate::components::figure;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::sums::{self, ScanRange, whole_number};
use crate::time_buckets::TimeBuckets;
use crate::viewer_time::ViewerTime;
use crate::web::Web;

/// The percentiles that are shown.
pub(super) const PERCENTILES: [u8; 2] = [50, 95];

/// Percentiles of the latency of traces, in seconds.
#[derive(Debug, Default)]
pub(super) struct TraceLatency {
    pub(super) whole: [Option<f64>; 2],
    /// For each percentile, by time.
    pub(super) steps: [Vec<Option<f64>>; 2],
    pub(super) count: u64,
    /// Start of the scan, if not all traces were read.
    since: Option<Timestamp>,
}

impl TraceLatency {
    /// What to say if not all traces were read.
    pub(super) fn note(&self, time: &ViewerTime) -> String {
        self.since.map(|since| format!(", only since {}", time.short(since))).unwrap_or_default()
    }
}

pub(super) fn read_seconds(seconds: f64) -> String {
    figure::duration(i64::try_from(whole_number(seconds * 1e9)).unwrap_or(i64::MAX))
}

/// Reads traces as far back as a page may scan.
pub(super) async fn read(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
    course: &TimeBuckets,
) -> PageResult<TraceLatency> {
    let since = match sums::scan_start(web, ctx, range).await? {
        ScanRange::Since(from) if ctx.params.get("all").is_none() => Some(from),
        ScanRange::Since(_) | ScanRange::All => None,
    };
    let range = range.and(TimeRange { from: since, to: None });
    let left_out = sums::left_out(web, ctx, range).await?;
    let every = |every| MetricsQuery {
        project: ctx.project_id(),
        range,
        conditions: conditions(ctx, left_out.clone()),
        by: Vec::new(),
        every,
        metrics: metrics(),
    };
    let whole = web.store.telemetry.trace_metrics(every(None)).await?.rows;
    let by_time = web.store.telemetry.trace_metrics(every(Some(course.width()))).await?.rows;
    let mut found = TraceLatency { since, ..TraceLatency::default() };
    if let Some(row) = whole.first() {
        found.whole = [number(row, 0), number(row, 1)];
        found.count = match row.figures.get(2) {
            Some(Figure::Count(count)) => *count,
            _ => 0,
        };
    }
    found.steps = [0, 1].map(|at| {
        let mut steps = vec![None; course.len()];
        for row in &by_time {
            let step = row.at.and_then(|at| course.step_of(at));
            if let Some(slot) = step.and_then(|step| steps.get_mut(step)) {
                *slot = number(row, at);
            }
        }
        steps
    });
    Ok(found)
}

fn metrics() -> Vec<MetricRequest<TraceColumn>> {
    let latency = Measure::Column(TraceColumn::Latency);
    let percentile =
        |percent| MetricRequest { measure: latency, aggregation: Aggregation::Percentile(percent) };
    let count = MetricRequest { measure: latency, aggregation: Aggregation::Count };
    PERCENTILES.into_iter().map(percentile).chain([count]).collect()
}

fn conditions(ctx: &RequestContext, left_out: Vec<String>) -> Vec<Condition<TraceColumn>> {
    let equals = |column, word: &Option<String>| Some(Condition::equals(column, word.as_deref()?));
    let environment = equals(TraceColumn::Environment, &ctx.scope.environment);
    let left_out = sums::without(TraceColumn::Environment, left_out);
    let agent = equals(TraceColumn::Agent, &ctx.scope.agent);
    environment.into_iter().chain(left_out).chain(agent).collect()
}

fn number(row: &MetricsRow, at: usize) -> Option<f64> {
    match row.figures.get(at)? {
        Figure::Number(number) => Some(*number),
        Figure::Count(_) | Figure::None | Figure::Histogram(_) => None,
    }
}
