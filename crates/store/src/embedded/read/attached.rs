use ratchet_core::id::{Id, TraceId};
use rusqlite::{Connection, Statement, params};

use crate::embedded::column::Column;
use crate::embedded::load::project_number;
use crate::project::ProjectId;
use crate::query::Attached;

const OBSERVATIONS: &str = "SELECT o.id FROM observation o \
     WHERE o.trace = (SELECT no FROM trace WHERE project = ? AND id = ?) \
     ORDER BY o.start, o.id";

const SCORES: &str = "SELECT s.id FROM score s INDEXED BY score_by_trace \
     WHERE s.project = ? AND s.trace = ? \
     ORDER BY s.timestamp DESC, s.no DESC";

/// What hangs on each of some traces, by id.
pub(in crate::embedded) fn list(
    db: &Connection,
    project: &ProjectId,
    traces: &[TraceId],
) -> rusqlite::Result<Vec<Attached>> {
    let Some(project) = project_number(db, project)? else {
        return Ok(traces.iter().map(|_| Attached::default()).collect());
    };
    let mut observations = db.prepare_cached(OBSERVATIONS)?;
    let mut scores = db.prepare_cached(SCORES)?;
    let attached = |trace| {
        Ok(Attached {
            observations: ids(&mut observations, project, trace)?,
            scores: ids(&mut scores, project, trace)?,
        })
    };
    traces.iter().map(attached).collect()
}

fn ids<Of>(
    statement: &mut Statement<'_>,
    project: i64,
    trace: &TraceId,
) -> rusqlite::Result<Vec<Id<Of>>> {
    let rows = statement.query_map(params![project, Column(trace)], |row| row.get(0))?;
    rows.map(|id: rusqlite::Result<Column<Id<Of>>>| id.map(|column| column.0)).collect()
}
