use anyhow::{bail, ensure};
use ratchet_core::record::claude_code::Patches;
use ratchet_remote::langfuse::statement::{self, BatchReply};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::record::{self, TEXT_BYTES};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;

use crate::administration::Administration;

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

    /// Writes records and returns once they are on disk.
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
        let DataTarget::Server(server) = &self.target.0 else { return Ok(()) };
        for batch in statement::batches(&patches.traces, &patches.observations)? {
            let reply: BatchReply = server.post(&statement::PATH, &batch).await?;
            if let Some(why) = reply.refusal() {
                bail!("the server rejected a record: {why}");
            }
        }
        Ok(())
    }
}
