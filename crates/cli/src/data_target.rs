//! Where scoring reads, writes and keeps its journal: a data folder, or a server and a journal of
//! our own.

mod live_runs;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use ratchet_remote::langfuse::client::backoff_clock::SystemBackoffClock;
use ratchet_remote::langfuse::client::{Access, ClientLimits, LangfuseClient};
use ratchet_server::clock::Clock;
use ratchet_stages::score::journal::Journal;
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_stages::weekly_report::ReportStore;
use ratchet_store::catalog::{Actor, Catalog};
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, private_files};
use uuid::Uuid;

use crate::config::{Config, ConfigArgs};
use crate::folder;
use crate::judge_factory::JudgeFactory;
use crate::target::Target;
use live_runs::Alive;

/// Says where sessions are.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkplaceArgs {
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

/// What the secret is called that marks around evidence are made of.
pub(crate) const SEED: &str = "marks around evidence";

/// The source that is the data folder.
const LOCAL: &str = "local";

#[derive(Debug)]
pub(crate) struct DataTarget {
    pub(crate) source: Source,
    pub(crate) sink: Sink,
    /// Where it is written down what was asked, said and paid.
    pub(crate) journal: Journal,
    /// Names what is being done.
    pub(crate) run: String,
    /// Where the state of work on servers is kept, where there is no data folder.
    state: Option<PathBuf>,
    data: PathBuf,
    folder: Option<Store>,
    outbound: OutboundPolicy,
    /// Tells other processes that this one lives.
    _alive: Option<Alive>,
}

impl DataTarget {
    /// Opens a workplace, works there, and closes it whatever came of it.
    pub(crate) async fn with<T>(
        args: &WorkplaceArgs,
        command: &str,
        work: impl AsyncFnOnce(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let mut workplace = Self::open(args, command).await?;
        let done = work(&workplace).await;
        let folder = workplace.folder.take();
        drop(workplace);
        let closed = match folder {
            Some(folder) => folder.close().await.context("cannot close the data folder"),
            None => Ok(()),
        };
        let value = done?;
        closed?;
        Ok(value)
    }

    async fn open(args: &WorkplaceArgs, command: &str) -> anyhow::Result<Self> {
        let config = Config::load(&args.config, Vec::new())?;
        let run = Uuid::new_v4().to_string();
        let url = args.server.as_deref().or(Some(&args.source)).filter(|source| *source != LOCAL);
        let Some(url) = url else {
            let folder = open_folder(&config, command)?;
            return Self::local(folder, args.project.as_deref(), config, run).await;
        };
        if args.project.is_some() {
            bail!("with a server the key determines the project");
        }
        let access = access(url, &config)?;
        let (at, key) = (access.url.clone(), access.public_key.clone());
        let client =
            LangfuseClient::new(access, ClientLimits::default(), Box::new(SystemBackoffClock))?;
        let (source, sink) = (Source::Remote(client.clone()), Sink::Remote(client));
        if args.config.data.is_some() {
            let folder = open_folder(&config, command)?;
            let journal = Journal::of_server(folder.catalog.clone(), &at, &key)?;
            journal.mark_lost(&|_| false, Clock::System.now()).await?;
            let folder = Some(folder);
            let (data, state, outbound) = (config.data, None, config.outbound);
            let _alive = None;
            return Ok(Self { source, sink, journal, run, state, data, folder, outbound, _alive });
        }
        let state = state_folder()?;
        private_files::create_dir_all(&state)
            .with_context(|| format!("cannot create {}", state.display()))?;
        let alive = Alive::begin(&state, &run)?;
        let journal = Journal::of_server(Catalog::apart(&state.join("scoring.db"))?, &at, &key)?;
        journal.mark_lost(&|run| Alive::is(&state, run), Clock::System.now()).await?;
        let (data, state, folder, _alive) = (config.data, Some(state), None, Some(alive));
        let outbound = config.outbound;
        Ok(Self { source, sink, journal, run, state, data, folder, outbound, _alive })
    }

    async fn local(
        folder: Store,
        project: Option<&str>,
        config: Config,
        run: String,
    ) -> anyhow::Result<Self> {
        let found = Target::Folder(folder.clone()).project(project).await?;
        let project = ProjectId::parse(&found.id)?;
        let (telemetry, catalog) = (folder.telemetry.clone(), folder.catalog.clone());
        let journal = Journal { catalog: catalog.clone(), project: project.clone() };
        // Whoever had the folder before is gone: we have its lock.
        journal.mark_lost(&|_| false, Clock::System.now()).await?;
        let source = Source::Local(telemetry.clone(), project.clone());
        let sink = Sink::Local(LocalSink { telemetry, catalog, project });
        let (state, folder, _alive) = (None, Some(folder), None);
        let (data, outbound) = (config.data, config.outbound);
        Ok(Self { source, sink, journal, run, state, data, folder, outbound, _alive })
    }

    /// The data folder, where there is one.
    pub(crate) fn folder(&self) -> Option<&Store> {
        self.folder.as_ref()
    }

    /// The path of the data folder, where there is one.
    pub(crate) fn data(&self) -> Option<&Path> {
        self.folder.as_ref().map(|_| self.data.as_path())
    }

    /// Where reports are kept: on the server, if that is a Ratchet; otherwise beside the journal.
    pub(crate) async fn archive(&self) -> anyhow::Result<ReportStore<'_>> {
        let Journal { catalog, project } = &self.journal;
        Ok(match &self.source {
            Source::Remote(server) if server.report_weeks().await?.is_some() => {
                ReportStore::Server(server)
            }
            Source::Remote(_) | Source::Local(..) => ReportStore::Catalog { catalog, project },
        })
    }

