use std::time::Duration;

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::trace::{Content, Trace};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::deadline_query::Walk;
use super::{List, Listed, narrow, nothing};
use crate::deadline_query::DeadlinePage;
use crate::embedded::column::{Column, to_u64};
use crate::embedded::content::{self, ContentBudget};
use crate::embedded::filter::{ContentPart, Where};
use crate::embedded::load::{load_trace, project_number};
use crate::embedded::payload::Blocks;
use crate::embedded::trace_row::{self, TraceRow};
use crate::project::ProjectId;
use crate::query::{Page, Paging, Test, TimeRange, TraceOrder, TraceQuery};
use crate::{StoreError, StoreResult};

pub(in crate::embedded) fn list(db: &Connection, query: &TraceQuery) -> StoreResult<Page<Trace>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let order = match query.paging {
        Paging::Numbered(_) => order_columns(query.order.0),
        Paging::After { .. } => cursor_columns(query.order.0),
    };
    let list = asked(db, project, query, &order)?;
    let read = reader(db, query, list.filter.content.clone());
    list.read::<_, 2>(db, read)
}

/// Matching traces by time, found before the deadline.
pub(in crate::embedded) fn seek(
    db: &Connection,
    query: &TraceQuery,
    time: Duration,
) -> StoreResult<DeadlinePage<Trace>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let is_few = |project| narrow::are_few_traces(db, project, &query.conditions);
    let is_found_soon = match project {
        Some(project) if !query.conditions.is_empty() => {
            is_few(project).map_err(StoreError::database)?
        }
        _ => true,
    };
    let Some(project) = project.filter(|_| !is_found_soon) else {
        return Ok(DeadlinePage { page: list(db, query)?, reached: None });
    };
    let order = cursor_columns(TraceOrder::Timestamp);
    let mut walk = Walk { from: "FROM trace t", filter: Where::default() };
    walk.filter.and("t.project = ?", [project.into()]);
    walk.filter.within("t.timestamp", query.range);
    let list = asked(db, project, query, &order)?;
    let read = reader(db, query, list.filter.content.clone());
    list.seek::<_, 2>(db, (&walk, time), read)
}

fn asked<'a>(
    db: &Connection,
    project: i64,
    query: &'a TraceQuery,
    order: &'a [&'static str; 2],
) -> StoreResult<List<'a>> {
    let mut filter = Where::default();
    filter.and("t.project = ?", [project.into()]);
    filter.within("t.timestamp", query.range);
    filter.traces(&query.conditions)?;
    let is_everything = query.range == TimeRange::default() && query.conditions.is_empty();
    Ok(List {
        select: format!("SELECT {}, {} FROM trace t", trace_row::COLUMNS, order[0]),
        count: "SELECT count(*) FROM trace t".to_owned(),
        filter,
        order,
        direction: query.order.1,
        paging: &query.paging,
        known_total: is_everything.then(|| tally(db, project)).transpose()?,
    })
}

/// Reads a row that [`asked`] selects, if its content passes the conditions.
fn reader(
    db: &Connection,
    query: &TraceQuery,
    tests: Vec<(ContentPart, Test)>,
) -> impl FnMut(&Row<'_>) -> rusqlite::Result<Option<Listed<Trace>>> {
    let mut blocks = Blocks::new(db);
    let mut budget = ContentBudget::new(query.detail);
    move |row| {
        let keys = vec![row.get(trace_row::COLUMN_COUNT)?, row.get(0)?];
        let row = trace_row::read(row, Default::default())?;
        let is_shown = budget.has_room();
        let needs_content = is_shown || !tests.is_empty();
        let content = if needs_content { Some(content_of(db, &mut blocks, &row)?) } else { None };
        if content.as_ref().is_some_and(|content| !content::passes(content, &tests)) {
            return Ok(None);
        }
        let content = content.filter(|_| is_shown).inspect(|content| budget.charge(content));
        Ok(Some(Listed { row: Trace { content, ..row.into_trace() }, keys }))
    }
}

