//! A/B tests of prompts.

use ratchet_server::api::promotions::ab_tests::{
    self, AbActionRequest, AbTestView, AbTestsRequest, AbTestsView, NewAbTestRequest,
    VariantRequest, VariantView,
};
use ratchet_stages::data_target::DataTarget;
use ratchet_store::project::ProjectId;

use super::Administration;
use super::promotions::context;

impl Administration {
    /// The newest A/B tests.
    pub(crate) async fn ab_tests(&self, project: &str) -> anyhow::Result<AbTestsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                let request = AbTestsRequest::default();
                Ok(ab_tests::listed((&folder.catalog, &project), request).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "ab-tests"]).await?)
            }
        }
    }

    /// An A/B test.
    pub(crate) async fn ab_test(&self, project: &str, id: &str) -> anyhow::Result<AbTestView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(folder.catalog.ab_test(project, id.to_owned()).await?.into())
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "ab-tests", id]).await?)
            }
        }
    }

    /// Starts an A/B test.
    pub(crate) async fn start_ab_test(
        &self,
        project: &str,
        request: NewAbTestRequest,
    ) -> anyhow::Result<AbTestView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.start(context(folder, &project)).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.post(&["v1", "projects", project, "ab-tests"], &request).await?)
            }
        }
    }

    /// Looks at an A/B test, stops it, or offers its winner.
    pub(crate) async fn act_on_ab_test(
        &self,
        (project, id): (&str, &str),
        request: AbActionRequest,
    ) -> anyhow::Result<AbTestView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.act(context(folder, &project), id).await?)
            }
            DataTarget::Server(server) => Ok(server
                .post(&["v1", "projects", project, "ab-tests", id, "actions"], &request)
                .await?),
        }
    }

    /// What a user gets of a prompt.
    pub(crate) async fn assignment(
        &self,
        project: &str,
        request: VariantRequest,
    ) -> anyhow::Result<VariantView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.assign((&folder.catalog, &project)).await?)
            }
            DataTarget::Server(server) => {
                let VariantRequest { prompt, unit } = request;
                let query = [("prompt", prompt), ("unit", unit)];
                Ok(server.get_with(&["v1", "projects", project, "ab-assignment"], &query).await?)
            }
        }
    }
}
