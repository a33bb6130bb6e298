//! SQLite in one folder: `telemetry.db`, `catalog.db`, and a lock so that one process owns them.

mod project_tombstone;
mod apply;
mod attached;
mod backup;
mod block;
mod catalog_db;
mod chat_notice;
mod chat_row;
mod column;
mod compact;
mod connection;
mod content;
mod cursor;
mod entry;
mod checksum_check;
mod integrity_check;
mod experiment_row;
mod facts;
mod filter;
mod function;
mod load;
mod lock;
mod media_refs;
mod migrations;
mod observation_row;
mod payload;
mod user_admin;
mod pool;
mod prepare;
mod read;
mod retention;
mod rollup;
mod disk_reserve;
mod score_row;
mod deadline_query;
mod session_row;
mod stamps;
mod orphan;
mod trace_row;
mod uncounted_tokens;
mod units;
mod user_row;
mod waiting;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ratchet_core::id::{ObservationId, ScoreId, TraceId};
use ratchet_core::record::observation::Observation;
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::redact::KnownSecrets;
use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use rusqlite::ErrorCode;

pub use backup::{
    BackupOutline, BackupReport, BackupSecrets, FileDigest, KeptFile, MANIFEST_FILE, Manifest,
    ManifestFile, Proof, is_backup_path, restore,
};
pub use catalog_db::CatalogDb;
pub use checksum_check::examine_deep;
pub use compact::CompactReport;
pub(crate) use disk_reserve::DiskMonitor;
use disk_reserve::ReserveFile;
pub use disk_reserve::{DiskReserve, DiskSpace};
pub use integrity_check::{Finding, Health, examine};
pub use prepare::Prepared;

use crate::aggregate::{Aggregate, AggregateQuery};
use crate::blocking::beside;
use crate::catalog::{self, Catalog};
use crate::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, ExperimentSummary, KeptExperimentItem,
    RunQuery,
};
use crate::media::MediaFiles;
use crate::metrics::{MetricsAnswer, MetricsQuery};
use crate::prices::ProjectPrices;
use crate::private_files;
use crate::project::ProjectId;
use crate::query::{
    Matching, ObservationColumn, ObservationQuery, Page, ScoreColumn, ScoreQuery, TallyQuery,
    TextHits, TextQuery, TraceColumn, TraceQuery,
};
use crate::secrets::Secrets;
use crate::telemetry::{Batch, Telemetry};
use crate::{StoreError, StoreResult};
use connection::Purpose;
use lock::Lock;
use migrations::{CATALOG_MIGRATIONS, TELEMETRY_MIGRATIONS};
use pool::Pool;
use read::trace_pages::TracePageCache;
use writer::{Writer, WriterHandle};

const TELEMETRY_FILE: &str = "telemetry.db";
const CATALOG_FILE: &str = "catalog.db";
const MEDIA_FOLDER: &str = "media";

/// How to open a data folder.
#[derive(Clone, Debug)]
pub struct Options {
    pub prices: Arc<PriceTable>,
    /// How many batches may wait to be written before more are refused.
    pub queue_len: usize,
    pub readers: usize,
    /// Who holds the lock, for the message to others: "ratchet serve, process 123".
    pub holder: String,
    /// Values that must not be kept in any project, such as keys in the environment.
    pub known_secrets: KnownSecrets,
    /// How much of the disk recording leaves alone.
    pub reserve: DiskReserve,
}

/// An open data folder. The lock is held until every clone of its parts is gone.
#[derive(Clone, Debug)]
pub struct Store {
    /// Traces, observations, sessions and scores.
    pub telemetry: Telemetry,
    pub catalog: Catalog,
    /// The bytes of images, sounds and files.
    pub media: MediaFiles,
    /// Signs links and seals texts.
    pub secrets: Secrets,
    engine: Engine,
    catalog_db: CatalogDb,
    room: DiskMonitor,
}

