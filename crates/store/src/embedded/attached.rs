use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;
use rusqlite::Connection;

use super::{TelemetryDb, read};
use crate::attached::{Attached, AttachedCount};
use crate::project::ProjectId;
use crate::trace_stream::{ObservationCursor, ScoreCursor, StreamedRows};
use crate::{StoreError, StoreResult};

impl TelemetryDb {
    pub(crate) async fn observations_after(
        &self,
        walk: ObservationCursor,
    ) -> StoreResult<StreamedRows<Observation, ObservationCursor>> {
        let query = move |db: &Connection| read::trace_stream::observations(db, walk);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn scores_after(
        &self,
        walk: ScoreCursor,
    ) -> StoreResult<StreamedRows<Score, ScoreCursor>> {
        let query = move |db: &Connection| read::trace_stream::scores(db, walk);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn attached(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<Vec<Attached>> {
        let query = move |db: &Connection| read::attached::list(db, &project, &traces);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn count_attached(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<AttachedCount> {
        let query = move |db: &Connection| read::attached::count(db, &project, &traces);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }
}
