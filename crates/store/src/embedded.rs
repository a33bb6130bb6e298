//! The embedded engine: SQLite in one data folder (`telemetry.db`, `catalog.db`), with a lock so
//! that one process owns it.

mod project_tombstone;
mod apply;
mod attached;
mod backup;
mod block;
mod catalog_db;
mod chat_notice;
mod chat_query;
mod chat_row;
mod column;
mod compact;
mod connection;
mod content;
mod cursor;
mod entry;
mod evaluation_outbox;
mod checksum_check;
mod integrity_check;
mod experiment_row;
mod facets;
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
use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use rusqlite::ErrorCode;

pub use backup::{
    BackupFile, BackupOutline, BackupReport, BackupSecrets, FileDigest, MANIFEST_FILE, Manifest,
    ManifestFile, Proof, is_backup_path, restore,
};
pub(crate) use catalog_db::CatalogDb;
pub use checksum_check::check_checksums;
pub use compact::CompactReport;
pub use integrity_check::{Finding, Health, check_integrity};
pub use prepare::{Prepared, WritableBatch};

use crate::agent_aliases::AgentAliases;
use crate::aggregate::{Aggregate, AggregateQuery};
use crate::blocking::run_blocking;
use crate::catalog;
use crate::disk_reserve::{DiskMonitor, DiskSpace, ReserveFile};
use crate::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, ExperimentSummary, RunQuery,
    StoredExperimentItem,
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
use crate::store::{StoreOptions, StoreStats};
use crate::telemetry::Batch;
use crate::{StoreError, StoreResult};
use connection::Purpose;
use evaluation_outbox::EvaluatedProjects;
use lock::Lock;
use migrations::{CATALOG_MIGRATIONS, TELEMETRY_MIGRATIONS};
use pool::Pool;
use read::trace_pages::TracePageCache;
use writer::{Writer, WriterHandle};

const TELEMETRY_FILE: &str = "telemetry.db";
const CATALOG_FILE: &str = "catalog.db";
const MEDIA_FOLDER: &str = "media";

/// An open data folder: SQLite databases, media files and a lock, which is held until every clone of
/// its parts is dropped.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddedEngine {
    pub(crate) telemetry: TelemetryDb,
    pub(crate) catalog: CatalogDb,
    pub(crate) media: MediaFiles,
    room: DiskMonitor,
}

