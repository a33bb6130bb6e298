//! Where a command's data is: a folder that it opens itself, or a server that it asks.
//!
//! Both answer with the server's own views, so that `--json` looks the same either way.

mod remote;
mod users;
/// What a project has settled.
mod project_settings;
mod schedules;
/// A backup that comes as a stream.
mod unpack;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use ratchet_server::api::compact::CompactView;
use ratchet_server::api::keys::{KeyRequest, KeyView, NewKeyView, PermissionsRequest};
use ratchet_server::api::projects::{ProjectEntry, ProjectRequest, RetentionRequest};
use ratchet_server::api::status::ConfirmedClockView;
use ratchet_server::clock::Clock;
use ratchet_stages::record::clock;
use ratchet_store::Store;
use ratchet_store::backup::{BackupReport, BackupSecrets};
use ratchet_store::catalog::Actor;
use ratchet_store::project::ProjectId;

use crate::config::{Config, ConfigArgs};
use crate::folder;
pub(crate) use remote::Remote;

/// Says where the data is.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// URL of a server, with an owner's key in `RATCHET_PUBLIC_KEY` and `RATCHET_SECRET_KEY`
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    pub(crate) server: Option<String>,
}

/// Where the data is.
#[derive(Debug)]
pub(crate) enum Target {
    /// A data folder, locked until closed.
    Folder(Store),
    Server(Remote),
}

impl Target {
    /// Opens a target, works with it, and closes it whatever came of it.
    ///
    /// `command` is what others are told while this holds the folder.
    pub(crate) async fn with<T>(
        args: &TargetArgs,
        command: &str,
        work: impl AsyncFnOnce(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let target = Self::open(args, command)?;
        let done = work(&target).await;
        let closed = target.close().await;
        let value = done?;
        closed?;
        Ok(value)
    }

    fn open(args: &TargetArgs, command: &str) -> anyhow::Result<Self> {
        let config = Config::load(&args.config, Vec::new())?;
        if let Some(url) = &args.server {
            return Remote::new(url, &config.credentials).map(Self::Server);
        }
        folder::must_exist(&config.data)?;
        let mut folder = folder::open(&config, command)?;
        folder.catalog = folder.catalog.by(Actor::CommandLine);
        Ok(Self::Folder(folder))
    }

    async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Folder(folder) => folder.close().await.context("cannot close the data folder"),
            Self::Server(_) => Ok(()),
        }
    }

    /// All projects, oldest first.
    pub(crate) async fn projects(&self) -> anyhow::Result<Vec<ProjectEntry>> {
        match self {
            Self::Folder(folder) => {
                let projects = folder.catalog.projects().await?;
                Ok(projects.into_iter().map(ProjectEntry::from).collect())
            }
            Self::Server(server) => server.get("/api/v1/projects").await,
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
        match self {
            Self::Folder(folder) => {
                let made = folder.catalog.create_project(request.check()?, Clock::System.now());
                Ok(made.await?.into())
            }
            Self::Server(server) => server.post("/api/v1/projects", &request).await,
        }
    }

    /// Sets how long a project keeps telemetry.
    pub(crate) async fn set_retention(
        &self,
        project: &str,
        request: RetentionRequest,
    ) -> anyhow::Result<ProjectEntry> {
        match self {
            Self::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder
                    .catalog
                    .set_retention(id, request.check()?, Clock::System.now())
                    .await?
                    .into())
            }
            Self::Server(server) => {
                server.put(&format!("/api/v1/projects/{project}/retention"), &request).await
            }
        }
    }

    /// The keys of a project, oldest first.
    pub(crate) async fn keys(&self, project: &str) -> anyhow::Result<Vec<KeyView>> {
        match self {
            Self::Folder(folder) => {
                let keys = folder.catalog.keys(ProjectId::parse(project)?).await?;
                Ok(keys.into_iter().map(KeyView::from).collect())
            }
            Self::Server(server) => server.get(&format!("/api/v1/projects/{project}/keys")).await,
        }
    }

    pub(crate) async fn create_key(
        &self,
        project: &str,
        request: KeyRequest,
    ) -> anyhow::Result<NewKeyView> {
        match self {
            Self::Folder(folder) => {
                let new = request.check(ProjectId::parse(project)?)?;
                Ok(folder.catalog.create_key(new, Clock::System.now()).await?.into())
            }
            Self::Server(server) => {
                server.post(&format!("/api/v1/projects/{project}/keys"), &request).await
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
        match self {
            Self::Folder(folder) => {
                let (id, key) = (ProjectId::parse(project)?, key.to_owned());
                let (permissions, now) = (request.check()?, Clock::System.now());
                Ok(folder.catalog.set_permissions(id, key, permissions, now).await?.into())
            }
            Self::Server(server) => {
                server.put_to(&["projects", project, "keys", key, "permissions"], &request).await
            }
        }
    }

    /// Revokes a key, named by its id or its public half.
    pub(crate) async fn revoke_key(&self, project: &str, key: &str) -> anyhow::Result<KeyView> {
        match self {
            Self::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder.catalog.revoke_key(id, key.to_owned(), Clock::System.now()).await?.into())
            }
            Self::Server(server) => server.delete(&["projects", project, "keys", key]).await,
        }
    }

    /// Vouches for the clock, so that what is too old by it may go.
    pub(crate) async fn confirm_clock(&self) -> anyhow::Result<ConfirmedClockView> {
        match self {
            Self::Folder(folder) => {
                let now = Clock::System.now();
                clock::confirm(folder, now).await?;
                Ok(ConfirmedClockView { now: now.to_string() })
            }
            Self::Server(server) => server.post("/api/v1/confirm-clock", &()).await,
        }
    }

    /// Gives freed disk space back.
    pub(crate) async fn compact(&self) -> anyhow::Result<CompactView> {
        match self {
            Self::Folder(folder) => Ok(folder.compact().await?.into()),
            Self::Server(server) => server.post("/api/v1/compact", &()).await,
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
        match self {
            Self::Folder(folder) => {
                Ok(folder.backup(PathBuf::from(to), secrets, Clock::System.now()).await?)
            }
            Self::Server(server) => {
                unpack::receive(server.stream("/api/v1/backup").await?, to).await
            }
        }
    }
}
