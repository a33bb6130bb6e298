use ratchet_core::score::Score;
use rusqlite::Connection;

use super::{List, Listed, nothing};
use crate::embedded::filter::{Where, id_value};
use crate::embedded::load::project_number;
use crate::embedded::score_row;
use crate::query::{Direction, Page, ScoreQuery, ScoresOn};
use crate::{StoreError, StoreResult};

/// The scores that match, newest first.
pub(in crate::embedded) fn list(db: &Connection, query: &ScoreQuery) -> StoreResult<Page<Score>> {
    let project = project_number(db, &query.project).map_err(StoreError::Database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let mut filter = Where::default();
    filter.and("s.project = ?", [project.into()]);
    filter.within("s.timestamp", query.range);
    match &query.on {
        ScoresOn::Anything => {}
        ScoresOn::Trace(trace) => filter.and("s.trace = ?", [id_value(&trace.to_string())]),
        ScoresOn::Observation(trace, observation) => filter.and(
            "s.trace = ? AND s.observation = ?",
            [id_value(&trace.to_string()), id_value(&observation.to_string())],
        ),
        ScoresOn::Session(session) => {
            filter.and("s.session = ?", [id_value(&session.to_string())]);
        }
    }
    if let Some(name) = &query.name {
        filter.and("s.name = ?", [name.clone().into()]);
    }
    // The plus keeps SQLite from walking all scores in order of time to find the few of one record.
    let order = match query.on {
        ScoresOn::Anything => &["s.timestamp", "s.no"],
        _ => &["+s.timestamp", "+s.no"],
    };
    let list = List {
        select: format!("SELECT {} FROM score s", score_row::COLUMNS),
        count: "SELECT count(*) FROM score s".to_owned(),
        filter,
        order,
        direction: Direction::Descending,
        paging: &query.paging,
        known_total: None,
    };
    list.read::<_, 2>(db, |row| {
        let keys = vec![row.get(11)?, row.get(0)?];
        Ok(score_row::read(row)?.into_score().map(|row| Listed { row, keys }))
    })
}
