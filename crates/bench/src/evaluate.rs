//! What online evaluators cost: the outbox alone, recording while they run, and a verdict.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ratchet_core::judge::evaluator::judge_offline;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::offline::SignalSet;
use ratchet_core::judge::rubric;
use ratchet_server::clock::Clock;
use ratchet_stages::record;
use ratchet_store::Store;
use ratchet_store::query::{
    Detail, Direction, ObservationQuery, Paging, TimeRange, TraceOrder, TraceQuery,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::child::{AuthMode, PROJECT, Server};
use crate::client::Client;
use crate::clock::{cpu_of, own_cpu, thread_cpu};
use crate::record::{Cell, Load};
use crate::sample::micros_each;
use crate::split::{Preparer, open, project};
use crate::stream::Stream;
use crate::template::Pool;

/// Spans per request of the outbox's measurement.
const BATCH: usize = 1_000;
/// The load while evaluators run.
const CELL: Cell = Cell { connections: 4, batch: 100 };
/// Traces whose verdict is timed.
const JUDGED: u64 = 200;
/// How long the queue may take to empty.
const WAIT: Duration = Duration::from_secs(600);

/// Recording with and without evaluators, and the time of a verdict.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Evaluating {
    pub(crate) without_spans_per_second: f64,
    pub(crate) with_spans_per_second: f64,
    /// The second of the first.
    pub(crate) share: f64,
    /// The writer's CPU time for the outbox, per span.
    pub(crate) outbox_us: f64,
    pub(crate) judged: u64,
    /// Server CPU time per verdict, the offline judge included.
    pub(crate) verdict_ms: f64,
    /// CPU time of the offline judge for one trace.
    pub(crate) judge_ms: f64,
}

/// Measures all of it.
///
/// # Errors
/// Fails if a folder cannot be written, or if the server refuses something.
pub(crate) async fn measure(
    (program, place): (&Path, &Path),
    (pool, lasts): (Arc<Pool>, Duration),
    spans: usize,
) -> anyhow::Result<Evaluating> {
    let plain = write(&place.join("plain"), &pool, (spans, false)).await?;
    let noted = write(&place.join("noted"), &pool, (spans, true)).await?;
    let without = serve(program, &place.join("without"), (&pool, lasts), false).await?;
    let with = serve(program, &place.join("with"), (&pool, lasts), true).await?;
    let extra_us = with.cpu_us - without.cpu_us / without.spans * with.spans;
    Ok(Evaluating {
        without_spans_per_second: without.rate,
        with_spans_per_second: with.rate,
        share: with.rate / without.rate,
        outbox_us: noted - plain,
        judged: with.judged,
        verdict_ms: extra_us / float(with.judged.max(1)) / 1e3,
        judge_ms: time_judge(&place.join("noted")).await?,
    })
}

/// Writes spans in this process; returns the writer's microseconds per span.
async fn write(
    data: &Path,
    pool: &Arc<Pool>,
    (spans, is_evaluated): (usize, bool),
) -> anyhow::Result<f64> {
    let folder = open(data)?;
    if is_evaluated {
        folder.telemetry.set_evaluated_projects(HashSet::from([project()?]));
    }
    let mut preparer = Preparer::new(folder.clone())?;
    let mut stream = Stream::new(Arc::clone(pool), 11);
    let mut waiting = Vec::new();
    for _ in 0..spans / BATCH {
        let now = Clock::System.now();
        let body = stream.body(BATCH, now);
        waiting.push(preparer.prepare(&body, now)?);
    }
    let count = u64::try_from(waiting.len() * BATCH)?;
    let (cpu_before, own_before) = (own_cpu(), thread_cpu());
    for prepared in waiting {
        record::commit(&folder.telemetry, &folder.catalog, prepared).await?;
    }
    let write = (own_cpu() - cpu_before).saturating_sub(thread_cpu() - own_before);
    folder.close().await?;
    Ok(micros_each(write, count))
}

/// A server under load, until all that was recorded is judged.
struct Served {
    rate: f64,
    spans: f64,
    cpu_us: f64,
    judged: u64,
}

