//! What runs by itself in a project.

use ratchet_core::calendar::Zone;
use ratchet_server::api::schedules::{
    RUNS, RemovedSchedule, ScheduleRequest, ScheduleRunView, ScheduleState, ScheduleSwitch,
    ScheduleView,
};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// The schedules of a project, by name.
    pub(crate) async fn schedules(&self, project: &str) -> anyhow::Result<Vec<ScheduleView>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (weekly(folder, project).await?, Clock::System.now());
                let schedules = folder.catalog.schedules(project).await?;
                Ok(schedules.into_iter().map(|known| ScheduleView::new(known, now)).collect())
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "schedules"]).await?)
            }
        }
    }

    /// Makes a schedule, or changes the one of its name.
    pub(crate) async fn save_schedule(
        &self,
        project: &str,
        name: &str,
        request: ScheduleRequest,
    ) -> anyhow::Result<ScheduleView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let new = request.check(name)?;
                let (project, now) = (weekly(folder, project).await?, Clock::System.now());
                let secrets = folder.secrets.clone();
                let made = folder.catalog.save_schedule(project, new, secrets, now).await?;
                Ok(ScheduleView::new(made, now))
            }
            DataTarget::Server(server) => {
                Ok(server.put(&["v1", "projects", project, "schedules", name], &request).await?)
            }
        }
    }

    /// Turns a schedule on, or pauses it.
    pub(crate) async fn switch_schedule(
        &self,
        project: &str,
        name: &str,
        state: ScheduleState,
    ) -> anyhow::Result<ScheduleView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (weekly(folder, project).await?, Clock::System.now());
                let (name, to) = (name.to_owned(), state.switched());
                let switched = folder.catalog.switch_schedule(project, name, to, now).await?;
                Ok(ScheduleView::new(switched, now))
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "schedules", name, "state"];
                Ok(server.put(&path, &ScheduleSwitch { state }).await?)
            }
        }
    }

    /// Removes a schedule and its history.
    pub(crate) async fn remove_schedule(
        &self,
        project: &str,
        name: &str,
    ) -> anyhow::Result<RemovedSchedule> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (weekly(folder, project).await?, Clock::System.now());
                folder.catalog.remove_schedule(project, name.to_owned(), now).await?;
                Ok(RemovedSchedule { removed: name.to_owned() })
            }
            DataTarget::Server(server) => {
                Ok(server.delete(&["v1", "projects", project, "schedules", name]).await?)
            }
        }
    }

    /// The last runs of a schedule, the newest first.
    pub(crate) async fn schedule_runs(
        &self,
        project: &str,
        name: &str,
    ) -> anyhow::Result<Vec<ScheduleRunView>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = weekly(folder, project).await?;
                let runs = folder.catalog.schedule_runs(project, name.to_owned(), RUNS).await?;
                Ok(runs.into_iter().map(Into::into).collect())
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "schedules", name, "runs"]).await?)
            }
        }
    }
}

/// The project, with the weekly run that every project has.
async fn weekly(folder: &Store, project: &str) -> anyhow::Result<ProjectId> {
    let (project, zone) = (ProjectId::parse(project)?, Zone::of_this_machine());
    folder.catalog.ensure_weekly(project.clone(), zone, Clock::System.now()).await?;
    Ok(project)
}
