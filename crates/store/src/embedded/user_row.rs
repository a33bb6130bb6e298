//! A user's day: sums over the traces that started then, maintained on every change of a trace.

use ratchet_core::environment::{DEFAULT_ENVIRONMENT, Environment};
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, params};

use super::column::{Column, to_i64};
use super::facts::text;
use super::trace_row::TraceRow;

pub(super) const DAY: i64 = 86_400_000_000_000;

/// A trace before and after a write, whose old and new user must be updated.
pub(super) struct UserChange<'a> {
    pub(super) before: Option<&'a TraceRow>,
    pub(super) after: Option<&'a TraceRow>,
}

/// The row that a trace is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part<'a> {
    user: &'a str,
    day: i64,
    environment: &'a str,
}

/// A trace's contribution to its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    traces: i64,
    errors: i64,
    total_tokens: i64,
    cost: i64,
    costs_known: i64,
    approximate_cost: i64,
}

impl Sums {
    fn of(row: &TraceRow) -> Self {
        Self {
            traces: 1,
            errors: to_i64(row.sums.levels.error),
            total_tokens: to_i64(row.sums.total_tokens),
            cost: row.sums.cost.pico(),
            costs_known: to_i64(row.sums.costs_known),
            approximate_cost: row.sums.approximate_cost.pico(),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            traces: self.traces - other.traces,
            errors: self.errors - other.errors,
            total_tokens: self.total_tokens - other.total_tokens,
            cost: self.cost - other.cost,
            costs_known: self.costs_known - other.costs_known,
            approximate_cost: self.approximate_cost - other.approximate_cost,
        }
    }
}

impl UserChange<'_> {
    /// Updates the days. The trace's row must have been written or deleted.
    pub(super) fn apply(&self, db: &Connection, project: i64) -> rusqlite::Result<()> {
        let was = self.before.and_then(|row| Some((part_of(row)?, row)));
        let is = self.after.and_then(|row| Some((part_of(row)?, row)));
        if let (Some((part, before)), Some((same, after))) = (was, is)
            && part == same
        {
            let change = Sums::of(after).minus(Sums::of(before));
            let (from, to) = (before.timestamp(), after.timestamp());
            if change != Sums::default() || from != to {
                part.add(db, project, change, to)?;
            }
            return if to < from { part.recompute_last_seen(db, project) } else { Ok(()) };
        }
        if let Some((part, row)) = was {
            part.add(db, project, Sums::default().minus(Sums::of(row)), row.timestamp())?;
            part.recompute_last_seen(db, project)?;
        }
        if let Some((part, row)) = is {
            part.add(db, project, Sums::of(row), row.timestamp())?;
        }
        Ok(())
    }
}

impl Part<'_> {
    fn add(
        self,
        db: &Connection,
        project: i64,
        sums: Sums,
        seen_at: Timestamp,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO user_day (project, day, user, environment, traces, errors, \
                   total_tokens, cost, costs_known, last_at, approximate_cost) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
                   ON CONFLICT (project, day, user, environment) DO UPDATE SET \
                   traces = traces + ?5, errors = errors + ?6, \
                   total_tokens = total_tokens + ?7, cost = cost + ?8, \
                   costs_known = costs_known + ?9, last_at = max(last_at, ?10), \
                   approximate_cost = approximate_cost + ?11";
        db.prepare_cached(sql)?.execute(params![
            project,
            self.day,
            self.user,
            self.environment,
            sums.traces,
            sums.errors,
            sums.total_tokens,
            sums.cost,
            sums.costs_known,
            Column(seen_at),
            sums.approximate_cost,
        ])?;
        Ok(())
    }

    /// Recomputes when the user was last seen that day, after the latest trace was deleted or
    /// moved. A day without traces is deleted.
    fn recompute_last_seen(self, db: &Connection, project: i64) -> rusqlite::Result<()> {
        let (from, to) = (self.day.saturating_mul(DAY), (self.day + 1).saturating_mul(DAY));
        let row = params![project, self.day, self.user, self.environment];
        let empty = "DELETE FROM user_day WHERE project = ? AND day = ? AND user = ? \
                     AND environment = ? AND traces = 0";
        if db.prepare_cached(empty)?.execute(row)? > 0 {
            return Ok(());
        }
        let sql = "UPDATE user_day SET last_at = coalesce((SELECT timestamp FROM trace \
                   WHERE project = ?1 AND user = ?3 AND timestamp >= ?5 AND timestamp < ?6 \
                   AND coalesce(environment, ?7) = ?4 ORDER BY timestamp DESC LIMIT 1), last_at) \
                   WHERE project = ?1 AND day = ?2 AND user = ?3 AND environment = ?4";
        db.prepare_cached(sql)?.execute(params![
            project,
            self.day,
            self.user,
            self.environment,
            from,
            to,
            DEFAULT_ENVIRONMENT,
        ])?;
        Ok(())
    }
}

