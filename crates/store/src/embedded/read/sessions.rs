use std::time::Duration;

use ratchet_core::id::SessionId;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::deadline_query::Walk;
use super::traces::content_of;
use super::{List, Listed, nothing};
use crate::deadline_query::DeadlinePage;
use crate::embedded::column::Column;
use crate::embedded::filter::Where;
use crate::embedded::filter::session::DURATION;
use crate::embedded::load::project_number;
use crate::embedded::payload::Blocks;
use crate::embedded::session_row;
use crate::embedded::trace_row::{self, TraceRow};
use crate::project::ProjectId;
use crate::query::{
    Condition, Direction, Page, SessionColumn, SessionEnds, SessionOrder, SessionQuery, Test,
    TextTest,
};
use crate::{StoreError, StoreResult};

/// The sessions that match, newest first.
pub(in crate::embedded) fn list(
    db: &Connection,
    query: &SessionQuery,
) -> StoreResult<Page<Session>> {
    sorted(db, query, (SessionOrder::CreatedAt, Direction::Descending))
}

/// The sessions that match, in any order.
pub(in crate::embedded) fn sorted(
    db: &Connection,
    query: &SessionQuery,
    (order, direction): (SessionOrder, Direction),
) -> StoreResult<Page<Session>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let order = order_columns(order);
    asked(project, query, (&order, direction))?.read::<_, 2>(db, row)
}

/// Matching sessions by time, found before the deadline.
pub(in crate::embedded) fn seek(
    db: &Connection,
    query: &SessionQuery,
    (direction, time): (Direction, Duration),
) -> StoreResult<DeadlinePage<Session>> {
    let order = (SessionOrder::CreatedAt, direction);
    let is_one = |condition: &Condition<SessionColumn>| {
        let is_exact = matches!(condition.test, Test::Text(TextTest::Equals, _) | Test::AnyOf(_));
        condition.column == SessionColumn::Id && is_exact
    };
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let is_found_soon = query.conditions.is_empty() || query.conditions.iter().any(is_one);
    let Some(project) = project.filter(|_| !is_found_soon) else {
        return Ok(DeadlinePage { page: sorted(db, query, order)?, reached: None });
    };
    let mut walk = Walk { from: "FROM session s", filter: Where::default() };
    walk.filter.and("s.project = ?", [project.into()]);
    walk.filter.within("s.created_at", query.range);
    let columns = order_columns(SessionOrder::CreatedAt);
    asked(project, query, (&columns, direction))?.seek::<_, 2>(db, (&walk, time), row)
}

fn asked<'a>(
    project: i64,
    query: &'a SessionQuery,
    (order, direction): (&'a [&'static str; 2], Direction),
) -> StoreResult<List<'a>> {
    let mut filter = Where::default();
    filter.and("s.project = ?", [project.into()]);
    filter.within("s.created_at", query.range);
    filter.sessions(&query.conditions)?;
    Ok(List {
        select: format!("SELECT {}, {} FROM session s", session_row::COLUMNS, order[0]),
        count: "SELECT count(*) FROM session s".to_owned(),
        filter,
        order,
        direction,
        paging: &query.paging,
        known_total: None,
    })
}

/// Reads a row that [`asked`] selects.
fn row(row: &Row<'_>) -> rusqlite::Result<Option<Listed<Session>>> {
    let keys = vec![row.get(session_row::COLUMN_COUNT)?, row.get(0)?];
    Ok(Some(Listed { row: session_row::read(row)?, keys }))
}

/// Sort keys without NULLs, which a cursor cannot contain.
fn order_columns(order: SessionOrder) -> [&'static str; 2] {
    let column = match order {
        SessionOrder::CreatedAt => "s.created_at",
        SessionOrder::LastActivity => "s.last_at",
        SessionOrder::Id => "s.id",
        SessionOrder::TraceCount => "s.traces",
        SessionOrder::ErrorCount => "s.errors",
        SessionOrder::Duration => DURATION,
        SessionOrder::TotalTokens => "s.total_tokens",
        SessionOrder::Cost => "CASE WHEN s.costs_known > 0 THEN s.cost ELSE -1 END",
    };
    [column, "s.id"]
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

/// The first and the last trace of each session, with their content.
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
        let closing = last.query_row(params![project, Column(id)], read).optional()?;
        ends.push(SessionEnds {
            first: opening.map(|row| whole(db, &mut blocks, row)).transpose()?,
            last: closing.map(|row| whole(db, &mut blocks, row)).transpose()?,
        });
    }
    Ok(ends)
}

fn whole(db: &Connection, blocks: &mut Blocks<'_>, row: TraceRow) -> rusqlite::Result<Trace> {
    let content = Some(content_of(db, blocks, &row)?);
    Ok(Trace { content, ..row.into_trace() })
}
