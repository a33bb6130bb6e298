use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_core::record::price::PriceTable;
use ratchet_core::record::redact::KnownSecrets;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::agent_aliases::AgentAliases;
use crate::backup::{BackupOutline, BackupReport, BackupSecrets};
use crate::catalog::Catalog;
use crate::disk_reserve::{DiskReserve, DiskSpace};
use crate::embedded::EmbeddedEngine;
use crate::media::MediaFiles;
use crate::prices::ProjectPrices;
use crate::project::ProjectId;
use crate::secrets::Secrets;
use crate::telemetry::Telemetry;

pub use crate::embedded::CompactReport;

/// An open store. A data folder stays locked until every clone of its parts is dropped.
#[derive(Clone, Debug)]
pub struct Store {
    /// Traces, observations, sessions and scores.
    pub telemetry: Telemetry,
    pub catalog: Catalog,
    pub media: MediaFiles,
    /// Encrypts secrets and signs links.
    pub secrets: Secrets,
    prices: ProjectPrices,
    engine: StoreEngine,
}

/// What is done to a store as a whole.
#[derive(Clone, Debug)]
enum StoreEngine {
    /// SQLite in the data folder.
    Embedded(EmbeddedEngine),
}

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    pub prices: Arc<PriceTable>,
    /// Maximum number of queued batches; beyond it, writes are rejected.
    pub queue_len: usize,
    pub readers: usize,
    /// Name of the lock holder for error messages of other processes: "ratchet serve, process 123".
    pub holder: String,
    /// Values to redact in every project, such as keys in the environment.
    pub known_secrets: KnownSecrets,
    /// Disk space that recording leaves free.
    pub reserve: DiskReserve,
}

/// Metrics of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    pub queue_depth: u64,
    pub commits: u64,
    /// Observations written since start, including duplicates.
    pub observations: u64,
    /// Bytes of `telemetry.db` and its WAL.
    pub telemetry_bytes: u64,
    /// Fields ignored because a newer value is stored.
    pub outdated_fields: u64,
}

impl Store {
    /// Opens a data folder, creating or migrating it as needed.
    ///
    /// # Errors
    /// Fails if another process holds the lock, if the folder cannot be written, if a newer Ratchet
    /// wrote it, or if it is damaged.
    pub fn open(path: &Path, options: StoreOptions) -> StoreResult<Self> {
        let prices = ProjectPrices::new(options.prices.clone());
        let aliases = AgentAliases::default();
        let engine = EmbeddedEngine::open(path, &options, &prices, &aliases)?;
        let (db, known_secrets) = (engine.catalog.clone(), options.known_secrets);
        Ok(Self {
            telemetry: Telemetry::embedded(engine.telemetry.clone(), aliases.clone()),
            catalog: Catalog::embedded(db, prices.clone(), aliases, known_secrets),
            media: engine.media.clone(),
            secrets: Secrets::new(path),
            prices,
            engine: StoreEngine::Embedded(engine),
        })
    }

    /// Rejects new work, finishes what is queued, checkpoints the WAL and closes.
    ///
    /// # Errors
    /// Fails if the last checkpoint does; acknowledged writes are safe in the WAL even then.
    pub async fn close(self) -> StoreResult<()> {
        match self.engine {
            StoreEngine::Embedded(engine) => engine.close().await,
        }
    }

    /// Returns free pages to the file system, in slices; recording continues.
    ///
    /// # Errors
    /// Space returned before an error stays returned.
    pub async fn compact(&self) -> StoreResult<CompactReport> {
        match &self.engine {
            StoreEngine::Embedded(engine) => engine.compact().await,
        }
    }

    /// Model prices of a project.
    pub fn prices(&self, project: &ProjectId) -> Arc<PriceTable> {
        self.prices.of(project)
    }

    /// Metrics for `/metrics`.
    pub fn stats(&self) -> StoreStats {
        match &self.engine {
            StoreEngine::Embedded(engine) => engine.stats(),
        }
    }

    /// Returns the free disk space; `None` if the file system does not report it.
    pub fn space(&self) -> Option<DiskSpace> {
        match &self.engine {
            StoreEngine::Embedded(engine) => engine.space(),
        }
    }

    /// Checks that there is space to record.
    ///
    /// # Errors
    /// Fails if the disk is full up to its reserve, or if the last write did not fit.
    pub fn check_free_space(&self) -> StoreResult<()> {
        match &self.engine {
            StoreEngine::Embedded(engine) => engine.check_free_space(),
        }
    }

    /// Copies everything into a new folder while it is in use: a snapshot of each database, all
    /// media of the catalog's copy, files that chats need, and the user's texts.
    ///
    /// # Errors
    /// Fails if the target is not empty or cannot be written.
    pub async fn backup(
        &self,
        to: PathBuf,
        secrets: BackupSecrets,
        now: Timestamp,
    ) -> StoreResult<BackupReport> {
        match &self.engine {
            StoreEngine::Embedded(engine) => engine.backup(to, secrets, now).await,
        }
    }

    /// Copies the databases into a new folder and lists the other files of a backup, for streaming.
    /// The caller must prevent media deletion meanwhile.
    ///
    /// # Errors
    /// Fails if the target is not empty or cannot be written.
    pub async fn outline_backup(&self, to: PathBuf, now: Timestamp) -> StoreResult<BackupOutline> {
        match &self.engine {
            StoreEngine::Embedded(engine) => engine.outline_backup(to, now).await,
        }
    }

    /// Deletes the bytes of media that no project knows, and returns the number of files.
    ///
    /// # Errors
    /// Fails if a file cannot be removed.
    pub async fn delete_orphan_media_files(&self) -> StoreResult<u64> {
        self.media.delete_orphan_files(&self.catalog).await
    }
}
