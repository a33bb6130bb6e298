use std::time::Duration;

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::observation::Observation;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::deadline_query::Walk;
use super::narrow::JoinOrder;
use super::trace_pages::{self, TracePageCache};
use super::{List, Listed, nothing};
use crate::deadline_query::{DeadlinePage, ObservationOrder};
use crate::embedded::column::{Column, to_u64};
use crate::embedded::content::{self, ContentBudget};
use crate::embedded::filter::{ContentPart, Where, id_value};
use crate::embedded::load::{find_observation, project_number};
use crate::embedded::observation_row::{self, ObservationRow};
use crate::embedded::payload::Blocks;
use crate::project::ProjectId;
use crate::query::{Detail, ObservationQuery, Page, Test, TimeRange};
use crate::{StoreError, StoreResult};

/// Selects observations, with the ids of their traces as additional columns.
pub(super) fn select() -> String {
    format!("SELECT {} {}", columns(), JoinOrder::ByObservation.from())
}

fn columns() -> String {
    format!("{}, t.id", observation_row::COLUMNS)
}

/// Reads a row of [`select`].
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ObservationRow> {
    let trace: Column<TraceId> = row.get(observation_row::WIDTH)?;
    observation_row::read(row, trace.0)
}

pub(in crate::embedded) fn list(
    db: &Connection,
    query: &ObservationQuery,
    cache: &TracePageCache,
) -> StoreResult<Page<Observation>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let way = way(db, project, query)?;
    let list = asked(db, project, query, way)?;
    if let Some(page) = trace_pages::page(db, (project, query), &list, cache)? {
        return Ok(page);
    }
    let read = reader((db, START), query, list.filter.content.clone());
    list.read::<_, 3>(db, read)
}

/// Matching observations found before the deadline.
pub(in crate::embedded) fn seek(
    db: &Connection,
    query: &ObservationQuery,
    (time, cache): (Duration, &TracePageCache),
) -> StoreResult<DeadlinePage<Observation>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let way = project.map(|project| way(db, project, query)).transpose()?;
    let is_found_soon =
        query.trace.is_some() || query.conditions.is_empty() || way == Some(JoinOrder::ByTrace);
    let Some(project) = project.filter(|_| !is_found_soon) else {
        return Ok(DeadlinePage { page: list(db, query, cache)?, reached: None });
    };
    let mut walk = Walk { from: "FROM observation o", filter: Where::default() };
    walk.filter.and("o.project = ?", [project.into()]);
    walk.filter.within("o.start", query.range);
    let list = asked(db, project, query, JoinOrder::ByObservation)?;
    let read = reader((db, START), query, list.filter.content.clone());
    list.seek::<_, 3>(db, (&walk, time), read)
}

/// Matching observations in an order other than time.
pub(in crate::embedded) fn sorted(
    db: &Connection,
    query: &ObservationQuery,
    by: ObservationOrder,
) -> StoreResult<Page<Observation>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let way = way(db, project, query)?;
    let key = match by {
        ObservationOrder::Name => "coalesce(o.name, '')",
        ObservationOrder::Latency => "coalesce(max(o.end, o.start) - o.start, -1)",
        ObservationOrder::Cost => "coalesce(o.cost, -1)",
        ObservationOrder::TotalTokens => "o.total_tokens",
    };
    let order = [key, "o.trace", "o.id"];
    let select = format!("SELECT {}, {key} {}", columns(), way.from());
    let list = List { select, order: &order, ..asked(db, project, query, way)? };
    let read = reader((db, observation_row::WIDTH + 1), query, list.filter.content.clone());
    list.read::<_, 3>(db, read)
}

fn way(db: &Connection, project: i64, query: &ObservationQuery) -> StoreResult<JoinOrder> {
    if query.trace.is_some() {
        return Ok(JoinOrder::ByObservation);
    }
    JoinOrder::of(db, project, &query.conditions).map_err(StoreError::database)
}

