//! The backlog of proposals.

use ratchet_core::improve::value::ProposalValue;
use ratchet_server::api::proposals::{
    self, BacklogContext, ProposalActionRequest, ProposalView, ProposalsRequest, ProposalsView,
};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::improve::backlog;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// Proposals, highest priority first.
    pub(crate) async fn proposals(
        &self,
        project: &str,
        request: ProposalsRequest,
    ) -> anyhow::Result<ProposalsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(proposals::listed(context(folder, &project), request).await?)
            }
            DataTarget::Server(server) => {
                let numbers = [("page", request.page), ("limit", request.limit)]
                    .map(|(name, number)| (name, number.map(|number| number.to_string())));
                let words = [
                    ("agent", request.agent),
                    ("state", request.state),
                    ("component", request.component),
                    ("source", request.source),
                ];
                let given = words.into_iter().chain(numbers);
                let query: Vec<(&str, String)> =
                    given.filter_map(|(name, value)| Some((name, value?))).collect();
                Ok(server.get_with(&["v1", "projects", project, "proposals"], &query).await?)
            }
        }
    }

    /// A proposal with what became of it.
    pub(crate) async fn proposal(&self, project: &str, id: &str) -> anyhow::Result<ProposalView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(proposals::shown(context(folder, &project), id).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "proposals", id]).await?)
            }
        }
    }

    /// Accepts, rejects or reopens a proposal, opens its experiment, or notes that it is done.
    pub(crate) async fn act_on_proposal(
        &self,
        (project, id): (&str, &str),
        request: ProposalActionRequest,
    ) -> anyhow::Result<ProposalView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.act(context(folder, &project), id).await?)
            }
            DataTarget::Server(server) => Ok(server
                .post(&["v1", "projects", project, "proposals", id, "actions"], &request)
                .await?),
        }
    }

    /// What proposals were worth.
    pub(crate) async fn proposal_value(&self, project: &str) -> anyhow::Result<ProposalValue> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(backlog::value(&folder.catalog, &project).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "proposal-value"]).await?)
            }
        }
    }
}

fn context<'a>(folder: &'a Store, project: &'a ProjectId) -> BacklogContext<'a> {
    let now = Clock::System.now();
    BacklogContext { catalog: &folder.catalog, project, server: "", now }
}
