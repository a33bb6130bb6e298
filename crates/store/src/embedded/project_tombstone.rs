//! Deleted projects: unreachable at once, deleted in slices.
//!
//! A deleted project retains its number and gets an id that no project can have, so that no query
//! finds it, and a new project of the old id gets a number of its own.

use rusqlite::{Connection, OptionalExtension, params};

use super::apply::Applier;
use super::writer::Writer;
use super::{TelemetryDb, chat_row, retention};
use crate::StoreResult;
use crate::project::ProjectId;

/// Rows deleted per table and slice.
const SLICE: u32 = 2_000;
/// Part of a deleted project's id that no other id has.
const TOMBSTONE_MARK: &str = "#";

impl TelemetryDb {
    /// See `Telemetry::abandon`.
    pub(crate) async fn abandon(&self, project: ProjectId) -> StoreResult<()> {
        let rename = move |writer: &mut Writer| {
            let done = writer.transact(|applier| rename(applier.db, &project));
            writer.forget_numbers();
            done
        };
        self.shared.writer.run(rename).await
    }

    /// See `Telemetry::delete_abandoned`.
    pub(crate) async fn delete_abandoned(&self) -> StoreResult<u64> {
        let slice = move |writer: &mut Writer| {
            let done = writer.transact(delete_slice);
            writer.forget_numbers();
            done
        };
        self.shared.writer.run(slice).await
    }
}

/// Gives a project an id that no project can have.
pub(super) fn rename(db: &Connection, project: &ProjectId) -> rusqlite::Result<()> {
    let sql = "UPDATE project SET id = id || ? || no WHERE id = ?";
    db.prepare_cached(sql)?.execute(params![TOMBSTONE_MARK, project.as_str()]).map(drop)
}

fn delete_slice(applier: &mut Applier<'_>) -> rusqlite::Result<u64> {
    let sql = "SELECT no FROM project WHERE instr(id, ?) > 0 LIMIT 1";
    let abandoned =
        applier.db.prepare_cached(sql)?.query_row([TOMBSTONE_MARK], |row| row.get(0)).optional();
    let Some(project): Option<i64> = abandoned? else { return Ok(0) };
    let traces = retention::delete_any(applier, project)?;
    if traces > 0 {
        return Ok(traces);
    }
    let events = chat_row::delete_slice(applier.db, project, None)?;
    if events > 0 {
        return Ok(events);
    }
    for rows in [
        "experiment_item WHERE no IN (SELECT i.no FROM experiment_item i JOIN experiment e \
         ON e.no = i.experiment WHERE e.project = ?1 LIMIT ?2)",
        "experiment WHERE no IN (SELECT no FROM experiment WHERE project = ?1 LIMIT ?2)",
        "score WHERE no IN (SELECT no FROM score WHERE project = ?1 LIMIT ?2)",
        "waiting_score WHERE no IN (SELECT no FROM waiting_score WHERE project = ?1 LIMIT ?2)",
    ] {
        let sql = format!("DELETE FROM {rows}");
        let gone = applier.db.prepare_cached(&sql)?.execute(params![project, SLICE])?;
        if gone > 0 {
            return Ok(gone as u64);
        }
    }
    // The rest is small once there are no traces.
    for table in ["stray", "session", "rollup", "term"] {
        let sql = format!("DELETE FROM {table} WHERE project = ?");
        applier.db.prepare_cached(&sql)?.execute([project])?;
    }
    let sql = "DELETE FROM project WHERE no = ?";
    applier.db.prepare_cached(sql)?.execute([project]).map(|rows| rows as u64)
}
