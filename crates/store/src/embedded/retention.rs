//! Deletes traces in slices, so that recording never waits for long.

use ratchet_core::id::TraceId;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, params};

use super::TelemetryDb;
use super::apply::Applier;
use super::chat_row;
use super::column::Column;
use super::load::{load_trace, project_number};
use super::writer::Writer;
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of observations deleted per slice, unless a single trace has more.
const SLICE: i64 = 2_000;
/// Maximum number of traces per slice.
const SLICE_TRACES: u32 = 500;

/// Deletes one slice of the traces that started before a moment, or then of chats without events
/// since; returns the number deleted.
pub(super) fn delete_slice(
    writer: &mut Writer,
    project: &ProjectId,
    before: Timestamp,
) -> StoreResult<u64> {
    writer.transact(|applier| {
        let Some(project) = project_number(applier.db, project)? else { return Ok(0) };
        let slice = oldest(applier.db, project, before)?;
        let (gone, _) = delete(applier, project, slice)?;
        if gone > 0 {
            return Ok(gone);
        }
        chat_row::delete_slice(applier.db, project, Some(before))
    })
}

/// Deletes one slice of the traces of a project, of any age.
pub(super) fn delete_any(applier: &mut Applier<'_>, project: i64) -> rusqlite::Result<u64> {
    let sql = "SELECT id FROM trace WHERE project = ? LIMIT ?";
    let mut statement = applier.db.prepare_cached(sql)?;
    let ids = statement.query_map(params![project, SLICE_TRACES], |row| {
        row.get::<_, Column<TraceId>>(0).map(|id| id.0)
    })?;
    let slice = ids.collect::<rusqlite::Result<_>>()?;
    drop(statement);
    delete(applier, project, slice).map(|(gone, _)| gone)
}

/// Deletes one slice of some traces; returns the number deleted and the rest.
pub(super) fn delete_some(
    writer: &mut Writer,
    project: &ProjectId,
    ids: Vec<TraceId>,
) -> StoreResult<(u64, Vec<TraceId>)> {
    writer.transact(|applier| {
        let Some(project) = project_number(applier.db, project)? else {
            return Ok((0, Vec::new()));
        };
        delete(applier, project, ids)
    })
}

/// Deletes traces until the slice is full; returns the number deleted and the rest.
fn delete(
    applier: &mut Applier<'_>,
    project: i64,
    ids: Vec<TraceId>,
) -> rusqlite::Result<(u64, Vec<TraceId>)> {
    let mut ids = ids.into_iter();
    let (mut deleted, mut observations) = (0, 0);
    for id in ids.by_ref().take(SLICE_TRACES as usize) {
        let Some(row) = load_trace(applier.db, project, &id)? else { continue };
        observations += row.observations();
        applier.delete_trace(project, row)?;
        deleted += 1;
        if observations >= SLICE {
            break;
        }
    }
    Ok((deleted, ids.collect()))
}

impl TelemetryDb {
    /// See `Telemetry::newest_time`.
    pub(crate) async fn newest_time(&self, not_after: Timestamp) -> StoreResult<Option<Timestamp>> {
        // One index seek per project, however many traces there are.
        let sql = "SELECT max((SELECT max(timestamp) FROM trace \
                   WHERE project = p.no AND timestamp <= ?)) FROM project p";
        let query = move |db: &Connection| {
            let newest = db.query_row(sql, [Column(not_after)], |row| row.get(0));
            newest.map(|at: Option<Column<Timestamp>>| at.map(|at| at.0))
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }
}

fn oldest(
    db: &rusqlite::Connection,
    project: i64,
    before: Timestamp,
) -> rusqlite::Result<Vec<TraceId>> {
    let sql = "SELECT id FROM trace WHERE project = ? AND timestamp < ? ORDER BY timestamp LIMIT ?";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params![project, Column(before), SLICE_TRACES], |row| {
        row.get::<_, Column<TraceId>>(0).map(|id| id.0)
    })?;
    rows.collect()
}
