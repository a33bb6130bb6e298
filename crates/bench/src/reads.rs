//! Latency of queries, and how it grows with the folder.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use ratchet_core::review::allocation::ReviewPlan;
use ratchet_core::time::Timestamp;
use ratchet_server::clock::Clock;
use ratchet_store::aggregate::{AggregateDimension, AggregateQuery, Step};
use ratchet_store::query::TimeRange;
use ratchet_store::review_signals::{AgentScope, DrawQuery, SignalQuery};
use serde::Serialize;

use crate::child::{AuthMode, Server};
use crate::client::{Client, Target};
use crate::fill::Filled;
use crate::pages::{self, PageReading};
use crate::record::{Cell, Load, Recording, hex};
use crate::sample::Spread;
use crate::split;
use crate::template::Pool;
use crate::text::SeededRng;

/// The cost of queries at one size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reading {
    pub(crate) rows: u64,
    /// Bytes on disk per observation.
    pub(crate) bytes_per_span: f64,
    /// From start to first response.
    pub(crate) cold_start_ms: f64,
    /// The fifty newest traces, over HTTP.
    pub(crate) list: Spread,
    /// One trace with its ten observations and their content, over HTTP.
    pub(crate) get: Spread,
    /// Counts, costs and latencies by model and day over thirty days, from the store.
    pub(crate) aggregate: Spread,
    /// Counts, costs and high latency percentiles by model and day over thirty days, over HTTP:
    /// answered by the rollup.
    pub(crate) metrics: Spread,
    /// The same by trace name over the newest day, over HTTP: needs a scan.
    pub(crate) metrics_scan: Spread,
    /// Daily metrics of everything, over HTTP: sums from the rollup, counted traces are kept.
    pub(crate) daily: Spread,
    /// Traces of thirty days, classified by their signals and drawn for review, per second.
    pub(crate) drawn_per_second: f64,
    pub(crate) pages: Vec<PageReading>,
    /// Recording into the filled folder.
    pub(crate) recording: Recording,
}

/// Repetitions per query.
const REPETITIONS: usize = 400;
/// Repetitions of queries that read many rows.
const SCAN_REPETITIONS: usize = 5;

/// Runs all queries on a folder.
///
/// # Errors
/// Fails if a query fails.
pub(crate) async fn measure(
    program: &Path,
    data: &Path,
    filled: &Filled,
    (pool, lasts): (Arc<Pool>, Duration),
) -> anyhow::Result<Reading> {
    let aggregate = aggregates(data).await?;
    let drawn_per_second = review_draws(data).await?;
    let pages = pages::measure(program, data, filled).await?;
    let server = Server::start(program, data, AuthMode::Keys).await?;
    let list =
        ask(&server.target, REPETITIONS, |_| "/api/public/traces?limit=50".to_owned()).await?;
    let mut rng = SeededRng::new(5);
    let get = ask(&server.target, REPETITIONS, |_| {
        let id = filled.traces.get(rng.below(filled.traces.len()));
        format!("/api/public/traces/{}", id.map(|id| hex(id)).unwrap_or_default())
    })
    .await?;
    let path = metrics_path("providedModelName", 30);
    let metrics = ask(&server.target, REPETITIONS / 4, |_| path.clone()).await?;
    let path = metrics_path("traceName", 1);
    let metrics_scan = ask(&server.target, SCAN_REPETITIONS, |_| path.clone()).await?;
    let daily = "/api/public/metrics/daily".to_owned();
    let daily = ask(&server.target, REPETITIONS / 4, |_| daily.clone()).await?;
    let (target, pid) = (server.target.clone(), Some(server.pid()?));
    let load = Load { target, pid, lasts, pool, reads_back: true };
    let recording = load.run(Cell { connections: 4, batch: 100 }).await?;
    let cold_start_ms = server.cold_start.as_secs_f64() * 1e3;
    server.stop().await?;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let bytes_per_span = filled.bytes as f64 / filled.rows.max(1) as f64;
    let rows = filled.rows;
    Ok(Reading {
        rows,
        bytes_per_span,
        cold_start_ms,
        list,
        get,
        aggregate,
        metrics,
        metrics_scan,
        daily,
        drawn_per_second,
        pages,
        recording,
    })
}

/// Sends a request several times, one after the other.
///
/// # Errors
/// Fails on an error status.
pub(crate) async fn ask(
    target: &Target,
    times: usize,
    mut path: impl FnMut(usize) -> String,
) -> anyhow::Result<Spread> {
    let mut client = Client::connect(target).await?;
    let mut taken = Vec::with_capacity(times);
    for nth in 0..times {
        let path = path(nth);
        let asked = Instant::now();
        let (status, _) = client.get(&path).await?;
        taken.push(asked.elapsed());
        ensure!(status.is_success(), "{path} answered {status}");
    }
    Ok(Spread::of(taken))
}

/// The path of a metrics query by day over the last days.
fn metrics_path(dimension: &str, days: i64) -> String {
    const DAY_NANOS: i64 = 86_400 * 1_000_000_000;
    let to = Clock::System.now();
    let from = to.plus_nanos(-days * DAY_NANOS);
    let query = serde_json::json!({
        "view": "observations",
        "dimensions": [{"field": dimension}],
        "metrics": [
            {"measure": "count", "aggregation": "count"},
            {"measure": "totalCost", "aggregation": "sum"},
            {"measure": "latency", "aggregation": "p95"},
        ],
        "timeDimension": {"granularity": "day"},
        "fromTimestamp": from.to_string(),
        "toTimestamp": to.to_string(),
        "config": {"row_limit": 1_000},
    });
    let encoded: String = query.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/api/public/v2/metrics?query={encoded}")
}

async fn aggregates(data: &Path) -> anyhow::Result<Spread> {
    let folder = split::open(data)?;
    let end = Clock::System.now();
    let mut taken = Vec::new();
    for _ in 0..REPETITIONS / 4 {
        let asked = Instant::now();
        let answer = folder.telemetry.aggregate(last_thirty_days(end)?).await?;
        taken.push(asked.elapsed());
        ensure!(!answer.groups.is_empty(), "the aggregate is empty");
    }
    folder.close().await?;
    Ok(Spread::of(taken))
}

/// Traces per second that a review sample is drawn from.
async fn review_draws(data: &Path) -> anyhow::Result<f64> {
    let folder = split::open(data)?;
    let range = last_thirty_days(Clock::System.now())?.range;
    let (began, mut traces) = (Instant::now(), 0);
    for nth in 0..SCAN_REPETITIONS {
        let query = DrawQuery {
            traces: SignalQuery {
                project: split::project()?,
                range,
                agent: AgentScope::All,
                environments: Vec::new(),
                release: None,
            },
            plan: ReviewPlan::default(),
            seed: format!("bench {nth}"),
        };
        let draw = folder.telemetry.draw_week(query).await?;
        traces += draw.populations().values().sum::<u64>();
    }
    let seconds = began.elapsed().as_secs_f64();
    folder.close().await?;
    ensure!(traces > 0, "no traces to draw from");
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    Ok(traces as f64 / seconds)
}

fn last_thirty_days(end: Timestamp) -> anyhow::Result<AggregateQuery> {
    const DAYS_NANOS: i64 = 30 * 86_400 * 1_000_000_000;
    let range = TimeRange { from: Some(end.plus_nanos(-DAYS_NANOS)), to: Some(end) };
    let (project, by, conditions) =
        (split::project()?, vec![AggregateDimension::Model], Vec::new());
    Ok(AggregateQuery { project, range, by, step: Step::Day, conditions })
}
