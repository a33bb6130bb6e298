//! Where scoring reads, writes and keeps its journal.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{ClientError, ServerCredentials};
use ratchet_remote::ratchet::RatchetClient;
use ratchet_store::catalog::Catalog;
use ratchet_store::project::{ProjectId, ProjectIdError};
use ratchet_store::{Store, StoreError, StoreResult, private_files};
use uuid::Uuid;

use super::live_run::{LiveRun, lock_file};
use crate::score::journal::Journal;
use crate::score::judge_factory::JudgeFactory;
use crate::score::rubrics::{Rubrics, RubricsError};
use crate::sink::{LocalSink, Sink};
use crate::source::Source;
use crate::weekly_report::ReportStore;

/// Names the secret from which the markers around evidence are derived.
pub const SEED: &str = "marks around evidence";

/// The length of a secret in a state folder: two UUIDs.
const SECRET_LENGTH: usize = 72;

/// A target, with what scoring needs beside it.
#[derive(Debug)]
pub struct ScoringTarget {
    pub source: Source,
    pub sink: Sink,
    /// The journal of model calls, verdicts and costs.
    pub journal: Journal,
    /// The id of this run.
    pub run: String,
    outbound: OutboundPolicy,
    supervision: Supervision,
    location: JournalLocation,
    _alive: Option<LiveRun>,
}

/// Location of the scoring journal.
#[derive(Debug)]
pub enum JournalLocation {
    /// A data folder and its path.
    Folder(Box<Store>, PathBuf),
    /// A folder for the state of work on servers, where there is no data folder.
    State(PathBuf),
}

/// Settings of scoring on a target.
#[derive(Debug)]
pub struct ScoringOptions {
    /// An id that was never used before.
    pub run: String,
    pub outbound: OutboundPolicy,
    /// Who ends the `claude` program with this process.
    pub supervision: Supervision,
    pub now: Timestamp,
}

/// Why a target cannot be scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoringTargetError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Project(#[from] ProjectIdError),
    #[error("cannot {what} {}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is damaged; delete it", .0.display())]
    Damaged(PathBuf),
}

