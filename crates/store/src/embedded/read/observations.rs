use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::observation::Observation;
use rusqlite::{Connection, Row, params};

use super::narrow::Way;
use super::{List, Listed, nothing};
use crate::embedded::column::{Column, to_u64};
use crate::embedded::content;
use crate::embedded::filter::{Where, id_value};
use crate::embedded::load::{find_observation, project_number};
use crate::embedded::observation_row::{self, ObservationRow};
use crate::embedded::payload::Blocks;
use crate::project::ProjectId;
use crate::query::{Detail, ObservationQuery, Page, TimeRange};
use crate::{StoreError, StoreResult};

/// Observations with the ids of their traces behind the columns of the row.
pub(super) fn select() -> String {
    format!("SELECT {} {}", columns(), Way::ByObservation.from())
}

fn columns() -> String {
    format!("{}, t.id", observation_row::COLUMNS)
}

/// Reads a row of [`select`].
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ObservationRow> {
    let trace: Column<TraceId> = row.get(observation_row::WIDTH)?;
    observation_row::read(row, trace.0)
}

/// The observations that match.
pub(in crate::embedded) fn list(
    db: &Connection,
    query: &ObservationQuery,
) -> StoreResult<Page<Observation>> {
    let project = project_number(db, &query.project).map_err(StoreError::Database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let mut filter = Where::default();
    let mut way = Way::ByObservation;
    match &query.trace {
        // By number, so that only the trace's own rows are read.
        Some(trace) => filter.and(
            "o.trace = (SELECT no FROM trace WHERE project = ? AND id = ?)",
            [project.into(), id_value(&trace.to_string())],
        ),
        None => {
            way = Way::of(db, project, &query.conditions).map_err(StoreError::Database)?;
            filter.and(way.project(), [project.into()]);
        }
    }
    filter.within("o.start", query.range);
    filter.observations(&query.conditions)?;
    let is_everything =
        query.trace.is_none() && query.range == TimeRange::default() && query.conditions.is_empty();
    let list = List {
        select: format!("SELECT {} {}", columns(), way.from()),
        count: format!("SELECT count(*) {}", way.from()),
        filter,
        order: &["o.start", "o.trace", "o.id"],
        direction: query.direction,
        paging: &query.paging,
        known_total: is_everything.then(|| tally(db, project)).transpose()?,
    };
    let tests = list.filter.content.clone();
    let mut blocks = Blocks::new(db);
    list.read::<_, 3>(db, |row| {
        let needs_content = query.detail == Detail::Content || !tests.is_empty();
        let keys = vec![row.get(3)?, row.get(0)?, row.get(1)?];
        let row = read(row)?;
        let row = if needs_content { with_content(&mut blocks, row)? } else { row.observation };
        let fails = row.content.as_ref().is_some_and(|seen| !content::passes(seen, &tests));
        Ok((!fails).then_some(Listed { row, keys }))
    })
}

/// One observation with what it carries, found by its id alone.
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

/// The observation with what it carries.
pub(super) fn with_content(
    blocks: &mut Blocks<'_>,
    row: ObservationRow,
) -> rusqlite::Result<Observation> {
    let entry = blocks.entry(row.payload, row.entry)?.unwrap_or_default();
    Ok(Observation { content: Some(entry.into_content()), ..row.observation })
}

fn tally(db: &Connection, project: i64) -> StoreResult<u64> {
    let sql = "SELECT observations FROM project WHERE no = ?";
    let count = db.query_row(sql, [project], |row| row.get(0)).map_err(StoreError::Database)?;
    Ok(to_u64(count))
}