fn asked<'a>(
    db: &Connection,
    project: i64,
    query: &'a ObservationQuery,
    way: JoinOrder,
) -> StoreResult<List<'a>> {
    let mut filter = Where::default();
    match &query.trace {
        // By number, so that only the trace's own rows are read.
        Some(trace) => filter.and(
            "o.trace = (SELECT no FROM trace WHERE project = ? AND id = ?)",
            [project.into(), id_value(&trace.to_string())],
        ),
        None => filter.and(way.project(), [project.into()]),
    }
    filter.within("o.start", query.range);
    filter.observations(&query.conditions)?;
    let is_everything =
        query.trace.is_none() && query.range == TimeRange::default() && query.conditions.is_empty();
    Ok(List {
        select: format!("SELECT {} {}", columns(), way.from()),
        count: format!("SELECT count(*) {}", way.from()),
        filter,
        order: &["o.start", "o.trace", "o.id"],
        direction: query.direction,
        paging: &query.paging,
        known_total: is_everything.then(|| tally(db, project)).transpose()?,
    })
}

/// Index of the start column.
const START: usize = 3;

/// Reads a row that [`asked`] selects, if its content passes the conditions. The key is the sort
/// column.
fn reader(
    (db, key): (&Connection, usize),
    query: &ObservationQuery,
    tests: Vec<(ContentPart, Test)>,
) -> impl FnMut(&Row<'_>) -> rusqlite::Result<Option<Listed<Observation>>> {
    let mut blocks = Blocks::new(db);
    let mut budget = ContentBudget::new(query.detail);
    move |row| {
        let keys = vec![row.get(key)?, row.get(0)?, row.get(1)?];
        let row = read(row)?;
        let is_shown = budget.has_room();
        let needs_content = is_shown || !tests.is_empty();
        let row = if needs_content { with_content(&mut blocks, row)? } else { row.observation };
        if row.content.as_ref().is_some_and(|seen| !content::passes(seen, &tests)) {
            return Ok(None);
        }
        let content = row.content.filter(|_| is_shown).inspect(|seen| budget.charge(seen));
        Ok(Some(Listed { row: Observation { content, ..row }, keys }))
    }
}

/// One observation with its content, by id alone.
pub(in crate::embedded) fn one(
    db: &Connection,
    project: &ProjectId,
    id: &ObservationId,
) -> rusqlite::Result<Option<Observation>> {
    let Some(project) = project_number(db, project)? else { return Ok(None) };
    let Some((trace, _)) = find_observation(db, project, id)? else { return Ok(None) };
    let sql = format!("{} WHERE o.trace = ? AND o.id = ?", select());
    let row = db.prepare_cached(&sql)?.query_row(params![trace, Column(id)], read)?;
    with_content(&mut Blocks::new(db), row).map(Some)
}

/// Some observations of a trace, with the content of the first.
pub(in crate::embedded) fn of_trace(
    db: &Connection,
    project: &ProjectId,
    (trace, ids): (&TraceId, &[ObservationId]),
) -> rusqlite::Result<Vec<Observation>> {
    let Some(project) = project_number(db, project)? else { return Ok(Vec::new()) };
    let sql = format!(
        "{} WHERE o.trace = (SELECT no FROM trace WHERE project = ? AND id = ?) AND o.id = ?",
        select()
    );
    let mut statement = db.prepare_cached(&sql)?;
    let (mut blocks, mut budget) = (Blocks::new(db), ContentBudget::new(Detail::BoundedContent));
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let params = params![project, Column(trace), Column(id)];
        let Some(row) = statement.query_row(params, read).optional()? else { continue };
        if !budget.has_room() {
            found.push(row.observation);
            continue;
        }
        let row = with_content(&mut blocks, row)?;
        row.content.iter().for_each(|content| budget.charge(content));
        found.push(row);
    }
    Ok(found)
}

/// The observation with its content.
pub(super) fn with_content(
    blocks: &mut Blocks<'_>,
    row: ObservationRow,
) -> rusqlite::Result<Observation> {
    let entry = blocks.entry(row.payload, row.entry)?.unwrap_or_default();
    Ok(Observation { content: Some(entry.into_content()), ..row.observation })
}

fn tally(db: &Connection, project: i64) -> StoreResult<u64> {
    let sql = "SELECT observations FROM project WHERE no = ?";
    let count = db.query_row(sql, [project], |row| row.get(0)).map_err(StoreError::database)?;
    Ok(to_u64(count))
}
