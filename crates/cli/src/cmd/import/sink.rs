use crate::administration::Administration;
use anyhow::{bail, ensure};
use ratchet_core::record::claude_code::Patches;
use ratchet_remote::langfuse::statement;
use ratchet_remote::langfuse::wire::ingestion::{IngestionBatch, IngestionResult};
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::record;
use ratchet_stages::record::events::TEXT_BYTES;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;

/// Events in one request: well below what a server takes.
const EVENTS_PER_REQUEST: usize = 500;
/// Bytes of one request, likewise; a single greater event goes alone.
const BYTES_PER_REQUEST: usize = 4_000_000;

/// Where imported records go: a project of a folder, or the project that a server's key opens.
#[derive(Debug)]
pub(super) struct Sink<'a> {
    target: &'a Administration,
    project: Option<ProjectId>,
}

impl<'a> Sink<'a> {
    pub(super) async fn open(
        target: &'a Administration,
        project: Option<&str>,
    ) -> anyhow::Result<Self> {
        let project = match &target.0 {
            DataTarget::Folder(_) => Some(ProjectId::parse(&target.project(project).await?.id)?),
            DataTarget::Server(_) => {
                ensure!(project.is_none(), "with --server the key determines the project");
                None
            }
        };
        Ok(Self { target, project })
    }

    /// Records what was said and returns once it is on disk.
    pub(super) async fn record(&self, patches: Patches) -> anyhow::Result<()> {
        let patches = patches.merged();
        if patches.is_empty() {
            return Ok(());
        }
        match (&self.target.0, &self.project) {
            (DataTarget::Folder(folder), Some(project)) => {
                let batch = Batch {
                    traces: patches.traces,
                    observations: patches.observations,
                    ..Batch::new(project.clone(), Clock::System.now())
                };
                Ok(record::write(&folder.telemetry, &folder.catalog, batch, TEXT_BYTES).await?)
            }
            _ => self.send(&patches).await,
        }
    }

    async fn send(&self, patches: &Patches) -> anyhow::Result<()> {
        let traces = patches.traces.iter().map(statement::about_trace);
        let observations = patches.observations.iter().map(statement::about_observation);
        let mut waiting = Vec::new();
        let mut bytes = 0;
        let events: Vec<Vec<Raw>> = traces.chain(observations).collect::<Result<_, _>>()?;
        for event in events.into_iter().flatten() {
            let is_full = waiting.len() == EVENTS_PER_REQUEST
                || bytes + event.get().len() > BYTES_PER_REQUEST;
            if is_full && !waiting.is_empty() {
                self.post(std::mem::take(&mut waiting)).await?;
                bytes = 0;
            }
            bytes += event.get().len();
            waiting.push(event);
        }
        if waiting.is_empty() { Ok(()) } else { self.post(waiting).await }
    }

    async fn post(&self, batch: Vec<Raw>) -> anyhow::Result<()> {
        let DataTarget::Server(server) = &self.target.0 else { return Ok(()) };
        let batch = IngestionBatch { batch, metadata: None };
        let result: IngestionResult = server.post(&["public", "ingestion"], &batch).await?;
        if let Some(refused) = result.errors.first() {
            let why = refused.error.as_deref().or(refused.message.as_deref());
            bail!("the server rejected a record: {}", why.unwrap_or("no reason given"));
        }
        Ok(())
    }
}
