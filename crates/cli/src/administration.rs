//! Administration of a data folder or a server. Both answer with the views of the server's API, so
//! that `--json` looks the same either way.

mod users;
/// What a project has settled.
mod project_settings;
mod schedules;
mod review_metrics;
mod evaluators;
mod gates;
mod promotions;
mod ab_tests;
mod proposals;
mod jobs;
mod agents;
/// A backup that comes as a stream.
mod unpack;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use ratchet_server::api::compact::CompactView;
use ratchet_server::api::keys::{KeyRequest, KeyView, NewKeyView, PermissionsRequest};
use ratchet_server::api::projects::{ProjectEntry, ProjectRequest, RetentionRequest};
use ratchet_server::api::status::ConfirmedClockView;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::record::clock;
use ratchet_store::backup::{BackupReport, BackupSecrets};
use ratchet_store::project::ProjectId;

pub(crate) use evaluators::Retrospect;

/// What owners do to a target.
#[derive(Debug)]
pub(crate) struct Administration(pub(crate) DataTarget);

impl Administration {
    /// All projects, oldest first.
    pub(crate) async fn projects(&self) -> anyhow::Result<Vec<ProjectEntry>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let projects = folder.catalog.projects().await?;
                Ok(projects.into_iter().map(ProjectEntry::from).collect())
            }
            DataTarget::Server(server) => Ok(server.get(&["v1", "projects"]).await?),
        }
    }

    /// The project of that name or id, or the only one.
    pub(crate) async fn project(&self, wanted: Option<&str>) -> anyhow::Result<ProjectEntry> {
        let projects = self.projects().await?;
        let names: Vec<&str> = projects.iter().map(|project| project.name.as_str()).collect();
        let names = names.join(", ");
        match (wanted, projects.as_slice()) {
            (_, []) => bail!("no project yet; create one with `ratchet projects create`"),
            (None, [only]) => Ok(only.clone()),
            (None, _) => bail!("there are several projects; choose one with --project: {names}"),
            (Some(wanted), _) => {
                let is_wanted =
                    |project: &&ProjectEntry| project.name == wanted || project.id == wanted;
                let found = projects.iter().find(is_wanted).cloned();
                found.with_context(|| format!("project {wanted} not found; available: {names}"))
            }
        }
    }

    pub(crate) async fn create_project(
        &self,
        request: ProjectRequest,
    ) -> anyhow::Result<ProjectEntry> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let made = folder.catalog.create_project(request.check()?, Clock::System.now());
                Ok(made.await?.into())
            }
            DataTarget::Server(server) => Ok(server.post(&["v1", "projects"], &request).await?),
        }
    }

    /// Sets how long a project keeps telemetry.
    pub(crate) async fn set_retention(
        &self,
        project: &str,
        request: RetentionRequest,
    ) -> anyhow::Result<ProjectEntry> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder
                    .catalog
                    .set_retention(id, request.check()?, Clock::System.now())
                    .await?
                    .into())
            }
            DataTarget::Server(server) => {
                Ok(server.put(&["v1", "projects", project, "retention"], &request).await?)
            }
        }
    }

    /// The keys of a project, oldest first.
    pub(crate) async fn keys(&self, project: &str) -> anyhow::Result<Vec<KeyView>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let keys = folder.catalog.keys(ProjectId::parse(project)?).await?;
                Ok(keys.into_iter().map(KeyView::from).collect())
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "keys"]).await?)
            }
        }
    }

    pub(crate) async fn create_key(
        &self,
        project: &str,
        request: KeyRequest,
    ) -> anyhow::Result<NewKeyView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let new = request.check(ProjectId::parse(project)?)?;
                Ok(folder.catalog.create_key(new, Clock::System.now()).await?.into())
            }
            DataTarget::Server(server) => {
                Ok(server.post(&["v1", "projects", project, "keys"], &request).await?)
            }
        }
    }

    /// Sets what a key may do beyond its project.
    pub(crate) async fn permit_key(
        &self,
        project: &str,
        key: &str,
        request: PermissionsRequest,
    ) -> anyhow::Result<KeyView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (id, key) = (ProjectId::parse(project)?, key.to_owned());
                let (permissions, now) = (request.check()?, Clock::System.now());
                Ok(folder.catalog.set_permissions(id, key, permissions, now).await?.into())
            }
            DataTarget::Server(server) => Ok(server
                .put(&["v1", "projects", project, "keys", key, "permissions"], &request)
                .await?),
        }
    }

    /// Revokes a key, named by its id or its public half.
    pub(crate) async fn revoke_key(&self, project: &str, key: &str) -> anyhow::Result<KeyView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder.catalog.revoke_key(id, key.to_owned(), Clock::System.now()).await?.into())
            }
            DataTarget::Server(server) => {
                Ok(server.delete(&["v1", "projects", project, "keys", key]).await?)
            }
        }
    }

    /// Vouches for the clock, so that what is too old by it may go.
    pub(crate) async fn confirm_clock(&self) -> anyhow::Result<ConfirmedClockView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let now = Clock::System.now();
                clock::confirm(folder, now).await?;
                Ok(ConfirmedClockView { now: now.to_string() })
            }
            DataTarget::Server(server) => Ok(server.post(&["v1", "confirm-clock"], &()).await?),
        }
    }

    /// Gives freed disk space back.
    pub(crate) async fn compact(&self) -> anyhow::Result<CompactView> {
        match &self.0 {
            DataTarget::Folder(folder) => Ok(folder.compact().await?.into()),
            DataTarget::Server(server) => Ok(server.post(&["v1", "compact"], &()).await?),
        }
    }

    /// Copies everything into a new folder, each database as of one moment.
    pub(crate) async fn backup(
        &self,
        to: &Path,
        secrets: BackupSecrets,
    ) -> anyhow::Result<BackupReport> {
        let is_free = !to.exists() || std::fs::read_dir(to)?.next().is_none();
        ensure!(is_free, "{} is not empty; back up into a new folder", to.display());
        match &self.0 {
            DataTarget::Folder(folder) => {
                Ok(folder.backup(PathBuf::from(to), secrets, Clock::System.now()).await?)
            }
            DataTarget::Server(server) => {
                unpack::receive(server.stream(&["v1", "backup"]).await?, to).await
            }
        }
    }
}
