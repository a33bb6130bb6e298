//! Gates on recorded runs.

use anyhow::{Context, bail};
use ratchet_core::gate::stored_answer::StoredAnswers;
use ratchet_remote::ratchet::gates::StoredAnswersView;
use ratchet_remote::ratchet::{RatchetClient, RatchetError};
use ratchet_server::api::gates::{GatePlanView, GateRequest, GateView};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::gate::GateContext;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;
use serde::Deserialize;

use super::Administration;

/// The project of a key, as Langfuse's API returns it.
#[derive(Deserialize)]
struct OwnProjects {
    data: Vec<OwnProject>,
}

#[derive(Deserialize)]
struct OwnProject {
    id: String,
    name: String,
}

impl Administration {
    /// The id of the project: with a server that of the key, which needs no permission beyond it.
    pub(crate) async fn own_project(&self, wanted: Option<&str>) -> anyhow::Result<String> {
        let DataTarget::Server(server) = &self.0 else {
            return Ok(self.project(wanted).await?.id);
        };
        let own: OwnProjects = server.get(&["public", "projects"]).await?;
        let project = own.data.into_iter().next().context("the key has no project")?;
        match wanted {
            Some(wanted) if wanted != project.name && wanted != project.id => {
                bail!("project {wanted}: the key belongs to project {}", project.name)
            }
            _ => Ok(project.id),
        }
    }

    /// Whether a dataset exists.
    pub(crate) async fn has_dataset(&self, project: &str, name: &str) -> anyhow::Result<bool> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(folder.catalog.dataset(project, name.to_owned()).await?.is_some())
            }
            DataTarget::Server(server) => dataset_on(server, name).await,
        }
    }

    /// What a gate will be able to see.
    pub(crate) async fn plan_gate(
        &self,
        project: &str,
        request: GateRequest,
    ) -> anyhow::Result<GatePlanView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.plan(context(folder, &project)).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.post(&["v1", "projects", project, "gates", "plan"], &request).await?)
            }
        }
    }

    /// Answers of earlier runs that the run's evaluator has not judged.
    pub(crate) async fn answers_to_judge(
        &self,
        project: &str,
        request: GateRequest,
    ) -> anyhow::Result<StoredAnswers> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.answers(context(folder, &project)).await?)
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "gates", "answers"];
                let view: StoredAnswersView = server.post(&path, &request).await?;
                Ok(view.into())
            }
        }
    }

    /// Decides on a run.
    pub(crate) async fn decide_gate(
        &self,
        project: &str,
        request: GateRequest,
    ) -> anyhow::Result<GateView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.decide(context(folder, &project)).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.post(&["v1", "projects", project, "gates"], &request).await?)
            }
        }
    }
}

fn context<'a>(store: &'a Store, project: &'a ProjectId) -> GateContext<'a> {
    GateContext { store, catalog: &store.catalog, project, server: "", now: Clock::System.now() }
}

async fn dataset_on(server: &RatchetClient, name: &str) -> anyhow::Result<bool> {
    let found: Result<serde_json::Value, _> = server.get(&["public", "v2", "datasets", name]).await;
    match found {
        Ok(_) => Ok(true),
        Err(RatchetError::Refused { status: 404, .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
