use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params_from_iter};

use crate::embedded::column::{Column, to_u64};
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::user_row::DAY;
use crate::query::TimeRange;
use crate::user::{ServedUser, UserDay, UserOrder, UserQuery, UserScope, UserSums, Users};
use crate::{StoreError, StoreResult};

/// Maximum number of users in a result.
const MAX_LIMIT: u64 = 10_000;
/// Maximum number of days in a result: ten years.
const MAX_DAYS: u32 = 3_660;

const SUMS: &str = "sum(u.traces), sum(u.errors), sum(u.total_tokens), sum(u.cost), \
     sum(u.costs_known), max(u.last_at), sum(u.approximate_cost)";

/// Matching users, greatest first.
pub(in crate::embedded) fn list(db: &Connection, query: &UserQuery) -> StoreResult<Users> {
    if query.limit > MAX_LIMIT {
        return Err(StoreError::BadQuery(format!("limit is at most {MAX_LIMIT}")));
    }
    let Some(mut filter) = filter(db, &query.scope).map_err(StoreError::database)? else {
        return Ok(Users::default());
    };
    if !query.containing.is_empty() {
        filter.and("instr(fold(u.user), fold(?)) > 0", [query.containing.clone().into()]);
    }
    let sql = format!(
        "SELECT {SUMS}, u.user, count(*) OVER () FROM user_day u {} GROUP BY u.user \
         ORDER BY {} DESC, u.user LIMIT {}",
        filter.sql(),
        order(query.order),
        query.limit,
    );
    read_users(db, &sql, &filter).map_err(StoreError::database)
}

fn read_users(db: &Connection, sql: &str, filter: &Where) -> rusqlite::Result<Users> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(filter.params.iter()))?;
    let mut users = Users::default();
    while let Some(row) = rows.next()? {
        users.total = row.get(8).map(to_u64)?;
        users.rows.push(ServedUser { id: row.get(7)?, sums: sums(row)? });
    }
    Ok(users)
}

/// One user's days, oldest first.
pub(in crate::embedded) fn days(
    db: &Connection,
    scope: &UserScope,
    user: &str,
) -> rusqlite::Result<Vec<UserDay>> {
    let Some(mut filter) = filter(db, scope)? else { return Ok(Vec::new()) };
    filter.and("u.user = ?", [user.to_owned().into()]);
    let sql = format!(
        "SELECT {SUMS}, u.day FROM user_day u INDEXED BY user_day_by_user {} GROUP BY u.day \
         ORDER BY u.day DESC LIMIT {MAX_DAYS}",
        filter.sql(),
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(filter.params.iter()), |row| {
        let day: i64 = row.get(7)?;
        Ok(UserDay { day: Timestamp::from_nanos(day.saturating_mul(DAY)), sums: sums(row)? })
    })?;
    let mut days: Vec<UserDay> = rows.collect::<rusqlite::Result<_>>()?;
    days.reverse();
    Ok(days)
}

/// The row filter; `None` if the project has no telemetry.
fn filter(db: &Connection, scope: &UserScope) -> rusqlite::Result<Option<Where>> {
    let Some(project) = project_number(db, &scope.project)? else { return Ok(None) };
    let mut filter = Where::default();
    filter.and("u.project = ?", [project.into()]);
    let TimeRange { from, to } = scope.range;
    if let Some(from) = from {
        filter.and("u.day >= ?", [from.nanos().div_euclid(DAY).into()]);
    }
    if let Some(to) = to {
        filter.and("u.day <= ?", [to.nanos().saturating_sub(1).div_euclid(DAY).into()]);
    }
    if !scope.environments.is_empty() {
        filter.any_environment("u.environment", &scope.environments);
    }
    Ok(Some(filter))
}

fn order(order: UserOrder) -> &'static str {
    match order {
        UserOrder::LastSeen => "max(u.last_at)",
        UserOrder::Traces => "sum(u.traces)",
        UserOrder::Errors => "sum(u.errors)",
        UserOrder::Tokens => "sum(u.total_tokens)",
        UserOrder::Cost => "sum(u.cost)",
    }
}

fn sums(row: &Row<'_>) -> rusqlite::Result<UserSums> {
    let known: i64 = row.get(4)?;
    let cost = Money::from_pico(row.get(3)?);
    Ok(UserSums {
        traces: row.get(0).map(to_u64)?,
        errors: row.get(1).map(to_u64)?,
        total_tokens: row.get(2).map(to_u64)?,
        cost: (known > 0).then_some(cost),
        approximate_cost: Money::from_pico(row.get(6)?),
        last_at: row.get::<_, Column<_>>(5)?.0,
    })
}