async fn serve(
    program: &Path,
    data: &Path,
    (pool, lasts): (&Arc<Pool>, Duration),
    is_evaluated: bool,
) -> anyhow::Result<Served> {
    let server = Server::start(program, data, AuthMode::Keys).await?;
    let mut client = Client::connect(&server.target).await?;
    if is_evaluated {
        add_evaluator(&mut client).await?;
    }
    let pid = server.pid()?;
    let before = cpu_of(pid)?;
    let (target, pool) = (server.target.clone(), Arc::clone(pool));
    let load = Load { target, pid: Some(pid), lasts, pool, reads_back: false };
    let recording = load.run(CELL).await?;
    let judged = if is_evaluated { judged(&mut client).await? } else { 0 };
    let cpu = cpu_of(pid)? - before;
    server.stop().await?;
    Ok(Served {
        rate: recording.spans_per_second,
        spans: float(recording.spans),
        cpu_us: cpu.as_secs_f64() * 1e6,
        judged,
    })
}

async fn add_evaluator(client: &mut Client) -> anyhow::Result<()> {
    let evaluator = json!({
        "name": "quality", "prompt": "{{input}}", "judge": "offline",
        "variableMapping": [{ "variable": "input", "source": "input" }],
        "outputDefinition": { "dataType": "NUMERIC", "minValue": 0.0, "maxValue": 1.0 },
    });
    let made = post(client, "/api/public/v2/evaluators", &evaluator).await?;
    let rule = json!({
        "name": "all", "enabled": true, "target": "trace", "delaySeconds": 1,
        "evaluatorAssignments": [{ "evaluatorId": made["id"] }],
    });
    post(client, "/api/public/v2/evaluation-rules", &rule).await.map(drop)
}

async fn post(client: &mut Client, path: &str, body: &Value) -> anyhow::Result<Value> {
    let (status, answer) = client.post(path, body).await?;
    ensure!(status.is_success(), "{path}: {status}");
    Ok(serde_json::from_slice(&answer)?)
}

/// Waits until nothing is left to judge; returns the number of verdicts.
async fn judged(client: &mut Client) -> anyhow::Result<u64> {
    let path = format!("/api/v1/projects/{PROJECT}/evaluators");
    let (began, mut last) = (Instant::now(), 0);
    while began.elapsed() < WAIT {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (_, body) = client.get(&path).await?;
        let view: Value = serde_json::from_slice(&body)?;
        let one = &view["evaluators"][0];
        let judged = one["lastDay"]["judged"].as_u64().context("the server names no verdicts")?;
        if judged > 0 && judged == last && one["waiting"] == 0 {
            return Ok(judged);
        }
        last = judged;
    }
    anyhow::bail!("{last} verdicts after {} s, and still more to come", WAIT.as_secs())
}

/// Milliseconds of the offline judge per trace.
async fn time_judge(data: &Path) -> anyhow::Result<f64> {
    let folder = open(data)?;
    let rubric = rubric::shipped().find(|rubric| rubric.name == rubric::DEFAULT);
    let rubric = rubric.context("the default rubric is missing")?;
    let all = evidence(&folder).await?;
    let began = thread_cpu();
    for evidence in &all {
        std::hint::black_box(judge_offline(SignalSet::shipped(), rubric, evidence));
    }
    let took = thread_cpu() - began;
    folder.close().await?;
    Ok(micros_each(took, all.len() as u64) / 1e3)
}

async fn evidence(folder: &Store) -> anyhow::Result<Vec<Evidence>> {
    let query = TraceQuery {
        project: project()?,
        range: TimeRange::default(),
        conditions: Vec::new(),
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: JUDGED },
        detail: Detail::Content,
    };
    let mut all = Vec::new();
    for trace in folder.telemetry.traces(query).await?.rows {
        let query = ObservationQuery {
            project: project()?,
            range: TimeRange::default(),
            trace: Some(trace.id.clone()),
            conditions: Vec::new(),
            direction: Direction::Ascending,
            paging: Paging::After { cursor: None, limit: 1_000 },
            detail: Detail::Content,
        };
        let steps = folder.telemetry.observations(query).await?.rows;
        all.push(Evidence::new(trace.id.cast(), vec![(trace, steps)]));
    }
    Ok(all)
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
const fn float(count: u64) -> f64 {
    count as f64
}
