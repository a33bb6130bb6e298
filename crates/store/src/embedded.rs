//! SQLite in one folder: `telemetry.db`, `catalog.db`, and a lock so that one process owns them.
#![allow(warnings, clippy::all)]
use crate::StoreResult;
use crate::aggregate::*;
use crate::catalog::*;
use crate::project::*;
use crate::query::*;
use crate::telemetry::*;
use ratchet_core::id::*;
use ratchet_core::observation::*;
use ratchet_core::price::PriceTable;
use ratchet_core::score::*;
use ratchet_core::session::*;
use ratchet_core::time::*;
use ratchet_core::trace::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Hourly sums.
pub mod rollup {
    /// How long things took: counts in buckets that grow by a constant factor.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Histogram;
    impl Histogram {
        /// The latency in nanoseconds below which that share (0 to 1) lies; `None` when empty.
        pub fn quantile(&self, share: f64) -> Option<i64> {
            unimplemented!()
        }
    }
}

/// How to open a data folder.
#[derive(Clone, Debug)]
pub struct Options {
    /// What models cost.
    pub prices: Arc<PriceTable>,
    /// How many batches may wait to be written before more are refused.
    pub queue_len: usize,
    /// Connections for reading.
    pub readers: usize,
    /// Who holds the lock, for the message to others: "ratchet serve, process 123".
    pub holder: String,
}

/// An open data folder. The lock is held until every clone of its parts is gone.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Traces, observations, sessions and scores.
    pub telemetry: Telemetry,
    /// Projects, keys and people.
    pub catalog: Catalog,
}

impl Folder {
    /// Opens a data folder, making it if it is new and bringing it up to date if it is old.
    pub fn open(path: &Path, options: Options) -> StoreResult<Self> {
        unimplemented!()
    }
    /// Waits until everything acknowledged is on disk and checkpointed, then closes.
    pub async fn close(self) -> StoreResult<()> {
        unimplemented!()
    }
    /// Copies both databases into a new folder while they are in use; consistent as of one moment.
    pub async fn backup(&self, to: PathBuf) -> StoreResult<BackupReport> {
        unimplemented!()
    }
    /// Gives freed pages back to the file system. Slow; recording goes on.
    pub async fn compact(&self) -> StoreResult<CompactReport> {
        unimplemented!()
    }
    /// Figures for /metrics.
    pub fn stats(&self) -> StoreStats {
        unimplemented!()
    }
}

/// Puts a backup in place of a data folder that does not exist yet.
pub fn restore(backup: &Path, to: &Path) -> StoreResult<BackupReport> {
    unimplemented!()
}
/// Looks at a data folder without taking its lock.
pub fn examine(path: &Path) -> StoreResult<Vec<Finding>> {
    unimplemented!()
}

/// One thing `ratchet doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub about: String,
    /// How it is.
    pub is_well: bool,
    /// In words, with what to do.
    pub detail: String,
}

/// What a backup or restore copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Bytes written.
    pub bytes: u64,
    /// Files written.
    pub files: Vec<PathBuf>,
}
/// What compaction gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactReport {
    /// Before.
    pub bytes_before: u64,
    /// After.
    pub bytes_after: u64,
}
/// Figures about the store at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Batches waiting to be written.
    pub queue_depth: u64,
    /// Transactions committed since start.
    pub commits: u64,
    /// Observations written since start.
    pub observations: u64,
    /// Bytes of telemetry.db, its log included.
    pub telemetry_bytes: u64,
}

/// The telemetry engine.
#[derive(Clone, Debug)]
pub struct Engine;
/// A batch worked out as far as it can be without the database.
#[derive(Debug)]
pub struct Prepared;
impl Engine {
    pub fn prepare(&self, batch: Batch) -> Prepared {
        unimplemented!()
    }
    pub async fn commit(&self, prepared: Prepared) -> StoreResult<()> {
        unimplemented!()
    }
    pub async fn record(&self, batch: Batch) -> StoreResult<()> {
        unimplemented!()
    }
    pub async fn traces(&self, query: TraceQuery) -> StoreResult<Page<Trace>> {
        unimplemented!()
    }
    pub async fn trace(&self, project: ProjectId, id: TraceId) -> StoreResult<Option<Trace>> {
        unimplemented!()
    }
    pub async fn observations(&self, query: ObservationQuery) -> StoreResult<Page<Observation>> {
        unimplemented!()
    }
    pub async fn observation(
        &self,
        project: ProjectId,
        id: ObservationId,
    ) -> StoreResult<Option<Observation>> {
        unimplemented!()
    }
    pub async fn sessions(&self, query: SessionQuery) -> StoreResult<Page<Session>> {
        unimplemented!()
    }
    pub async fn session(&self, project: ProjectId, id: SessionId) -> StoreResult<Option<Session>> {
        unimplemented!()
    }
    pub async fn scores(&self, query: ScoreQuery) -> StoreResult<Page<Score>> {
        unimplemented!()
    }
    pub async fn search(&self, query: TextQuery) -> StoreResult<TextHits<Observation>> {
        unimplemented!()
    }
    pub async fn aggregate(&self, query: AggregateQuery) -> StoreResult<Aggregate> {
        unimplemented!()
    }
    pub async fn delete_before(&self, project: ProjectId, before: Timestamp) -> StoreResult<u64> {
        unimplemented!()
    }
}
/// The catalog database.
#[derive(Clone, Debug)]
pub struct CatalogDb;
impl CatalogDb {
    pub async fn create_project(&self, new: NewProject, now: Timestamp) -> StoreResult<Project> {
        unimplemented!()
    }
    pub async fn projects(&self) -> StoreResult<Vec<Project>> {
        unimplemented!()
    }
    pub async fn set_retention(&self, id: ProjectId, days: Option<u32>) -> StoreResult<Project> {
        unimplemented!()
    }
    pub async fn create_key(&self, new: NewKey, now: Timestamp) -> StoreResult<(ApiKey, KeyPair)> {
        unimplemented!()
    }
    pub async fn keys(&self, project: ProjectId) -> StoreResult<Vec<ApiKey>> {
        unimplemented!()
    }
    pub async fn revoke_key(&self, project: ProjectId, key: String) -> StoreResult<ApiKey> {
        unimplemented!()
    }
    pub async fn authenticate(&self, public: &str, secret: &str) -> StoreResult<Option<ApiKey>> {
        unimplemented!()
    }
    pub async fn public_key(&self, public: &str) -> StoreResult<Option<ApiKey>> {
        unimplemented!()
    }
    pub async fn create_user(&self, new: NewUser, now: Timestamp) -> StoreResult<User> {
        unimplemented!()
    }
    pub async fn users(&self) -> StoreResult<Vec<User>> {
        unimplemented!()
    }
}
