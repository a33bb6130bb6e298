//! Weekly review metrics of a project.

use ratchet_core::review::weekly::{MonthAccuracy, WeeklyMetrics};
use ratchet_server::api::review_metrics::{MetricsRequest, MonthsView};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::review::weekly_metrics;
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// The metrics of a week.
    pub(crate) async fn week_metrics(
        &self,
        project: &str,
        request: MetricsRequest,
    ) -> anyhow::Result<WeeklyMetrics> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(request.read(folder, &project, Clock::System.now()).await?)
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "metrics", "week"];
                Ok(server.get_with(&path, &request.pairs()).await?)
            }
        }
    }

    /// Agent and judge accuracy by month, oldest first.
    pub(crate) async fn month_metrics(&self, project: &str) -> anyhow::Result<Vec<MonthAccuracy>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = ProjectId::parse(project)?;
                Ok(weekly_metrics::months(folder, &project).await?)
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "metrics", "months"];
                Ok(server.get::<MonthsView>(&path).await?.months)
            }
        }
    }
}
