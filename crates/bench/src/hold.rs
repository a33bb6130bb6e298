//! Robustness: decompression bombs while other clients need responses, and a trace that is too long
//! to read into memory.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::child::{AuthMode, Server};
use crate::client::{Client, Target};
use crate::clock::peak_memory_of;
use crate::reads::ask;
use crate::sample::Spread;

/// Concurrent bodies.
const AT_ONCE: usize = 8;
const PATHS: [&str; 5] = [
    "/api/public/ingestion",
    "/api/public/scores",
    "/api/public/v2/prompts",
    "/api/public/dataset-items",
    "/api/public/v2/datasets",
];
const HEALTH: &str = "/api/public/health";
/// Number of health checks of an idle server.
const REPETITIONS: usize = 200;
const BATCH: u64 = 1_000;

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Holding {
    /// Health check latency of an idle server.
    pub(crate) health_idle: Spread,
    /// The same during bodies of 95 kB with 49 million values, eight at a time.
    pub(crate) health: Spread,
    /// How many of those were rejected meanwhile.
    pub(crate) refused: u64,
    /// Peak memory of the server with them.
    pub(crate) peak_bytes: u64,
    /// One trace, read whole.
    pub(crate) trace: LongTrace,
}

/// A long trace, read whole.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct LongTrace {
    pub(crate) spans: u64,
    /// Bytes of the response.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Peak memory of a server that did nothing else.
    pub(crate) peak_bytes: u64,
}

/// Measures it.
///
/// # Errors
/// Fails if the server does.
pub(crate) async fn measure(
    program: &Path,
    data: &Path,
    (lasts, spans): (Duration, u64),
) -> anyhow::Result<Holding> {
    let server = Server::start(program, data, AuthMode::Keys).await?;
    let health_idle = ask(&server.target, REPETITIONS, |_| HEALTH.to_owned()).await?;
    let (health, refused) = under_bombs(&server.target, lasts).await?;
    let peak_bytes = peak_memory_of(server.pid()?)?;
    record(&server.target, spans).await?;
    server.stop().await?;
    let trace = read_whole(program, data, spans).await?;
    Ok(Holding { health_idle, health, refused, peak_bytes, trace })
}

/// 49 million values in 95 kB: concatenated gzip members are a valid stream.
fn bomb() -> anyhow::Result<Bytes> {
    let packed = |text: &str| -> anyhow::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes())?;
        Ok(encoder.finish()?)
    };
    let zeros = packed(&",0".repeat(1_000_000))?;
    let mut body = packed("{\"batch\":[0")?;
    for _ in 0..49 {
        body.extend(&zeros);
    }
    body.extend(packed("]}")?);
    Ok(body.into())
}

async fn under_bombs(target: &Target, lasts: Duration) -> anyhow::Result<(Spread, u64)> {
    let bomb = bomb()?;
    let began = Instant::now();
    let mut senders = JoinSet::new();
    for sender in 0..AT_ONCE {
        let (target, bomb) = (target.clone(), bomb.clone());
        senders.spawn(async move { bombard(&target, &bomb, (began, lasts), sender).await });
    }
    let mut taken = Vec::new();
    let mut client = Client::connect(target).await?;
    while began.elapsed() < lasts {
        let asked = Instant::now();
        let (status, _) = client.get(HEALTH).await?;
        taken.push(asked.elapsed());
        ensure!(status.is_success(), "the health check answered {status}");
    }
    let mut refused = 0;
    while let Some(sent) = senders.join_next().await {
        refused += sent??;
    }
    Ok((Spread::of(taken), refused))
}

/// Sends bodies until the time is over, and returns how many were rejected.
async fn bombard(
    target: &Target,
    bomb: &Bytes,
    (began, lasts): (Instant, Duration),
    first: usize,
) -> anyhow::Result<u64> {
    let mut refused = 0;
    for path in PATHS.iter().cycle().skip(first) {
        if began.elapsed() >= lasts {
            break;
        }
        // A rejection may close the connection.
        let mut client = Client::connect(target).await?;
        let (status, body) = client.post_packed(path, bomb.clone()).await?;
        let is_refused = status.is_client_error() || status.as_u16() == 503;
        ensure!(is_refused, "{path} answered {status}: {}", String::from_utf8_lossy(&body));
        refused += 1;
    }
    Ok(refused)
}

const TRACE: &str = "a-long-trace";

async fn record(target: &Target, spans: u64) -> anyhow::Result<()> {
    let mut client = Client::connect(target).await?;
    for first in (0..spans).step_by(usize::try_from(BATCH)?) {
        let events: Vec<Value> = (first..spans.min(first + BATCH)).map(event).collect();
        client.ingest(&json!({ "batch": events })).await?;
    }
    Ok(())
}

fn event(nth: u64) -> Value {
    // Spans arrive in another order than that of their starts, as from many machines.
    let start = nth.wrapping_mul(7_919) % 1_000_000;
    let start = format!(
        "2026-01-01T00:{:02}:{:02}.{:03}Z",
        start / 60_000,
        start / 1_000 % 60,
        start % 1_000
    );
    let body = json!({"id": format!("step-{nth}"), "traceId": TRACE, "name": "step", "startTime": start,
        "input": {"question": nth}, "output": "an answer of a few words", "metadata": {"nth": nth}});
    json!({"id": format!("event-{nth}"), "type": "span-create", "timestamp": start, "body": body})
}

async fn read_whole(program: &Path, data: &Path, spans: u64) -> anyhow::Result<LongTrace> {
    let server = Server::start(program, data, AuthMode::Keys).await?;
    let began = Instant::now();
    let mut client = Client::connect(&server.target).await?;
    let mut answer = client.follow(&format!("/api/public/traces/{TRACE}")).await?;
    let mut bytes = 0;
    while let Some(frame) = answer.frame().await {
        let frame = frame.context("the response ended early")?;
        bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
    }
    let seconds = began.elapsed().as_secs_f64();
    ensure!(bytes > 100 * spans, "{bytes} bytes are too few for {spans} spans");
    let peak_bytes = peak_memory_of(server.pid()?)?;
    server.stop().await?;
    Ok(LongTrace { spans, bytes, seconds, peak_bytes })
}
