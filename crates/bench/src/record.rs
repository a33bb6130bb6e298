//! Sends spans as fast as they are acknowledged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ratchet_server::clock::Clock;
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::{Client, Target};
use crate::clock::{cpu_of, own_cpu};
use crate::sample::{Spread, micros_each, rate};
use crate::stream::Stream;
use crate::template::{Pool, TRACE_LEN};

/// Number of connections and batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cell {
    pub(crate) connections: usize,
    pub(crate) batch: usize,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Recording {
    #[serde(flatten)]
    pub(crate) cell: Cell,
    pub(crate) spans: u64,
    /// From the first request to the last acknowledgement, and for Ratchet to the read that
    /// confirms it.
    pub(crate) seconds: f64,
    /// Acknowledged spans per second.
    pub(crate) spans_per_second: f64,
    /// The same until the server was idle.
    pub(crate) settled_spans_per_second: f64,
    pub(crate) server_cpu_us: Option<f64>,
    pub(crate) client_cpu_us: f64,
    /// Latency of acknowledgements.
    pub(crate) acknowledged: Spread,
    /// Whether reads found all of it.
    pub(crate) confirmed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) target: Target,
    /// Its process id, if its CPU time can be measured.
    pub(crate) pid: Option<u32>,
    /// Duration of the load.
    pub(crate) lasts: Duration,
    pub(crate) pool: Arc<Pool>,
    /// Whether to read back what was acknowledged, over Langfuse's API.
    pub(crate) reads_back: bool,
}

/// What one connection sent.
struct Sent {
    spans: u64,
    times: Vec<Duration>,
    stream: Stream,
}

impl Load {
    /// Sends for the given time, then reads back.
    ///
    /// # Errors
    /// Fails if the server rejects anything, or if acknowledged spans cannot be read.
    pub(crate) async fn run(&self, cell: Cell) -> anyhow::Result<Recording> {
        self.warm_up(cell.batch).await?;
        let there_before = if self.reads_back { self.count().await? } else { 0 };
        let began = Instant::now();
        let (own_before, server_before) = (own_cpu(), self.server_cpu()?);
        let mut clients = JoinSet::new();
        for nth in 0..cell.connections {
            let load = self.clone();
            clients.spawn(async move { load.client(cell.batch, nth, began).await });
        }
        let mut sent = Vec::new();
        while let Some(ended) = clients.join_next().await {
            sent.push(ended??);
        }
        let client_cpu = own_cpu() - own_before;
        if self.reads_back {
            self.read_back(&sent).await?;
        }
        let took = began.elapsed();
        let settled = self.settle(began).await?;
        let server_after = self.server_cpu()?;
        if self.reads_back {
            let begun = sent.iter().map(|sent| sent.stream.begun()).sum::<u64>();
            let there = self.count().await?;
            ensure!(
                there == there_before + begun,
                "{begun} traces were sent, but {there} are there"
            );
        }
        let spans = sent.iter().map(|sent| sent.spans).sum();
        let server_cpu = server_before.zip(server_after).map(|(before, after)| after - before);
        Ok(Recording {
            cell,
            spans,
            seconds: took.as_secs_f64(),
            spans_per_second: rate(spans, took),
            settled_spans_per_second: rate(spans, settled),
            server_cpu_us: server_cpu.map(|cpu| micros_each(cpu, spans)),
            client_cpu_us: micros_each(client_cpu, spans),
            acknowledged: Spread::of(sent.into_iter().flat_map(|sent| sent.times).collect()),
            confirmed: self.reads_back,
        })
    }

    async fn client(&self, batch: usize, nth: usize, began: Instant) -> anyhow::Result<Sent> {
        let mut client = Client::connect(&self.target).await?;
        let seed = Clock::System.now().nanos().cast_unsigned() ^ (u64::try_from(nth)? << 56);
        let mut stream = Stream::new(Arc::clone(&self.pool), seed);
        let (mut spans, mut times) = (0, Vec::new());
        while began.elapsed() < self.lasts {
            let body = stream.body(batch, Clock::System.now());
            let asked = Instant::now();
            client.export(body).await?;
            times.push(asked.elapsed());
            spans += u64::try_from(batch)?;
        }
        Ok(Sent { spans, times, stream })
    }

    /// Sends a few uncounted requests: one-time work would weigh more on a slow server.
    async fn warm_up(&self, batch: usize) -> anyhow::Result<()> {
        const REQUESTS: usize = 3;
        let mut client = Client::connect(&self.target).await?;
        let seed = Clock::System.now().nanos().cast_unsigned();
        let mut stream = Stream::new(Arc::clone(&self.pool), seed);
        for _ in 0..REQUESTS {
            client.export(stream.body(batch, Clock::System.now())).await?;
        }
        Ok(())
    }

    /// Reads a sample of the acknowledged spans.
    async fn read_back(&self, sent: &[Sent]) -> anyhow::Result<()> {
        let mut client = Client::connect(&self.target).await?;
        for stream in sent.iter().map(|sent| &sent.stream) {
            let ids = [stream.finished().first(), stream.finished().last()];
            for id in ids.into_iter().flatten().map(|id| hex(id)) {
                let (status, body) = client.get(&format!("/api/public/traces/{id}")).await?;
                ensure!(
                    status.is_success(),
                    "trace {id} was acknowledged; reading it gives {status}"
                );
                let trace: Value = serde_json::from_slice(&body)?;
                let steps = trace.get("observations").and_then(Value::as_array).map_or(0, Vec::len);
                ensure!(steps == TRACE_LEN, "trace {id} has {steps} of {TRACE_LEN} spans");
            }
        }
        Ok(())
    }

    /// Number of traces on the server.
    async fn count(&self) -> anyhow::Result<u64> {
        let mut client = Client::connect(&self.target).await?;
        let (status, body) = client.get("/api/public/traces?limit=1").await?;
        ensure!(status.is_success(), "the list of traces gives {status}");
        let list: Value = serde_json::from_slice(&body)?;
        let total = list.pointer("/meta/totalItems").and_then(Value::as_u64);
        total.context("the list of traces does not say how many there are")
    }

    fn server_cpu(&self) -> anyhow::Result<Option<Duration>> {
        self.pid.map(cpu_of).transpose()
    }

    /// Waits until the server is idle: some acknowledge first and work later.
    async fn settle(&self, began: Instant) -> anyhow::Result<Duration> {
        const POLL_INTERVAL: Duration = Duration::from_millis(250);
        const TIMEOUT: Duration = Duration::from_secs(300);
        let Some(pid) = self.pid else {
            return Ok(began.elapsed());
        };
        let waiting = Instant::now();
        let mut busy_until = began.elapsed();
        let mut last = cpu_of(pid)?;
        let mut quiet = 0;
        while quiet < 4 && waiting.elapsed() < TIMEOUT {
            tokio::time::sleep(POLL_INTERVAL).await;
            let now = cpu_of(pid)?;
            let is_busy = now - last > POLL_INTERVAL / 10;
            quiet = if is_busy { 0 } else { quiet + 1 };
            if is_busy {
                busy_until = began.elapsed();
            }
            last = now;
        }
        Ok(busy_until)
    }
}

/// An id in hexadecimal digits.
pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