impl ScoringTarget {
    /// Scores a project of a data folder.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn local(
        (store, data): (Store, PathBuf),
        project: ProjectId,
        options: ScoringOptions,
    ) -> Result<Self, ScoringTargetError> {
        let (telemetry, catalog) = (store.telemetry.clone(), store.catalog.clone());
        let journal = Journal { catalog: catalog.clone(), project: project.clone() };
        // The lock of the folder is ours: no other run is alive.
        journal.mark_lost(&|_| false, options.now).await?;
        let source = Source::Local(telemetry.clone(), project.clone());
        let sink = Sink::Local(LocalSink { telemetry, catalog, project });
        let location = JournalLocation::Folder(Box::new(store), data);
        let ScoringOptions { run, outbound, supervision, .. } = options;
        Ok(Self { source, sink, journal, run, outbound, supervision, location, _alive: None })
    }

    /// Scores the project that the key of a server opens.
    ///
    /// # Errors
    /// Fails on an invalid URL, and if the journal cannot be opened.
    pub async fn remote(
        server: &RatchetClient,
        location: JournalLocation,
        options: ScoringOptions,
    ) -> Result<Self, ScoringTargetError> {
        let client = server.langfuse()?;
        let (source, sink) = (Source::Remote(client.clone()), Sink::Remote(client));
        let ScoringOptions { run, outbound, supervision, now } = options;
        let (catalog, alive) = match &location {
            JournalLocation::Folder(store, _) => (store.catalog.clone(), None),
            JournalLocation::State(state) => {
                private_files::create_dir_all(state).map_err(failed("create", state))?;
                let alive = LiveRun::begin(state, &run);
                let alive = alive.map_err(failed("lock", &lock_file(state, &run)))?;
                (Catalog::apart(&state.join("scoring.db"))?, Some(alive))
            }
        };
        let ServerCredentials { url, public_key, .. } = server.access();
        let journal = Journal::of_server(catalog, url, public_key)?;
        let is_alive = |run: &str| match &location {
            // The lock of the folder is ours.
            JournalLocation::Folder(..) => false,
            JournalLocation::State(state) => LiveRun::is_alive(state, run),
        };
        journal.mark_lost(&is_alive, now).await?;
        Ok(Self { source, sink, journal, run, outbound, supervision, location, _alive: alive })
    }

    /// Closes the data folder, if there is one.
    ///
    /// # Errors
    /// As [`Store::close`].
    pub async fn close(self) -> StoreResult<()> {
        match self.location {
            JournalLocation::Folder(store, _) => store.close().await,
            JournalLocation::State(_) => Ok(()),
        }
    }

    /// The store, if there is a data folder.
    pub fn store(&self) -> Option<&Store> {
        match &self.location {
            JournalLocation::Folder(store, _) => Some(store),
            JournalLocation::State(_) => None,
        }
    }

    /// The path of the data folder, if there is one.
    pub fn data(&self) -> Option<&Path> {
        match &self.location {
            JournalLocation::Folder(_, data) => Some(data),
            JournalLocation::State(_) => None,
        }
    }

    /// Where URLs that users enter may lead.
    pub const fn outbound(&self) -> &OutboundPolicy {
        &self.outbound
    }

    /// Who ends the `claude` program with this process.
    pub const fn supervision(&self) -> &Supervision {
        &self.supervision
    }

    /// Returns where reports are stored: on the server, if it is a Ratchet; otherwise with the
    /// journal.
    ///
    /// # Errors
    /// Fails if the server cannot be reached.
    pub async fn reports(&self) -> Result<ReportStore<'_>, ClientError> {
        let Journal { catalog, project } = &self.journal;
        Ok(match &self.source {
            Source::Remote(server) if server.report_weeks().await?.is_some() => {
                ReportStore::Server(server)
            }
            Source::Remote(_) | Source::Local(..) => ReportStore::Catalog { catalog, project },
        })
    }

    /// Returns the id and the name of the project, also of one on a server; `None` where they cannot
    /// be found out.
    pub async fn project(&self) -> Option<(String, String)> {
        match &self.source {
            Source::Remote(server) => {
                let project = server.project().await.ok()?;
                Some((project.id, project.name))
            }
            Source::Local(_, id) => {
                let projects = self.store()?.catalog.projects().await.ok()?;
                let known = projects.into_iter().find(|known| known.id == *id)?;
                Some((known.id.to_string(), known.name))
            }
        }
    }

    /// Returns the rubric of that name, or in that file.
    ///
    /// # Errors
    /// As [`Rubrics::find`].
    pub fn rubric(&self, name_or_file: &str) -> Result<Rubric, RubricsError> {
        let rubrics = match self.data() {
            Some(data) => Rubrics::open(data)?,
            None => Rubrics::shipped(),
        };
        Ok(rubrics.find(name_or_file)?.rubric)
    }

    /// Creates judges for this target. `seed` is [`Self::seed`].
    pub fn judge_factory<'a>(&'a self, seed: &'a str) -> JudgeFactory<'a> {
        let (store, data) = (self.store(), self.data());
        JudgeFactory {
            store,
            project: &self.journal.project,
            data,
            models: self.models(),
            seed,
            outbound: &self.outbound,
            supervision: &self.supervision,
        }
    }

    /// Returns the folder that has what was fitted to the labels of projects.
    pub fn models(&self) -> &Path {
        match &self.location {
            JournalLocation::Folder(_, folder) | JournalLocation::State(folder) => folder,
        }
    }

    /// Returns a secret that stays the same, from which the markers around evidence are derived:
    /// whose work is judged cannot guess them.
    ///
    /// # Errors
    /// Fails if the secret cannot be read or stored.
    pub fn seed(&self) -> Result<String, ScoringTargetError> {
        match &self.location {
            JournalLocation::Folder(store, _) => Ok(store.secrets.sign(SEED)?),
            JournalLocation::State(state) => seed_in(state),
        }
    }
}

/// The secret in a state folder, created when it is first needed.
fn seed_in(state: &Path) -> Result<String, ScoringTargetError> {
    let file = state.join("judge.seed");
    let failed = failed("store a secret in", &file);
    let Ok(mut new) = private_files::create_new(&file) else {
        let secret = std::fs::read_to_string(&file).map_err(failed)?;
        let is_whole = secret.len() == SECRET_LENGTH;
        return is_whole.then_some(secret).ok_or(ScoringTargetError::Damaged(file));
    };
    let secret = Uuid::new_v4().to_string() + &Uuid::new_v4().to_string();
    new.write_all(secret.as_bytes()).map_err(failed)?;
    Ok(secret)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ScoringTargetError {
    let path = path.to_owned();
    move |source| ScoringTargetError::File { what, path, source }
}
