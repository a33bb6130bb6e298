use ratchet_core::id::{Id, TraceId};
use rusqlite::{Connection, OptionalExtension, Statement, params};

use crate::attached::{Attached, AttachedCount, MAX_ATTACHED};
use crate::embedded::column::{Column, to_u64};
use crate::embedded::load::project_number;
use crate::project::ProjectId;

// For a long trace, the first in table order: finding the earliest would mean reading all of them.
// The inner order is that of the key, and stops SQLite from sorting before the limit.
const OBSERVATIONS: &str = "SELECT id FROM (SELECT o.start, o.id FROM observation o \
     WHERE o.trace = (SELECT no FROM trace WHERE project = ? AND id = ?) \
     ORDER BY o.id LIMIT ?) ORDER BY start, id";

// Of many scores, those that were recorded last.
const SCORES: &str = "SELECT id FROM (SELECT s.timestamp, s.no, s.id FROM score s \
     INDEXED BY score_by_trace WHERE s.project = ? AND s.trace = ? \
     ORDER BY s.no DESC LIMIT ?) ORDER BY timestamp DESC, no DESC";

const OBSERVATION_COUNT: &str = "SELECT t.debugs + t.defaults + t.warnings + t.errors \
     FROM trace t WHERE t.project = ? AND t.id = ?";

const SCORE_COUNT: &str = "SELECT count(*) FROM score s INDEXED BY score_by_trace \
     WHERE s.project = ? AND s.trace = ?";

/// Ids of observations and scores of each trace; at most [`MAX_ATTACHED`] of each kind.
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

/// Number of observations and scores of some traces.
pub(in crate::embedded) fn count(
    db: &Connection,
    project: &ProjectId,
    traces: &[TraceId],
) -> rusqlite::Result<AttachedCount> {
    let mut count = AttachedCount::default();
    let Some(project) = project_number(db, project)? else { return Ok(count) };
    let mut observations = db.prepare_cached(OBSERVATION_COUNT)?;
    let mut scores = db.prepare_cached(SCORE_COUNT)?;
    let number = |statement: &mut Statement<'_>, trace: &TraceId| {
        let found = statement.query_row(params![project, Column(trace)], |row| row.get(0));
        Ok::<_, rusqlite::Error>(found.optional()?.map_or(0, to_u64))
    };
    for trace in traces {
        count.observations += number(&mut observations, trace)?;
        count.scores += number(&mut scores, trace)?;
    }
    Ok(count)
}

fn ids<Of>(
    statement: &mut Statement<'_>,
    project: i64,
    trace: &TraceId,
) -> rusqlite::Result<Vec<Id<Of>>> {
    let rows =
        statement.query_map(params![project, Column(trace), MAX_ATTACHED], |row| row.get(0))?;
    rows.map(|id: rusqlite::Result<Column<Id<Of>>>| id.map(|column| column.0)).collect()
}
