use ratchet_core::id::ScoreId;
use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Content;
use rusqlite::Connection;

use super::{List, Listed, nothing};
use crate::embedded::content;
use crate::embedded::filter::score::{is_narrow, is_one_name};
use crate::embedded::filter::{Where, id_value, score};
use crate::embedded::load::{load_score, project_number};
use crate::embedded::score_row::{self, ScoreRow, ScoreTable};
use crate::project::ProjectId;
use crate::query::{Direction, Page, ScoreQuery, ScoresOn};
use crate::{StoreError, StoreResult};

/// The scores that match, newest first.
pub(in crate::embedded) fn list(db: &Connection, query: &ScoreQuery) -> StoreResult<Page<Score>> {
    read(db, query, score_row::COLUMNS)
}

/// The same without their long texts.
pub(in crate::embedded) fn values(db: &Connection, query: &ScoreQuery) -> StoreResult<Page<Score>> {
    read(db, query, score_row::SHORT_COLUMNS)
}

fn read(db: &Connection, query: &ScoreQuery, selected: &str) -> StoreResult<Page<Score>> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let mut filter = Where::default();
    filter.and("s.project = ?", [project.into()]);
    filter.within("s.timestamp", query.range);
    on(&mut filter, &query.on);
    filter.scores(&query.conditions)?;
    let columns: Vec<_> = query.conditions.iter().map(|condition| condition.column).collect();
    let mut from = score::from(&columns).to_owned();
    // The unary plus keeps SQLite from walking all scores in time order to find the few of one
    // record.
    let is_few = query.on != ScoresOn::Anything || query.conditions.iter().any(is_narrow);
    if !is_few && query.conditions.iter().any(is_one_name) {
        from = from.replacen("score s", "score s INDEXED BY score_by_name", 1);
        filter.and("s.no > 0", []);
    }
    let order: &[_] = if is_few { &["+s.timestamp", "+s.no"] } else { &["s.timestamp", "s.no"] };
    let tests = filter.content.clone();
    let list = List {
        select: format!("SELECT {selected} FROM {from}"),
        count: format!("SELECT count(*) FROM {from}"),
        filter,
        order,
        direction: Direction::Descending,
        paging: &query.paging,
        known_total: None,
    };
    list.read::<_, 2>(db, |row| {
        let keys = vec![row.get(11)?, row.get(0)?];
        let Some(row) = score_row::read(row)?.into_score() else { return Ok(None) };
        if !tests.is_empty() {
            let content = Content { metadata: row.metadata.clone(), ..Content::default() };
            if !content::passes(&content, &tests) {
                return Ok(None);
            }
        }
        Ok(Some(Listed { row, keys }))
    })
}

fn on(filter: &mut Where, on: &ScoresOn) {
    match on {
        ScoresOn::Anything => {}
        ScoresOn::Trace(trace) => filter.and("s.trace = ?", [id_value(&trace.to_string())]),
        ScoresOn::Observation(trace, observation) => filter.and(
            "s.trace = ? AND s.observation = ?",
            [id_value(&trace.to_string()), id_value(&observation.to_string())],
        ),
        ScoresOn::Session(session) => {
            filter.and("s.session = ?", [id_value(&session.to_string())]);
        }
        ScoresOn::DatasetRun(run) => filter.and("s.dataset_run = ?", [run.clone().into()]),
    }
}

pub(in crate::embedded) fn one(
    db: &Connection,
    project: &ProjectId,
    id: &ScoreId,
) -> rusqlite::Result<Option<Score>> {
    let Some(project) = project_number(db, project)? else { return Ok(None) };
    Ok(load_score(db, project, id, ScoreTable::Given)?.and_then(ScoreRow::into_score))
}
