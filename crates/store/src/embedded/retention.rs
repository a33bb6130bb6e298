//! Old traces go, a slice at a time, so that recording never waits for long.

use ratchet_core::id::TraceId;
use ratchet_core::time::Timestamp;
use rusqlite::params;

use super::column::Column;
use super::load::{load_trace, project_number};
use super::writer::Writer;
use crate::StoreResult;
use crate::project::ProjectId;

/// Observations that one slice deletes at most, unless a single trace has more.
const SLICE: i64 = 2_000;

/// Deletes one slice of the traces that began before a moment; says how many went.
pub(super) fn delete_slice(
    writer: &mut Writer,
    project: &ProjectId,
    before: Timestamp,
) -> StoreResult<u64> {
    writer.transact(|applier| {
        let Some(project) = project_number(applier.db, project)? else { return Ok(0) };
        let mut deleted = 0;
        for id in oldest(applier.db, project, before)? {
            if let Some(row) = load_trace(applier.db, project, &id)? {
                applier.delete_trace(project, row)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    })
}

fn oldest(
    db: &rusqlite::Connection,
    project: i64,
    before: Timestamp,
) -> rusqlite::Result<Vec<TraceId>> {
    let sql = "SELECT id, debugs + defaults + warnings + errors FROM trace \
               WHERE project = ? AND timestamp < ? ORDER BY timestamp LIMIT 500";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![project, Column(before)])?;
    let mut ids = Vec::new();
    let mut observations = 0;
    while let Some(row) = rows.next()? {
        observations += row.get::<_, i64>(1)?;
        if !ids.is_empty() && observations > SLICE {
            break;
        }
        ids.push(row.get::<_, Column<TraceId>>(0)?.0);
    }
    Ok(ids)
}
