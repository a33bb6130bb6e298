//! Weekly review metrics of a project.

use ratchet_core::review::split_proposal::SplitProposal;
use ratchet_core::review::weekly::{MonthAccuracy, WeeklyMetrics};
use ratchet_server::api::agents::{AgentRequest, SplitChange};
use ratchet_server::api::rebalancing::RebalanceRequest;
use ratchet_server::api::review_metrics::{MonthsRequest, MonthsView, ReviewMetricsRequest};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::review::rebalancing;
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// The metrics of a week.
    pub(crate) async fn week_metrics(
        &self,
        project: &str,
        request: ReviewMetricsRequest,
    ) -> anyhow::Result<WeeklyMetrics> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.read(&ReviewSite::local(folder, &project), Clock::System.now()).await?)
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "metrics", "week"];
                Ok(server.get_with(&path, &request.pairs()).await?)
            }
        }
    }

    /// Agent and judge accuracy by month, oldest first.
    pub(crate) async fn month_metrics(
        &self,
        project: &str,
        request: MonthsRequest,
    ) -> anyhow::Result<Vec<MonthAccuracy>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.read(&ReviewSite::local(folder, &project)).await?)
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "metrics", "months"];
                Ok(server.get_with::<MonthsView>(&path, &request.pairs()).await?.months)
            }
        }
    }

    /// What the reviews of the last quarter propose for the split of the next samples.
    pub(crate) async fn split_proposal(
        &self,
        project: &str,
        request: RebalanceRequest,
    ) -> anyhow::Result<SplitProposal> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let site = ReviewSite::local(folder, &ProjectId::parse(project)?);
                Ok(request.read(&site, Clock::System.now()).await?)
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "metrics", "rebalance"];
                Ok(server.get_with(&path, &request.pairs()).await?)
            }
        }
    }

    /// Accepts a proposed split.
    pub(crate) async fn accept_split(
        &self,
        project: &str,
        proposal: &SplitProposal,
    ) -> anyhow::Result<()> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let site = ReviewSite::local(folder, &ProjectId::parse(project)?);
                let accept = (&site, &folder.catalog);
                rebalancing::accept(accept, proposal, Clock::System.now()).await?;
            }
            DataTarget::Server(_) => {
                let (agent, split) = rebalancing::acceptable(proposal)?;
                let flagged_share = SplitChange::FlaggedShare(split.flagged_share);
                let request = AgentRequest { flagged_share, ..AgentRequest::default() };
                self.save_agent(project, agent, request).await?;
            }
        }
        Ok(())
    }
}
