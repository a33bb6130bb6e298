//! A session's row: sums over its traces, maintained on every change of a trace.

use ratchet_core::environment::Environment;
use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_core::record::session::Session;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::column::{Column, to_i64, to_u64};
use super::trace_row::TraceRow;

/// The columns of a session in the order that [`read`] expects.
pub(super) const COLUMNS: &str = "s.id, s.created_at, s.last_at, s.environment, s.traces, \
    s.total_tokens, s.cost, s.costs_known, s.errors, s.approximate_cost";

pub(super) const COLUMN_COUNT: usize = 10;

/// Reads a row selected by [`COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    let known: i64 = row.get(7)?;
    let cost = Money::from_pico(row.get(6)?);
    Ok(Session {
        id: row.get::<_, Column<_>>(0)?.0,
        created_at: row.get::<_, Column<_>>(1)?.0,
        last_at: row.get::<_, Column<_>>(2)?.0,
        environment: row.get::<_, Column<_>>(3)?.0,
        traces: row.get(4).map(to_u64)?,
        errors: row.get(8).map(to_u64)?,
        total_tokens: row.get(5).map(to_u64)?,
        cost: (known > 0).then_some(cost),
        approximate_cost: Money::from_pico(row.get(9)?),
    })
}

/// A trace before and after a write, whose old and new session must be updated.
pub(super) struct SessionChange<'a> {
    pub(super) before: Option<&'a TraceRow>,
    pub(super) after: Option<&'a TraceRow>,
}

/// A trace's contribution to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part<'a> {
    session: &'a SessionId,
    timestamp: Timestamp,
    environment: Option<&'a Environment>,
}

impl SessionChange<'_> {
    /// Updates the sessions. The trace's row must have been written or deleted.
    ///
    /// A new trace is added to its session and a changed one adds the difference, whatever the size
    /// of the session. Only a trace that changes its session or its time requires a recomputation.
    pub(super) fn apply(&self, db: &Connection, project: i64) -> rusqlite::Result<()> {
        match (self.before.and_then(part_of), self.after.and_then(part_of)) {
            (None, None) => Ok(()),
            (None, Some(part)) => self.add(db, project, part, 1),
            (Some(was), Some(is)) if was == is => self.add(db, project, is, 0),
            (was, is) => {
                for part in [was, is].into_iter().flatten() {
                    let is_left = sum_up(db, project, part.session)?;
                    let is_gone = !is_left && self.after.is_none();
                    if is_gone {
                        delete_scores(db, project, part.session)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn add(
        &self,
        db: &Connection,
        project: i64,
        part: Part<'_>,
        traces: i64,
    ) -> rusqlite::Result<()> {
        let difference = |sum: fn(&TraceRow) -> i64| {
            let counted = if traces == 0 { self.before.map_or(0, sum) } else { 0 };
            self.after.map_or(0, sum) - counted
        };
        let sql = "INSERT INTO session (project, id, created_at, last_at, environment, traces, \
                   total_tokens, cost, costs_known, errors, approximate_cost) \
                   VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
                   ON CONFLICT (project, id) DO UPDATE SET \
                   environment = CASE WHEN ?3 < created_at THEN ?4 \
                   WHEN ?3 = created_at AND coalesce(?4, 'default') < \
                   coalesce(environment, 'default') THEN ?4 ELSE environment END, \
                   created_at = min(created_at, ?3), last_at = max(last_at, ?3), \
                   traces = traces + ?5, total_tokens = total_tokens + ?6, cost = cost + ?7, \
                   costs_known = costs_known + ?8, errors = errors + ?9, \
                   approximate_cost = approximate_cost + ?10";
        db.prepare_cached(sql)?.execute(params![
            project,
            Column(part.session),
            Column(part.timestamp),
            part.environment.map(Column),
            traces,
            difference(|row| to_i64(row.sums.total_tokens)),
            difference(|row| row.sums.cost.pico()),
            difference(|row| to_i64(row.sums.costs_known)),
            difference(|row| to_i64(row.sums.levels.error)),
            difference(|row| row.sums.approximate_cost.pico()),
        ])?;
        Ok(())
    }
}

fn part_of(row: &TraceRow) -> Option<Part<'_>> {
    let session = row.patch.session.value()?;
    let environment = row.patch.environment.value();
    Some(Part { session, timestamp: row.timestamp(), environment })
}

/// Recomputes a session from its traces; returns whether it still has any.
fn sum_up(db: &Connection, project: i64, session: &SessionId) -> rusqlite::Result<bool> {
    let key = params![project, Column(session)];
    db.prepare_cached("DELETE FROM session WHERE project = ? AND id = ?")?.execute(key)?;
    let sql = "INSERT INTO session (project, id, created_at, last_at, environment, traces, \
               total_tokens, cost, costs_known, errors, approximate_cost) \
               SELECT ?1, ?2, min(timestamp), max(timestamp), \
               (SELECT environment FROM trace WHERE project = ?1 AND session = ?2 \
                ORDER BY timestamp, coalesce(environment, 'default') LIMIT 1), \
               count(*), sum(total_tokens), sum(cost), sum(costs_known), sum(errors), \
               sum(approximate_cost) \
               FROM trace WHERE project = ?1 AND session = ?2 HAVING count(*) > 0";
    Ok(db.prepare_cached(sql)?.execute(key)? > 0)
}

fn delete_scores(db: &Connection, project: i64, session: &SessionId) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM score WHERE project = ? AND session = ?")?
        .execute(params![project, Column(session)])?;
    Ok(())
}