/// Figures about the store at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Batches waiting to be written.
    pub queue_depth: u64,
    pub commits: u64,
    /// Observations written since start, repeats included.
    pub observations: u64,
    /// Bytes of `telemetry.db`, its log included.
    pub telemetry_bytes: u64,
    /// Fields that came with an older time than what is kept of them and were left as they are.
    pub outdated_fields: u64,
}

impl Store {
    /// Opens a data folder, making it if it is new and bringing it up to date if it is old.
    ///
    /// # Errors
    /// Says by name if another process holds it, if it cannot be written, if it was written by a
    /// newer Ratchet, or if it is damaged.
    pub fn open(path: &Path, options: Options) -> StoreResult<Self> {
        private_files::create_dir_all(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(path.to_owned())
            }
            _ => StoreError::File { what: "make", path: path.to_owned(), source },
        })?;
        private_files::keep_closed(path);
        let ballast = ReserveFile::new(path, options.reserve);
        ballast.throw_out_if_full();
        let lock = Arc::new(Lock::take(path, &options.holder)?);
        let prices = ProjectPrices::new(options.prices);
        let room = DiskMonitor::new(path.to_owned(), options.reserve);
        let sizes =
            Sizes { queue_len: options.queue_len, readers: options.readers, room: room.clone() };
        let catalog_db = CatalogDb::open(path.join(CATALOG_FILE), lock.clone())?;
        // Before anyone can make a project of the same name.
        let deleted = catalog_db.transact_here(catalog::administration::deleted)?;
        let engine = Engine::open(path, sizes, prices.clone(), lock, &deleted)?;
        for (project, models) in catalog_db.transact_here(catalog::model::of_all_projects)? {
            prices.set(&project, models);
        }
        let media = MediaFiles::new(path.join(MEDIA_FOLDER), options.reserve);
        media.tidy();
        ballast.take_in();
        Ok(Self {
            media,
            secrets: Secrets::new(path),
            telemetry: Telemetry::Embedded(engine.clone()),
            catalog: Catalog::embedded(catalog_db.clone(), prices, options.known_secrets),
            engine,
            catalog_db,
            room,
        })
    }

    /// Takes no more work, finishes what is queued, folds the log into the database and closes.
    ///
    /// # Errors
    /// Fails if the last checkpoint does; what was acknowledged is safe in the log even then.
    pub async fn close(self) -> StoreResult<()> {
        let outcome = self.engine.shared.writer.run(compact::checkpoint).await;
        let shared = self.engine.shared.clone();
        // Joins the writer thread, which may have to finish a transaction.
        beside(move || shared.writer.close()).await?;
        outcome
    }

    /// Gives freed pages back to the file system, a slice at a time; recording goes on.
    ///
    /// # Errors
    /// What was given back before an error stays given back.
    pub async fn compact(&self) -> StoreResult<CompactReport> {
        compact::compact(&self.engine.shared.writer, &self.engine.shared.file).await
    }

    /// What models cost in a project.
    pub fn prices(&self, project: &ProjectId) -> Arc<PriceTable> {
        self.engine.shared.prices.of(project)
    }

    /// Figures for `/metrics`.
    pub fn stats(&self) -> StoreStats {
        let counters = &self.engine.shared.writer.counters;
        StoreStats {
            queue_depth: counters.waiting.load(Ordering::Relaxed),
            commits: counters.commits.load(Ordering::Relaxed),
            observations: counters.observations.load(Ordering::Relaxed),
            telemetry_bytes: compact::bytes_on_disk(&self.engine.shared.file),
            outdated_fields: counters.outdated.load(Ordering::Relaxed),
        }
    }
}

/// How much waits, and how many read.
#[derive(Clone, Debug)]
struct Sizes {
    queue_len: usize,
    readers: usize,
    room: DiskMonitor,
}

