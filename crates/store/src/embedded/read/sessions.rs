use ratchet_core::id::SessionId;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use rusqlite::{Connection, OptionalExtension, params};

use super::traces::content_of;
use super::{List, Listed, nothing};
use crate::embedded::column::Column;
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::payload::Blocks;
use crate::embedded::session_row;
use crate::embedded::trace_row::{self, TraceRow};
use crate::project::ProjectId;
use crate::query::{Direction, Page, SessionEnds, SessionQuery};
use crate::{StoreError, StoreResult};

/// The sessions that match, newest first.
pub(in crate::embedded) fn list(
    db: &Connection,
    query: &SessionQuery,
) -> StoreResult<Page<Session>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let mut filter = Where::default();
    filter.and("s.project = ?", [project.into()]);
    filter.within("s.created_at", query.range);
    filter.sessions(&query.conditions)?;
    let list = List {
        select: format!("SELECT {} FROM session s", session_row::COLUMNS),
        count: "SELECT count(*) FROM session s".to_owned(),
        filter,
        order: &["s.created_at", "s.id"],
        direction: Direction::Descending,
        paging: &query.paging,
        known_total: None,
    };
    list.read::<_, 2>(db, |row| {
        let keys = vec![row.get(1)?, row.get(0)?];
        Ok(Some(Listed { row: session_row::read(row)?, keys }))
    })
}

pub(in crate::embedded) fn one(
    db: &Connection,
    project: &ProjectId,
    id: &SessionId,
) -> rusqlite::Result<Option<Session>> {
    let Some(project) = project_number(db, project)? else { return Ok(None) };
    let columns = session_row::COLUMNS;
    db.prepare_cached(&format!("SELECT {columns} FROM session s WHERE s.project = ? AND s.id = ?"))?
        .query_row(params![project, Column(id)], session_row::read)
        .optional()
}

/// The first trace of each session, with its content, and the last one.
pub(in crate::embedded) fn ends(
    db: &Connection,
    project: &ProjectId,
    ids: &[SessionId],
) -> rusqlite::Result<Vec<SessionEnds>> {
    let Some(project) = project_number(db, project)? else {
        return Ok(ids.iter().map(|_| SessionEnds::default()).collect());
    };
    let sql = |order: &str| {
        format!(
            "SELECT {} FROM trace t INDEXED BY trace_by_session \
             WHERE t.project = ? AND t.session = ? ORDER BY t.timestamp {order}, t.no {order} \
             LIMIT 1",
            trace_row::COLUMNS
        )
    };
    let (mut first, mut last) = (db.prepare_cached(&sql("ASC"))?, db.prepare_cached(&sql("DESC"))?);
    let mut blocks = Blocks::new(db);
    let mut ends = Vec::with_capacity(ids.len());
    for id in ids {
        let read = |row: &rusqlite::Row<'_>| trace_row::read(row, Default::default());
        let opening = first.query_row(params![project, Column(id)], read).optional()?;
        let opening = match opening {
            Some(row) => {
                let content = Some(content_of(db, &mut blocks, &row)?);
                Some(Trace { content, ..row.into_trace() })
            }
            None => None,
        };
        let closing = last.query_row(params![project, Column(id)], read).optional()?;
        ends.push(SessionEnds { first: opening, last: closing.map(TraceRow::into_trace) });
    }
    Ok(ends)
}
