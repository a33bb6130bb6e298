//! Loads rows by id.

use std::sync::LazyLock;

use ratchet_core::id::{ObservationId, ScoreId, TraceId};
use rusqlite::{Connection, OptionalExtension, params};

use super::column::Column;
use super::observation_row::{self, ObservationRow};
use super::payload;
use super::score_row::{self, ScoreRow, ScoreTable};
use super::trace_row::{self, TraceRow};
use crate::project::ProjectId;

/// A project's number; `None` if it has no telemetry.
pub(super) fn project_number(db: &Connection, id: &ProjectId) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT no FROM project WHERE id = ?")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()
}

/// A trace by id, with its payloads.
pub(super) fn load_trace(
    db: &Connection,
    project: i64,
    id: &TraceId,
) -> rusqlite::Result<Option<TraceRow>> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        format!("SELECT {} FROM trace t WHERE t.project = ? AND t.id = ?", trace_row::COLUMNS)
    });
    let mut statement = db.prepare_cached(&SQL)?;
    let mut rows = statement.query(params![project, Column(id)])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let entry = payload::load_entry(db, row.get(26)?, 0)?.unwrap_or_default();
    trace_row::read(row, entry).map(Some)
}

/// An observation of a trace by id.
pub(super) fn load_observation(
    db: &Connection,
    trace: &TraceRow,
    id: &ObservationId,
) -> rusqlite::Result<Option<ObservationRow>> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let columns = observation_row::COLUMNS;
        format!("SELECT {columns} FROM observation o WHERE o.trace = ? AND o.id = ?")
    });
    db.prepare_cached(&SQL)?
        .query_row(params![trace.no, Column(id)], |row| {
            observation_row::read(row, trace.patch.id.clone())
        })
        .optional()
}

/// All observations of a trace.
pub(super) fn load_observations(
    db: &Connection,
    trace: &TraceRow,
) -> rusqlite::Result<Vec<ObservationRow>> {
    let columns = observation_row::COLUMNS;
    let mut statement =
        db.prepare_cached(&format!("SELECT {columns} FROM observation o WHERE o.trace = ?"))?;
    let rows = statement
        .query_map([trace.no], |row| observation_row::read(row, trace.patch.id.clone()))?;
    rows.collect()
}

/// Finds an observation by its id alone: the number and id of its trace. Segments are tried from
/// the newest, see the index.
pub(super) fn find_observation(
    db: &Connection,
    project: i64,
    id: &ObservationId,
) -> rusqlite::Result<Option<(i64, TraceId)>> {
    let newest: i64 =
        db.query_row("SELECT coalesce(max(no), 0) >> 14 FROM trace", [], |row| row.get(0))?;
    let sql = "SELECT t.no, t.id FROM observation o JOIN trace t ON t.no = o.trace \
               WHERE o.trace >> 14 = ? AND o.id = ? AND o.project = ? ORDER BY t.no DESC LIMIT 1";
    let mut statement = db.prepare_cached(sql)?;
    for segment in (0..=newest).rev() {
        let found = statement.query_row(params![segment, Column(id), project], |row| {
            Ok((row.get(0)?, row.get::<_, Column<TraceId>>(1)?.0))
        });
        if let Some(found) = found.optional()? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A score by id.
pub(super) fn load_score(
    db: &Connection,
    project: i64,
    id: &ScoreId,
    table: ScoreTable,
) -> rusqlite::Result<Option<ScoreRow>> {
    let (columns, table) = (score_row::COLUMNS, table.name());
    let sql = format!("SELECT {columns} FROM {table} s WHERE s.project = ? AND s.id = ?");
    db.prepare_cached(&sql)?.query_row(params![project, Column(id)], score_row::read).optional()
}