/// One trace with its content.
pub(in crate::embedded) fn one(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> rusqlite::Result<Option<Trace>> {
    let Some(project) = project_number(db, project)? else { return Ok(None) };
    let Some(row) = load_trace(db, project, id)? else { return Ok(None) };
    let content = content_of(db, &mut Blocks::new(db), &row)?;
    Ok(Some(Trace { content: Some(content), ..row.into_trace() }))
}

/// Those of some traces that exist, without content.
pub(in crate::embedded) fn find(
    db: &Connection,
    project: &ProjectId,
    ids: &[TraceId],
) -> rusqlite::Result<Vec<Trace>> {
    let Some(project) = project_number(db, project)? else { return Ok(Vec::new()) };
    let sql =
        format!("SELECT {} FROM trace t WHERE t.project = ? AND t.id = ?", trace_row::COLUMNS);
    let mut statement = db.prepare_cached(&sql)?;
    let mut found = Vec::new();
    for id in ids {
        let row = statement.query_row(params![project, Column(id)], |row| {
            trace_row::read(row, Default::default())
        });
        found.extend(row.optional()?.map(TraceRow::into_trace));
    }
    Ok(found)
}

/// The content of a trace; missing fields are taken from its root observation.
pub(super) fn content_of(
    db: &Connection,
    blocks: &mut Blocks<'_>,
    row: &TraceRow,
) -> rusqlite::Result<Content> {
    let own = blocks.entry(row.payload, 0)?.unwrap_or_default().into_content();
    if own.input.is_some() && own.output.is_some() {
        return Ok(own);
    }
    let Some(root) = row.patch.root.value() else { return Ok(own) };
    let Some((payload, entry)) = payload_of(db, row.no, root)? else { return Ok(own) };
    let root = blocks.entry(payload, entry)?.unwrap_or_default();
    Ok(Content { input: own.input.or(root.input), output: own.output.or(root.output), ..own })
}

fn payload_of(
    db: &Connection,
    trace: i64,
    id: &ObservationId,
) -> rusqlite::Result<Option<(Option<i64>, u32)>> {
    db.prepare_cached("SELECT payload, entry FROM observation WHERE trace = ? AND id = ?")?
        .query_row(params![trace, Column(id)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn tally(db: &Connection, project: i64) -> StoreResult<u64> {
    let sql = "SELECT traces FROM project WHERE no = ?";
    let count = db.query_row(sql, [project], |row| row.get(0)).map_err(StoreError::database)?;
    Ok(to_u64(count))
}

fn order_columns(order: TraceOrder) -> [&'static str; 2] {
    let column = match order {
        TraceOrder::Timestamp => "t.timestamp",
        TraceOrder::Id => "t.id",
        TraceOrder::Name => "t.name",
        TraceOrder::User => "t.user",
        TraceOrder::Session => "t.session",
        TraceOrder::Release => "t.release",
        TraceOrder::Version => "t.version",
        TraceOrder::Public => "coalesce(t.public, 0)",
        TraceOrder::Bookmarked => "coalesce(t.bookmarked, 0)",
        TraceOrder::Latency => "(t.end - t.start)",
        // An unknown cost is not a cost of zero.
        TraceOrder::Cost => "CASE WHEN t.costs_known > 0 THEN t.cost END",
        TraceOrder::TotalTokens => "t.total_tokens",
    };
    [column, "t.no"]
}

/// The same order with NULLs replaced: a cursor cannot contain NULL.
fn cursor_columns(order: TraceOrder) -> [&'static str; 2] {
    let column = match order {
        TraceOrder::Name => "coalesce(t.name, '')",
        TraceOrder::User => "coalesce(t.user, '')",
        TraceOrder::Session => "coalesce(t.session, '')",
        TraceOrder::Release => "coalesce(t.release, '')",
        TraceOrder::Version => "coalesce(t.version, '')",
        TraceOrder::Latency => "coalesce(t.end - t.start, -1)",
        TraceOrder::Cost => "CASE WHEN t.costs_known > 0 THEN t.cost ELSE -1 END",
        TraceOrder::Timestamp
        | TraceOrder::Id
        | TraceOrder::Public
        | TraceOrder::Bookmarked
        | TraceOrder::TotalTokens => return order_columns(order),
    };
    [column, "t.no"]
}
