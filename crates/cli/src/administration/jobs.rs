//! Jobs of a project's queue, and dead letters.

use ratchet_server::api::jobs::{DiscardedJob, JobView, JobsRequest, JobsView};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_store::catalog::JobKey;
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// A page of jobs, the newest first.
    pub(crate) async fn jobs(
        &self,
        project: &str,
        request: JobsRequest,
    ) -> anyhow::Result<JobsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (query, page) = request.check()?;
                Ok(folder.catalog.jobs(ProjectId::parse(project)?, query, page).await?.into())
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "jobs"];
                Ok(server.get_with(&path, &request.pairs()).await?)
            }
        }
    }

    /// Returns a dead letter to the queue.
    pub(crate) async fn retry_job(&self, project: &str, key: JobKey) -> anyhow::Result<JobView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                Ok(folder.catalog.requeue_dead_job(project, key, now).await?.into())
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "jobs", key.0.as_str(), &key.1, "retry"];
                Ok(server.post(&path, &()).await?)
            }
        }
    }

    /// Deletes a dead letter.
    pub(crate) async fn discard_job(
        &self,
        project: &str,
        key: JobKey,
    ) -> anyhow::Result<DiscardedJob> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                Ok(folder.catalog.discard_job(project, key, now).await?.into())
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "jobs", key.0.as_str(), &key.1];
                Ok(server.delete(&path).await?)
            }
        }
    }
}
