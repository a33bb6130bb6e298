//! Counts matches among the newest records, with a limit on the rows read.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::narrow::JoinOrder;
use crate::embedded::column::{to_i64, to_u64};
use crate::embedded::filter::{Where, score};
use crate::embedded::load::project_number;
use crate::query::{
    Matching, ObservationColumn, ScoreColumn, SessionColumn, TallyQuery, TraceColumn,
};
use crate::{StoreError, StoreResult};

/// Number of matches among the newest traces.
pub(in crate::embedded) fn traces(
    db: &Connection,
    query: &TallyQuery<TraceColumn>,
) -> StoreResult<Matching> {
    let mut tests = Where::default();
    tests.traces(&query.conditions)?;
    let source = Source { from: "FROM trace t", project: "t.project", time: "t.timestamp" };
    count(db, query, tests, &source, "t.errors > 0")
}

/// Number of matches among the newest observations.
pub(in crate::embedded) fn observations(
    db: &Connection,
    query: &TallyQuery<ObservationColumn>,
) -> StoreResult<Matching> {
    let mut tests = Where::default();
    tests.observations(&query.conditions)?;
    let from = JoinOrder::ByObservation.from();
    let source = Source { from, project: "o.project", time: "o.start" };
    count(db, query, tests, &source, "o.level = 3")
}

/// Number of matches among the newest sessions.
pub(in crate::embedded) fn sessions(
    db: &Connection,
    query: &TallyQuery<SessionColumn>,
) -> StoreResult<Matching> {
    let mut tests = Where::default();
    tests.sessions(&query.conditions)?;
    let source = Source { from: "FROM session s", project: "s.project", time: "s.created_at" };
    count(db, query, tests, &source, "s.errors > 0")
}

/// Number of matches among the newest scores; scores have no errors.
pub(in crate::embedded) fn scores(
    db: &Connection,
    query: &TallyQuery<ScoreColumn>,
) -> StoreResult<Matching> {
    let mut tests = Where::default();
    tests.scores(&query.conditions)?;
    let columns: Vec<_> = query.conditions.iter().map(|condition| condition.column).collect();
    let from = format!("FROM {}", score::from(&columns));
    let source = Source { from: &from, project: "s.project", time: "s.timestamp" };
    count(db, query, tests, &source, "0")
}

struct Source<'a> {
    from: &'a str,
    project: &'static str,
    time: &'static str,
}

fn count<C>(
    db: &Connection,
    query: &TallyQuery<C>,
    tests: Where,
    source: &Source<'_>,
    failed: &str,
) -> StoreResult<Matching> {
    if !tests.content.is_empty() {
        let why =
            "conditions on input, output or metadata cannot be counted; use search".to_owned();
        return Err(StoreError::BadQuery(why));
    }
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(Matching::default()) };
    let Source { from, project: of_project, time } = *source;
    let mut newest = Where::default();
    newest.and(format!("{of_project} = ?"), [project.into()]);
    newest.within(time, query.range);
    let passes = match tests.clauses.as_slice() {
        [] => "1".to_owned(),
        clauses => format!("coalesce(({}), 0)", clauses.join(") AND (")),
    };
    let sql = format!(
        "SELECT count(*), coalesce(sum(passes), 0), coalesce(sum(passes AND failed), 0) FROM \
         (SELECT {passes} AS passes, {failed} AS failed {from} {} ORDER BY {time} DESC LIMIT ?)",
        newest.sql()
    );
    let beyond = newest.clone();
    let limit = Value::Integer(to_i64(query.at_most));
    let params = tests.params.into_iter().chain(newest.params).chain([limit]);
    let read = || {
        db.prepare_cached(&sql)?.query_row(params_from_iter(params), |row| {
            Ok(Matching {
                looked_at: to_u64(row.get(0)?),
                matching: to_u64(row.get(1)?),
                failed: to_u64(row.get(2)?),
                is_cut: false,
            })
        })
    };
    let found: Matching = read().map_err(StoreError::database)?;
    let sql = format!("SELECT 1 {from} {} ORDER BY {time} DESC LIMIT 1 OFFSET ?", beyond.sql());
    let next = || {
        let params = beyond.params.into_iter().chain([Value::Integer(to_i64(query.at_most))]);
        db.prepare_cached(&sql)?.exists(params_from_iter(params))
    };
    let is_cut = found.looked_at >= query.at_most && next().map_err(StoreError::database)?;
    Ok(Matching { is_cut, ..found })
}