    /// Where judges are found for what is done here. `seed` is [`Self::seed`].
    pub(crate) fn courthouse<'a>(&'a self, seed: &'a str) -> JudgeFactory<'a> {
        let (folder, data) = (self.folder(), self.data());
        let outbound = &self.outbound;
        JudgeFactory { folder, project: &self.journal.project, data, seed, outbound }
    }

    pub(crate) fn outbound(&self) -> &OutboundPolicy {
        &self.outbound
    }

    /// A secret that is the same each time, from which marks follow that nobody can guess whose
    /// work is judged.
    pub(crate) fn seed(&self) -> anyhow::Result<String> {
        if let Some(folder) = &self.folder {
            return Ok(folder.secrets.sign(SEED)?);
        }
        let state = self.state.as_ref().context("no folder to store a secret")?;
        seed_in(state)
    }
}

fn open_folder(config: &Config, command: &str) -> anyhow::Result<Store> {
    folder::must_exist(&config.data)?;
    let mut folder = folder::open(config, command)?;
    folder.catalog = folder.catalog.by(Actor::CommandLine);
    Ok(folder)
}

fn access(url: &str, config: &Config) -> anyhow::Result<Access> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let ours = config.credentials.public_key.clone().zip(config.credentials.secret_key.clone());
    let theirs = || {
        let secret = set("LANGFUSE_SECRET_KEY").map(Secret::new);
        set("LANGFUSE_PUBLIC_KEY").zip(secret)
    };
    let (public_key, secret_key) = ours.or_else(theirs).context(
        "a server needs a key in RATCHET_PUBLIC_KEY and RATCHET_SECRET_KEY, \
         or in LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY",
    )?;
    Ok(Access { url: url.to_owned(), public_key, secret_key })
}

/// The secret in the state folder, made when it is first needed.
fn seed_in(state: &Path) -> anyhow::Result<String> {
    let file = state.join("judge.seed");
    let failed = || format!("cannot store a secret in {}", file.display());
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(&file) {
        Ok(mut new) => {
            let secret = Uuid::new_v4().to_string() + &Uuid::new_v4().to_string();
            new.write_all(secret.as_bytes()).with_context(failed)?;
            Ok(secret)
        }
        Err(_) => {
            let secret = std::fs::read_to_string(&file).with_context(failed)?;
            anyhow::ensure!(secret.len() == 72, "{} is damaged; delete it", file.display());
            Ok(secret)
        }
    }
}

/// Where programs keep what they must remember: `$XDG_STATE_HOME`, else `~/.local/state`.
fn state_folder() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = state.or_else(home);
    let state = state.context("HOME is not set; use --data to set where the journal is stored")?;
    Ok(state.join("ratchet"))
}