impl EmbeddedEngine {
    pub(crate) fn open(
        path: &Path,
        options: &StoreOptions,
        prices: &ProjectPrices,
        aliases: &AgentAliases,
    ) -> StoreResult<Self> {
        private_files::create_dir_all(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(path.to_owned())
            }
            _ => StoreError::File { what: "make", path: path.to_owned(), source },
        })?;
        private_files::restrict_folder(path);
        let ballast = ReserveFile::new(path, options.reserve);
        ballast.delete_if_full();
        let lock = Arc::new(Lock::take(path, &options.holder)?);
        let room = DiskMonitor::new(path.to_owned(), options.reserve);
        let sizes =
            Sizes { queue_len: options.queue_len, readers: options.readers, room: room.clone() };
        let catalog = CatalogDb::open(path.join(CATALOG_FILE), lock.clone(), room.clone())?;
        // Before a project of the same id can be created.
        let deleted = catalog.transact_here(catalog::administration::deleted)?;
        let telemetry = TelemetryDb::open(path, sizes, prices.clone(), lock, &deleted)?;
        for (project, models) in catalog.transact_here(catalog::model::of_all_projects)? {
            prices.set(&project, models);
        }
        for (project, names) in catalog.transact_here(catalog::agent::of_all_projects)? {
            aliases.set(&project, names);
        }
        let media = MediaFiles::new(path.join(MEDIA_FOLDER), options.reserve);
        media.tidy();
        ballast.create_if_missing();
        Ok(Self { telemetry, catalog, media, room })
    }

    pub(crate) async fn close(self) -> StoreResult<()> {
        let shared = self.telemetry.shared;
        let outcome = shared.writer.run(compact::checkpoint).await;
        // Joins the writer thread, which may have to finish a transaction.
        run_blocking(move || shared.writer.close()).await?;
        outcome
    }

    pub(crate) async fn compact(&self) -> StoreResult<CompactReport> {
        compact::compact(&self.telemetry.shared.writer, &self.telemetry.shared.file).await
    }

    pub(crate) fn stats(&self) -> StoreStats {
        let counters = &self.telemetry.shared.writer.counters;
        StoreStats {
            queue_depth: counters.waiting.load(Ordering::Relaxed),
            commits: counters.commits.load(Ordering::Relaxed),
            observations: counters.observations.load(Ordering::Relaxed),
            telemetry_bytes: compact::bytes_on_disk(&self.telemetry.shared.file),
            outdated_fields: counters.outdated.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn space(&self) -> Option<DiskSpace> {
        self.room.free_space()
    }

    pub(crate) fn check_free_space(&self) -> StoreResult<()> {
        let counters = &self.telemetry.shared.writer.counters;
        self.room.check(counters.refused_bytes.load(Ordering::Relaxed))
    }
}

/// Sizes of the write queue and the reader pool.
#[derive(Clone, Debug)]
struct Sizes {
    queue_len: usize,
    readers: usize,
    room: DiskMonitor,
}

/// The telemetry engine: one writer, many readers.
#[derive(Clone, Debug)]
pub(crate) struct TelemetryDb {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: PathBuf,
    prices: ProjectPrices,
    writer: WriterHandle,
    readers: Arc<Pool>,
    trace_page_cache: Arc<TracePageCache>,
    evaluated: EvaluatedProjects,
    _lock: Arc<Lock>,
}

impl TelemetryDb {
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
        let evaluated = EvaluatedProjects::default();
        let writer = WriterHandle::start(
            (db, file.clone()),
            (base, evaluated.clone()),
            (sizes.queue_len, sizes.room),
        )?;
        let readers = Arc::new(Pool::new(file.clone(), sizes.readers));
        let trace_page_cache = Arc::default();
        let shared =
            Shared { file, prices, writer, readers, trace_page_cache, evaluated, _lock: lock };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// See `Telemetry::prepare`.
    pub(crate) fn prepare(&self, batch: Batch) -> Prepared {
        let prices = self.shared.prices.of(&batch.project);
        prepare::prepare(batch, prices)
    }

    /// See `Telemetry::write_batch`.
    pub(crate) async fn write_batch(&self, batch: WritableBatch) -> StoreResult<()> {
        self.shared.writer.commit(batch.into_prepared()).await
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
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn find_traces(
        &self,
        project: ProjectId,
        ids: Vec<TraceId>,
    ) -> StoreResult<Vec<Trace>> {
        let query = move |db: &_| read::traces::find(db, &project, &ids);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn observations(
        &self,
        query: ObservationQuery,
    ) -> StoreResult<Page<Observation>> {
        let cache = self.shared.trace_page_cache.clone();
        self.shared.readers.read(move |db| read::observations::list(db, &query, &cache)).await
    }

    pub(crate) async fn observation(
        &self,
        project: ProjectId,
        id: ObservationId,
    ) -> StoreResult<Option<Observation>> {
        let query = move |db: &_| read::observations::one(db, &project, &id);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn observations_of_trace(
        &self,
        project: ProjectId,
        trace: TraceId,
        ids: Vec<ObservationId>,
    ) -> StoreResult<Vec<Observation>> {
        let query = move |db: &_| read::observations::of_trace(db, &project, (&trace, &ids));
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn scores(&self, query: ScoreQuery) -> StoreResult<Page<Score>> {
        self.shared.readers.read(move |db| read::scores::list(db, &query)).await
    }

    pub(crate) async fn score_values(&self, query: ScoreQuery) -> StoreResult<Page<Score>> {
        self.shared.readers.read(move |db| read::scores::values(db, &query)).await
    }

    pub(crate) async fn score(
        &self,
        project: ProjectId,
        id: ScoreId,
    ) -> StoreResult<Option<Score>> {
        let query = move |db: &_| read::scores::one(db, &project, &id);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
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

    pub(crate) async fn whole_experiment(
        &self,
        project: ProjectId,
        experiment: Experiment,
    ) -> StoreResult<Option<Experiment>> {
        let read = move |db: &_| read::experiments::whole_experiment(db, &project, experiment);
        self.shared.readers.read(read).await
    }

    pub(crate) async fn experiment_items(
        &self,
        query: ExperimentItemQuery,
    ) -> StoreResult<Page<StoredExperimentItem>> {
        self.shared.readers.read(move |db| read::experiments::items(db, &query)).await
    }

    pub(crate) async fn whole_experiment_item(
        &self,
        project: ProjectId,
        item: StoredExperimentItem,
    ) -> StoreResult<Option<StoredExperimentItem>> {
        self.shared.readers.read(move |db| read::experiments::whole(db, &project, &item)).await
    }

    pub(crate) async fn experiment_items_of_traces(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<Vec<StoredExperimentItem>> {
        self.shared
            .readers
            .read(move |db| read::experiments::items_of_traces(db, &project, &traces))
            .await
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

/// Whether the hourly rollup can answer a metrics query.
pub(crate) fn has_sums_for(query: &MetricsQuery<ObservationColumn>) -> bool {
    read::metrics::has_sums_for(query)
}

/// The code of a store error that comes from SQLite.
pub(crate) fn sqlite_code(error: &StoreError) -> Option<ErrorCode> {
    match error {
        StoreError::Database(source) => {
            source.downcast_ref::<rusqlite::Error>()?.sqlite_error_code()
        }
        _ => None,
    }
}

/// Maps an SQLite error to a store error.
pub(crate) fn sqlite_error(file: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly(file.to_owned())
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { file: file.to_owned(), what: error.to_string() }
        }
        _ => StoreError::database(error),
    }
}