/// The telemetry engine: one writer, many readers.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: PathBuf,
    prices: ProjectPrices,
    writer: WriterHandle,
    readers: Arc<Pool>,
    key_cache: Arc<TracePageCache>,
    _lock: Arc<Lock>,
}

impl Engine {
    fn open(
        folder: &Path,
        sizes: Sizes,
        prices: ProjectPrices,
        lock: Arc<Lock>,
        deleted: &[(ProjectId, Timestamp)],
    ) -> StoreResult<Self> {
        let file = folder.join(TELEMETRY_FILE);
        let mut db = connection::open(&file, Purpose::Write)?;
        connection::migrate(&mut db, &file, TELEMETRY_MIGRATIONS)?;
        for (project, _) in deleted {
            project_tombstone::rename(&db, project).map_err(|error| sqlite_error(&file, error))?;
        }
        let base = prices.base().clone();
        let writer = WriterHandle::start(db, file.clone(), base, (sizes.queue_len, sizes.room))?;
        let readers = Arc::new(Pool::new(file.clone(), sizes.readers));
        let key_cache = Arc::default();
        let shared = Shared { file, prices, writer, readers, key_cache, _lock: lock };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// See [`Telemetry::prepare`].
    pub(crate) fn prepare(&self, batch: Batch) -> Prepared {
        let prices = self.shared.prices.of(&batch.project);
        prepare::prepare(batch, prices)
    }

    /// See [`Telemetry::commit`].
    pub(crate) async fn commit(&self, prepared: Prepared) -> StoreResult<()> {
        self.shared.writer.commit(prepared).await
    }

    pub(crate) async fn traces(&self, query: TraceQuery) -> StoreResult<Page<Trace>> {
        self.shared.readers.read(move |db| read::traces::list(db, &query)).await
    }

    pub(crate) async fn trace(
        &self,
        project: ProjectId,
        id: TraceId,
    ) -> StoreResult<Option<Trace>> {
        let query = move |db: &_| read::traces::one(db, &project, &id);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::Database)).await
    }

    pub(crate) async fn find_traces(
        &self,
        project: ProjectId,
        ids: Vec<TraceId>,
    ) -> StoreResult<Vec<Trace>> {
        let query = move |db: &_| read::traces::find(db, &project, &ids);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::Database)).await
    }

    pub(crate) async fn observations(
        &self,
        query: ObservationQuery,
    ) -> StoreResult<Page<Observation>> {
        let cache = self.shared.key_cache.clone();
        self.shared.readers.read(move |db| read::observations::list(db, &query, &cache)).await
    }

    pub(crate) async fn observation(
        &self,
        project: ProjectId,
        id: ObservationId,
    ) -> StoreResult<Option<Observation>> {
        let query = move |db: &_| read::observations::one(db, &project, &id);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::Database)).await
    }

    pub(crate) async fn scores(&self, query: ScoreQuery) -> StoreResult<Page<Score>> {
        self.shared.readers.read(move |db| read::scores::list(db, &query)).await
    }

    pub(crate) async fn score(
        &self,
        project: ProjectId,
        id: ScoreId,
    ) -> StoreResult<Option<Score>> {
        let query = move |db: &_| read::scores::one(db, &project, &id);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::Database)).await
    }

    pub(crate) async fn delete_score(&self, project: ProjectId, id: ScoreId) -> StoreResult<bool> {
        let delete = move |writer: &mut writer::Writer| {
            writer.transact(|applier| applier.delete_score(&project, &id))
        };
        self.shared.writer.run(delete).await
    }

    pub(crate) async fn experiments(
        &self,
        query: ExperimentQuery,
    ) -> StoreResult<Page<ExperimentSummary>> {
        self.shared.readers.read(move |db| read::experiments::list(db, &query)).await
    }

    pub(crate) async fn experiment_items(
        &self,
        query: ExperimentItemQuery,
    ) -> StoreResult<Page<KeptExperimentItem>> {
        self.shared.readers.read(move |db| read::experiments::items(db, &query)).await
    }

    pub(crate) async fn runs(&self, query: RunQuery) -> StoreResult<Page<Experiment>> {
        self.shared.readers.read(move |db| read::experiments::runs(db, &query)).await
    }

    pub(crate) async fn delete_experiment(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<bool> {
        let delete = move |writer: &mut Writer| {
            writer.transact(|applier| experiment_row::delete(applier.db, &project, &id))
        };
        self.shared.writer.run(delete).await
    }

    pub(crate) async fn forget_item(&self, project: ProjectId, item: String) -> StoreResult<()> {
        let forget = move |writer: &mut Writer| {
            writer.transact(|applier| experiment_row::forget_item(applier.db, &project, &item))
        };
        self.shared.writer.run(forget).await
    }

    pub(crate) async fn search(&self, query: TextQuery) -> StoreResult<TextHits<Observation>> {
        self.shared.readers.read(move |db| read::search::search(db, &query)).await
    }

    pub(crate) async fn matching_traces(
        &self,
        query: TallyQuery<TraceColumn>,
    ) -> StoreResult<Matching> {
        self.shared.readers.read(move |db| read::matching::traces(db, &query)).await
    }

    pub(crate) async fn matching_scores(
        &self,
        query: TallyQuery<ScoreColumn>,
    ) -> StoreResult<Matching> {
        self.shared.readers.read(move |db| read::matching::scores(db, &query)).await
    }

    pub(crate) async fn matching_observations(
        &self,
        query: TallyQuery<ObservationColumn>,
    ) -> StoreResult<Matching> {
        self.shared.readers.read(move |db| read::matching::observations(db, &query)).await
    }

    pub(crate) async fn aggregate(&self, query: AggregateQuery) -> StoreResult<Aggregate> {
        self.shared.readers.read(move |db| read::sums::aggregate(db, &query)).await
    }

    pub(crate) async fn trace_metrics(
        &self,
        query: MetricsQuery<TraceColumn>,
    ) -> StoreResult<MetricsAnswer> {
        self.shared.readers.read(move |db| read::metrics::of_traces(db, &query)).await
    }

    pub(crate) async fn observation_metrics(
        &self,
        query: MetricsQuery<ObservationColumn>,
    ) -> StoreResult<MetricsAnswer> {
        self.shared.readers.read(move |db| read::metrics::of_observations(db, &query)).await
    }

    pub(crate) async fn score_metrics(
        &self,
        query: MetricsQuery<ScoreColumn>,
    ) -> StoreResult<MetricsAnswer> {
        self.shared.readers.read(move |db| read::metrics::of_scores(db, &query)).await
    }

    pub(crate) async fn delete_traces(
        &self,
        project: ProjectId,
        ids: Vec<TraceId>,
    ) -> StoreResult<u64> {
        let mut deleted = 0;
        let mut left = ids;
        while !left.is_empty() {
            let (project, todo) = (project.clone(), left);
            let slice = move |writer: &mut _| retention::delete_some(writer, &project, todo);
            let (gone, rest) = self.shared.writer.run(slice).await?;
            deleted += gone;
            left = rest;
        }
        Ok(deleted)
    }

    pub(crate) async fn delete_before(
        &self,
        project: ProjectId,
        before: Timestamp,
    ) -> StoreResult<u64> {
        let slice = move |writer: &mut _| retention::delete_slice(writer, &project, before);
        self.shared.writer.run(slice).await
    }
}

/// Whether hourly sums have what is asked of observations.
pub(crate) fn has_sums_for(query: &MetricsQuery<ObservationColumn>) -> bool {
    read::metrics::has_sums_for(query)
}

/// Tells what a failure of SQLite means for the caller.
pub(crate) fn sqlite_error(file: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly(file.to_owned())
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { file: file.to_owned(), what: error.to_string() }
        }
        _ => StoreError::Database(error),
    }
}