fn part_of(row: &TraceRow) -> Option<Part<'_>> {
    let user = text(&row.patch.user).filter(|user| !user.is_empty())?;
    let environment = row.patch.environment.value();
    Some(Part {
        user,
        day: row.timestamp().nanos().div_euclid(DAY),
        environment: environment.map_or(DEFAULT_ENVIRONMENT, Environment::as_str),
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::Row;

    use super::super::TELEMETRY_MIGRATIONS;
    use super::super::connection::{Purpose, migrate, open};

    /// Index of the migration that adds users' days and sessions' errors.
    const USER_DAYS_MIGRATION: usize = 5;

    #[test]
    fn an_older_folder_learns_of_its_users_and_its_sessions_errors() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("telemetry.db");
        let mut db = open(&file, Purpose::Write).unwrap();
        migrate(&mut db, &file, &TELEMETRY_MIGRATIONS[..USER_DAYS_MIGRATION]).unwrap();
        let trace = |no: i64, at: i64, who: &str, place: &str, errors: i64| {
            format!(
                "INSERT INTO trace (no, project, id, timestamp, user, session, environment, \
                 debugs, defaults, warnings, errors, input_tokens, output_tokens, total_tokens, \
                 cost, costs_known, stamps, blocks, created_at, updated_at) VALUES ({no}, 1, \
                 't{no}', {at}, {who}, 's', {place}, 0, 0, 0, {errors}, 0, 0, 10, 5, 1, x'', 0, \
                 0, 0);"
            )
        };
        let session = "INSERT INTO session (project, id, created_at, last_at, traces, \
                       total_tokens, cost, costs_known) VALUES (1, 's', 0, 0, 4, 0, 0, 0);";
        let story = [
            session.to_owned(),
            trace(1, -1, "'ann'", "NULL", 0),
            trace(2, 0, "'ann'", "'default'", 2),
            trace(3, 86_399_999_999_999, "'ann'", "NULL", 1),
            trace(4, 7, "''", "'prod'", 0),
            trace(5, 7, "NULL", "'prod'", 0),
        ];
        db.execute_batch(&story.concat()).unwrap();
        migrate(&mut db, &file, &TELEMETRY_MIGRATIONS[..=USER_DAYS_MIGRATION]).unwrap();
        let sql = "SELECT day, traces, errors, total_tokens, last_at FROM user_day ORDER BY day";
        let mut statement = db.prepare(sql).unwrap();
        let read =
            |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]);
        let days: Vec<[i64; 5]> =
            statement.query_map([], read).unwrap().map(Result::unwrap).collect();
        assert_eq!(days, [[-1, 1, 0, 10, -1], [0, 2, 3, 20, 86_399_999_999_999]]);
        let errors: i64 = db.query_row("SELECT errors FROM session", [], |row| row.get(0)).unwrap();
        assert_eq!(errors, 3);
    }

    /// Index of the migration that adds approximate costs to users' days.
    const APPROXIMATE_COST_MIGRATION: usize = 10;

    #[test]
    fn an_older_folder_learns_how_much_of_its_users_costs_is_approximate() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("telemetry.db");
        let mut db = open(&file, Purpose::Write).unwrap();
        migrate(&mut db, &file, &TELEMETRY_MIGRATIONS[..APPROXIMATE_COST_MIGRATION]).unwrap();
        let trace = |no: i64, at: i64, approximate: i64| {
            format!(
                "INSERT INTO trace (no, project, id, timestamp, user, debugs, defaults, warnings, \
                 errors, input_tokens, output_tokens, total_tokens, cost, costs_known, stamps, \
                 blocks, created_at, updated_at, approximate_cost) VALUES ({no}, 1, 't{no}', {at}, \
                 'ann', 0, 0, 0, 0, 0, 0, 10, 5, 1, x'', 0, 0, 0, {approximate});"
            )
        };
        let day = |day: i64| {
            format!(
                "INSERT INTO user_day (project, day, user, environment, traces, errors, \
                 total_tokens, cost, costs_known, last_at) \
                 VALUES (1, {day}, 'ann', 'default', 1, 0, 10, 5, 1, 0);"
            )
        };
        let story = [trace(1, -1, 3), trace(2, 0, 2), trace(3, 9, 2), day(-1), day(0), day(1)];
        db.execute_batch(&story.concat()).unwrap();
        migrate(&mut db, &file, &TELEMETRY_MIGRATIONS[..=APPROXIMATE_COST_MIGRATION]).unwrap();
        let sql = "SELECT day, approximate_cost FROM user_day ORDER BY day";
        let mut statement = db.prepare(sql).unwrap();
        let days = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let days: Vec<(i64, i64)> = days.map(Result::unwrap).collect();
        assert_eq!(days, [(-1, 3), (0, 4), (1, 0)]);
    }
}
