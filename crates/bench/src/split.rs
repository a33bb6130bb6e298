//! CPU time of recording by stage, and the maximum rate of each stage alone.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use ratchet_core::record::merge::Merge;
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::redact::Redactor;
use ratchet_core::record::semantic_conventions::{Interpreter, Sender};
use ratchet_core::record::span::Span;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use ratchet_server::app::Limits;
use ratchet_server::clock::Clock;
use ratchet_server::otlp::{Decoded, Format, decode_traces};
use ratchet_stages::record;
use ratchet_store::disk_reserve::DiskReserve;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;
use ratchet_store::telemetry::Prepared;
use ratchet_store::{Store, StoreOptions};
use serde::Serialize;

use crate::child::PROJECT;
use crate::clock::{own_cpu, thread_cpu};
use crate::sample::{micros_each, rate};
use crate::stream::Stream;
use crate::template::Pool;

/// CPU microseconds per span in each stage, and the maximum rates of the first and the last.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Split {
    pub(crate) spans: u64,
    pub(crate) decode_us: f64,
    /// Mapping spans to patches.
    pub(crate) map_us: f64,
    /// Merging duplicates, pricing, compressing.
    pub(crate) prepare_us: f64,
    /// The transaction, on the writer's thread.
    pub(crate) write_us: f64,
    /// Spans per second that one core decodes, with nothing else to do.
    pub(crate) decode_ceiling: f64,
    /// Spans per second that the writer commits, with everything prepared.
    pub(crate) write_ceiling: f64,
}

/// Opens a folder in this process.
pub(crate) fn open(data: &Path) -> anyhow::Result<Store> {
    let options = StoreOptions {
        prices: Arc::new(PriceTable::builtin()),
        queue_len: 256,
        readers: 4,
        holder: format!("ratchet-bench, process {}", std::process::id()),
        known_secrets: Default::default(),
        reserve: DiskReserve::default(),
    };
    Ok(Store::open(data, options)?)
}

/// The project of all recordings.
///
/// # Errors
/// Never, as long as its id is valid.
pub(crate) fn project() -> anyhow::Result<ProjectId> {
    Ok(ProjectId::parse(PROJECT)?)
}

/// CPU time of the stages before the disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    decode: Duration,
    map: Duration,
    prepare: Duration,
}

/// Prepares bodies for writing, and measures the time.
#[derive(Debug)]
pub(crate) struct Preparer {
    folder: Store,
    project: ProjectId,
    limits: Limits,
    /// The time so far.
    pub(crate) spent: Spent,
}

impl Preparer {
    /// Prepares for a folder.
    ///
    /// # Errors
    /// Never, as long as the project's id is valid.
    pub(crate) fn new(folder: Store) -> anyhow::Result<Self> {
        Ok(Self { folder, project: project()?, limits: Limits::default(), spent: Spent::default() })
    }

    /// Decodes, maps and prepares one request body, as the server does.
    ///
    /// # Errors
    /// Fails if the body is not OTLP.
    pub(crate) fn prepare(&mut self, body: &[u8], now: Timestamp) -> anyhow::Result<Prepared> {
        let start = thread_cpu();
        let decoded = decode_traces(Format::Protobuf, body, &self.limits, now)
            .map_err(|error| anyhow!("cannot decode our own spans: {error}"))?;
        let is_decoded = thread_cpu();
        let batch = self.interpret(decoded, now);
        let is_mapped = thread_cpu();
        let prepared = self.folder.telemetry.prepare(Redactor::default().redact(batch, usize::MAX));
        let is_prepared = thread_cpu();
        self.spent.decode += is_decoded - start;
        self.spent.map += is_mapped - is_decoded;
        self.spent.prepare += is_prepared - is_mapped;
        Ok(prepared)
    }

    fn interpret(&self, decoded: Decoded<Span>, received_at: Timestamp) -> Batch {
        let mut observations = Vec::new();
        let mut traces: Vec<TracePatch> = Vec::new();
        let mut experiment_items = Vec::new();
        for group in decoded.groups {
            let interpreter = Interpreter::new(group.origin, Sender::default());
            for span in group.items {
                let said = interpreter.interpret(span);
                observations.push(said.observation);
                experiment_items.extend(said.experiment_item);
                // Spans of a trace are adjacent here, so its patch is the last one.
                match traces.pop() {
                    Some(last) if last.id == said.trace.id => traces.push(last.merge(said.trace)),
                    last => traces.extend(last.into_iter().chain([said.trace])),
                }
            }
        }
        let (project, scores) = (self.project.clone(), Vec::new());
        Batch { project, traces, observations, scores, experiment_items, received_at }
    }
}

/// Spans per request: large enough that fixed costs do not show.
const BATCH: usize = 1_000;

/// Measures the stages on that many spans.
///
/// # Errors
/// Fails if the folder cannot be written.
pub(crate) async fn measure(data: &Path, pool: Arc<Pool>, spans: usize) -> anyhow::Result<Split> {
    let folder = open(data)?;
    let mut preparer = Preparer::new(folder.clone())?;
    let mut stream = Stream::new(pool, 11);
    let mut waiting = Vec::new();
    for _ in 0..spans / BATCH {
        let now = Clock::System.now();
        let body = stream.body(BATCH, now);
        waiting.push(preparer.prepare(&body, now)?);
    }
    let spans = u64::try_from(waiting.len() * BATCH)?;
    let (began, cpu_before, own_before) = (Instant::now(), own_cpu(), thread_cpu());
    for prepared in waiting {
        record::commit(&folder.telemetry, &folder.catalog, prepared).await?;
    }
    // CPU time of this process without this thread is the writer's work.
    let write = (own_cpu() - cpu_before).saturating_sub(thread_cpu() - own_before);
    let took = began.elapsed();
    folder.close().await?;
    let Spent { decode, map, prepare } = preparer.spent;
    Ok(Split {
        spans,
        decode_us: micros_each(decode, spans),
        map_us: micros_each(map, spans),
        prepare_us: micros_each(prepare, spans),
        write_us: micros_each(write, spans),
        decode_ceiling: rate(spans, decode),
        write_ceiling: rate(spans, took),
    })
}
