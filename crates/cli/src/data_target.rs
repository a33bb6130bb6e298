//! Flags that select the target of a command: a data folder or a server.

use ratchet_stages::score::rubrics::{RubricFileFault, Rubrics};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ratchet_core::secret::Secret;
use ratchet_remote::langfuse::client::ServerCredentials;
use ratchet_remote::ratchet::RatchetClient;
use ratchet_server::api::projects::ProjectEntry;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::{DataTarget, JournalLocation, ScoringOptions, ScoringTarget};
use ratchet_store::Store;
use ratchet_store::catalog::Actor;
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use crate::administration::Administration;
use crate::cmd::supervise;
use crate::config::{Config, ConfigArgs, Credentials};
use crate::folder;
use crate::print::OutputArgs;

/// Flags of commands that work on a data folder or a Ratchet server.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// URL of a server, with an owner's key in `RATCHET_PUBLIC_KEY` and `RATCHET_SECRET_KEY`
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    pub(crate) server: Option<String>,
}

/// Flags of commands that work on one project.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProjectArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Project name or ID; required only if there are several
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl ProjectArgs {
    /// The project that the flags name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.project.as_deref()
    }
}

/// Flags of commands that score or read scores.
#[derive(Args, Clone, Debug)]
pub(crate) struct ScoringArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Source of sessions and target of scores: `local`, or the URL of a Langfuse or Ratchet
    /// server, with keys in `RATCHET_PUBLIC_KEY` and `RATCHET_SECRET_KEY`, else in
    /// `LANGFUSE_PUBLIC_KEY` and `LANGFUSE_SECRET_KEY`
    #[arg(long, value_name = "local|URL", default_value = LOCAL)]
    pub(crate) source: String,
    /// Short for --source URL
    #[arg(long, value_name = "URL", conflicts_with_all = ["data", "source"])]
    pub(crate) server: Option<String>,
    /// Project name or ID in the data folder; required only if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
}

/// The source that is the data folder.
const LOCAL: &str = "local";

/// Opens a target, works on it, and closes it in any case.
///
/// `command` is the holder of the folder's lock, in the error message of other processes.
pub(crate) async fn with<T>(
    args: &TargetArgs,
    command: &str,
    work: impl AsyncFnOnce(&Administration) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let config = Config::load(&args.config, Vec::new())?;
    let target = match &args.server {
        Some(url) => DataTarget::Server(server(url, &config.credentials)?),
        None => DataTarget::Folder(open_folder(&config, command)?),
    };
    let administration = Administration(target);
    let done = work(&administration).await;
    let closed = administration.0.close().await.context("cannot close the data folder");
    let value = done?;
    closed?;
    Ok(value)
}

/// Like [`with`], with the project that the flags name.
pub(crate) async fn with_project<T>(
    args: &ProjectArgs,
    command: &str,
    work: impl AsyncFnOnce(&Administration, &ProjectEntry) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with(&args.target, command, async |target| {
        let project = target.project(args.project.as_deref()).await?;
        // Boxed: the futures of commands nest deeper than the compiler follows.
        Box::pin(work(target, &project)).await
    })
    .await
}

/// Like [`with`], for scoring.
pub(crate) async fn with_scoring<T>(
    args: &ScoringArgs,
    command: &str,
    work: impl AsyncFnOnce(&ScoringTarget) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let target = open_scoring(args, command).await?;
    if let Some(data) = target.data() {
        warn_of_rubric_files(&Rubrics::readable(data).faults);
    }
    let done = work(&target).await;
    let closed = target.close().await.context("cannot close the data folder");
    let value = done?;
    closed?;
    Ok(value)
}

/// Warns on stderr of rubric files that cannot be used.
pub(crate) fn warn_of_rubric_files(faults: &[RubricFileFault]) {
    for fault in faults {
        eprintln!(
            "ratchet: the rubric file {} is not used: {}",
            fault.file,
            fault.problems.join("; ")
        );
    }
}

async fn open_scoring(args: &ScoringArgs, command: &str) -> anyhow::Result<ScoringTarget> {
    let config = Config::load(&args.config, Vec::new())?;
    let (run, now) = (Uuid::new_v4().to_string(), Clock::System.now());
    let (outbound, supervision) = (config.outbound.clone(), supervise::supervision());
    let options = ScoringOptions { run, outbound, supervision, now };
    let url = args.server.as_deref().or(Some(&args.source)).filter(|source| *source != LOCAL);
    let Some(url) = url else {
        let store = open_folder(&config, command)?;
        let target = Administration(DataTarget::Folder(store.clone()));
        let project = ProjectId::parse(&target.project(args.project.as_deref()).await?.id)?;
        return Ok(ScoringTarget::local((store, config.data), project, options).await?);
    };
    if args.project.is_some() {
        bail!("with a server the key determines the project");
    }
    let server = RatchetClient::new(scoring_access(url, &config.credentials)?)?;
    let place = match &args.config.data {
        Some(_) => JournalLocation::Folder(Box::new(open_folder(&config, command)?), config.data),
        None => JournalLocation::State(state_folder()?),
    };
    Ok(ScoringTarget::remote(&server, place, options).await?)
}

/// The client of a server, with the key of the configuration.
pub(crate) fn server(url: &str, credentials: &Credentials) -> anyhow::Result<RatchetClient> {
    let keys = credentials.public_key.clone().zip(credentials.secret_key.clone());
    let (public_key, secret_key) =
        keys.context("--server needs a key in RATCHET_PUBLIC_KEY and RATCHET_SECRET_KEY")?;
    let access = ServerCredentials { url: url.to_owned(), public_key, secret_key };
    Ok(RatchetClient::new(access)?)
}

fn open_folder(config: &Config, command: &str) -> anyhow::Result<Store> {
    folder::must_exist(&config.data)?;
    let mut store = folder::open(config, command)?;
    store.catalog = store.catalog.by(Actor::CommandLine);
    Ok(store)
}

fn scoring_access(url: &str, credentials: &Credentials) -> anyhow::Result<ServerCredentials> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let ours = credentials.public_key.clone().zip(credentials.secret_key.clone());
    let theirs = || {
        let secret = set("LANGFUSE_SECRET_KEY").map(Secret::new);
        set("LANGFUSE_PUBLIC_KEY").zip(secret)
    };
    let (public_key, secret_key) = ours.or_else(theirs).context(
        "a server needs a key in RATCHET_PUBLIC_KEY and RATCHET_SECRET_KEY, \
         or in LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY",
    )?;
    Ok(ServerCredentials { url: url.to_owned(), public_key, secret_key })
}

/// The folder for the state of programs: `$XDG_STATE_HOME`, else `~/.local/state`.
fn state_folder() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = state.or_else(home);
    let state = state.context("HOME is not set; use --data to set where the journal is stored")?;
    Ok(state.join("ratchet"))
}
