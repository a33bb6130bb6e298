//! Promotions of agent versions.

use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_server::api::promotions::versions::{
    self, AgentVersionView, AgentVersionsView, ServingRequest, ServingView,
};
use ratchet_server::api::promotions::{
    self, EvidenceRequest, NewPromotionRequest, PromotionActionRequest, PromotionView,
    PromotionsRequest, PromotionsView,
};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::gate::GateContext;
use ratchet_stages::promote::{self, PromoteContext};
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// Promotions, newest first.
    pub(crate) async fn promotions(
        &self,
        project: &str,
        agent: Option<&str>,
    ) -> anyhow::Result<PromotionsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                let agent = agent.map(str::to_owned);
                let request = PromotionsRequest { agent, ..PromotionsRequest::default() };
                Ok(promotions::listed(context(folder, &project), request).await?)
            }
            DataTarget::Server(server) => {
                let query: Vec<(&str, String)> =
                    agent.map(|agent| ("agent", agent.to_owned())).into_iter().collect();
                Ok(server.get_with(&["v1", "projects", project, "promotions"], &query).await?)
            }
        }
    }

    /// A promotion.
    pub(crate) async fn promotion(&self, project: &str, id: &str) -> anyhow::Result<PromotionView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(promotions::shown(context(folder, &project), id).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "promotions", id]).await?)
            }
        }
    }

    /// Creates a promotion.
    pub(crate) async fn create_promotion(
        &self,
        project: &str,
        request: NewPromotionRequest,
    ) -> anyhow::Result<PromotionView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.create(context(folder, &project)).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.post(&["v1", "projects", project, "promotions"], &request).await?)
            }
        }
    }

    /// Attaches evidence.
    pub(crate) async fn give_evidence(
        &self,
        (project, id): (&str, &str),
        request: EvidenceRequest,
    ) -> anyhow::Result<PromotionView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.give(context(folder, &project), id).await?)
            }
            DataTarget::Server(server) => Ok(server
                .post(&["v1", "projects", project, "promotions", id, "evidence"], &request)
                .await?),
        }
    }

    /// Reviews, waives, approves, starts, rolls back or abandons a promotion.
    pub(crate) async fn act_on_promotion(
        &self,
        (project, id): (&str, &str),
        request: PromotionActionRequest,
    ) -> anyhow::Result<PromotionView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.act(context(folder, &project), id).await?)
            }
            DataTarget::Server(server) => Ok(server
                .post(&["v1", "projects", project, "promotions", id, "actions"], &request)
                .await?),
        }
    }

    /// Records a version of an agent.
    pub(crate) async fn save_agent_version(
        &self,
        (project, agent): (&str, &str),
        content: AgentVersion,
    ) -> anyhow::Result<AgentVersionView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                let context = context(folder, &project);
                Ok(promote::save_version(context.gate, agent, content).await?.into())
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "agents", agent, "versions"];
                Ok(server.post(&path, &content).await?)
            }
        }
    }

    /// Records that a version serves in an environment.
    pub(crate) async fn record_serving(
        &self,
        (project, agent): (&str, &str),
        (version, environment): (&str, &str),
    ) -> anyhow::Result<ServingView> {
        let which = (version.to_owned(), environment.to_owned());
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                Ok(folder.catalog.record_serving(project, which, now).await?.into())
            }
            DataTarget::Server(server) => {
                let (version, environment) = which;
                let path = ["v1", "projects", project, "agents", agent, "serving"];
                Ok(server.post(&path, &ServingRequest { version, environment }).await?)
            }
        }
    }

    /// Versions of an agent, and what served where.
    pub(crate) async fn agent_versions(
        &self,
        project: &str,
        agent: &str,
    ) -> anyhow::Result<AgentVersionsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                let context = context(folder, &project);
                Ok(versions::of_agent(context.gate, agent.to_owned()).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "agents", agent, "versions"]).await?)
            }
        }
    }
}

/// A deployment that is started on a folder is run by its next server.
pub(super) fn context<'a>(store: &'a Store, project: &'a ProjectId) -> PromoteContext<'a> {
    let (catalog, now) = (&store.catalog, Clock::System.now());
    let gate = GateContext { store, catalog, project, server: "", now };
    PromoteContext { gate, can_deploy: true }
}
