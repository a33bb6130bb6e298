use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::observations;
use crate::aggregate::{
    Aggregate, AggregateDimension, AggregateQuery, AggregateSource, Group, Step, Sums,
};
use crate::embedded::column::{Column, column_value};
use crate::embedded::content;
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::observation_row::WIDTH;
use crate::embedded::payload::Blocks;
use crate::embedded::rollup::{HOUR, NONE, OTHER, SUMS, add_facts, read_sums};
use crate::metrics::table::{MAX_GROUPS, OTHER_GROUP, too_many_steps};
use crate::query::TimeRange;
use crate::{StoreError, StoreResult};

/// The groups of an answer, limited in number, with the rest under [`OTHER_GROUP`]: names chosen by
/// clients must not decide how much memory an answer takes.
#[derive(Debug, Default)]
struct Groups(BTreeMap<(Option<Timestamp>, Vec<Option<String>>), Sums>);

impl Groups {
    /// The sums of a group; those of "other" for its time if there are too many groups.
    fn at(&mut self, at: Option<Timestamp>, key: Vec<Option<String>>) -> StoreResult<&mut Sums> {
        let mut group_key = (at, key);
        if self.0.len() >= MAX_GROUPS && !self.0.contains_key(&group_key) {
            group_key.1.fill(Some(OTHER_GROUP.to_owned()));
            let is_full = self.0.len() >= 2 * MAX_GROUPS && !self.0.contains_key(&group_key);
            if is_full {
                return Err(too_many_steps());
            }
        }
        Ok(self.0.entry(group_key).or_default())
    }

    fn into_groups(self) -> Vec<Group> {
        self.0.into_iter().map(|((at, key), sums)| Group { at, key, sums }).collect()
    }
}

/// Sums observations, from the hourly rollup if it can answer and by a scan otherwise.
pub(in crate::embedded) fn aggregate(
    db: &Connection,
    query: &AggregateQuery,
) -> StoreResult<Aggregate> {
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let (source, groups, rows_read) = match project {
        None => (AggregateSource::Rollup, Groups::default(), 0),
        Some(project) if can_roll_up(query) => {
            let (groups, rows) = from_rollup(db, project, query)?;
            (AggregateSource::Rollup, groups, rows)
        }
        Some(project) => {
            let (groups, rows) = from_scan(db, project, query)?;
            (AggregateSource::Scan, groups, rows)
        }
    };
    Ok(Aggregate { groups: groups.into_groups(), source, rows_read })
}

/// The rollup has four dimensions and no conditions.
fn can_roll_up(query: &AggregateQuery) -> bool {
    query.conditions.is_empty() && query.by.iter().all(|dimension| dimension.is_kept())
}

/// The whole hours of a range: rollup and scan both use them, so that they agree.
fn hours(range: TimeRange) -> (i64, i64) {
    let from = range.from.map_or(i64::MIN, |from| from.nanos().div_euclid(HOUR));
    let to = range.to.map_or(i64::MAX, |to| {
        let hour = to.nanos().div_euclid(HOUR);
        if to.nanos().rem_euclid(HOUR) == 0 { hour } else { hour + 1 }
    });
    (from, to)
}

fn from_rollup(
    db: &Connection,
    project: i64,
    query: &AggregateQuery,
) -> StoreResult<(Groups, u64)> {
    let words = words(db, project).map_err(StoreError::database)?;
    let word = |number: i64| match number {
        NONE => None,
        OTHER => Some(OTHER_GROUP.to_owned()),
        number => words.get(&number).cloned(),
    };
    let (from, to) = hours(query.range);
    let sql = format!(
        "SELECT hour, environment, kind, name, model, {SUMS} FROM rollup \
         WHERE project = ? AND hour >= ? AND hour < ?"
    );
    let mut statement = db.prepare_cached(&sql).map_err(StoreError::database)?;
    let rows = statement.query(params![project, from, to]).map_err(StoreError::database)?;
    let read = |row: &Row<'_>| {
        let value = |dimension: &AggregateDimension| match dimension {
            AggregateDimension::Environment => row.get(1).map(word),
            AggregateDimension::Name => row.get(3).map(word),
            AggregateDimension::Model => row.get(4).map(word),
            _ => kind_word(row, 2),
        };
        let key = query.by.iter().map(value).collect::<rusqlite::Result<Vec<_>>>()?;
        Ok::<_, rusqlite::Error>((step_of(row.get(0)?, query.step), key, read_sums(row, 5)?))
    };
    let (mut groups, mut rows_read) = (Groups::default(), 0);
    for row in rows.mapped(read) {
        let (at, key, sums) = row.map_err(StoreError::database)?;
        rows_read += 1;
        groups.at(at, key)?.add(&sums);
    }
    Ok((groups, rows_read))
}

fn words(db: &Connection, project: i64) -> rusqlite::Result<BTreeMap<i64, String>> {
    let mut statement = db.prepare_cached("SELECT no, word FROM term WHERE project = ?")?;
    let rows = statement.query_map([project], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn step_of(hour: i64, step: Step) -> Option<Timestamp> {
    let start = match step {
        Step::Whole => return None,
        Step::Hour => hour,
        Step::Day => hour.div_euclid(24) * 24,
    };
    Some(Timestamp::from_nanos(start.saturating_mul(HOUR)))
}

fn from_scan(db: &Connection, project: i64, query: &AggregateQuery) -> StoreResult<(Groups, u64)> {
    let (from, to) = hours(query.range);
    let mut filter = Where::default();
    filter.and("o.project = ?", [project.into()]);
    filter.and("o.start >= ?", [from.saturating_mul(HOUR).into()]);
    filter.and("o.start < ?", [to.saturating_mul(HOUR).into()]);
    filter.observations(&query.conditions)?;
    let select = observations::select().replacen(
        ", t.id FROM",
        ", t.id, t.name, t.user, t.session, t.release, t.tags, t.agent FROM",
        1,
    );
    let sql = format!("{select} {}", filter.sql());
    let mut statement = db.prepare_cached(&sql).map_err(StoreError::database)?;
    let params = params_from_iter(filter.params.iter());
    let rows = statement.query(params).map_err(StoreError::database)?;
    let mut blocks = Blocks::new(db);
    let read = |row: &Row<'_>| {
        let key = query.by.iter().map(|dimension| dimension_of(row, *dimension));
        let key = key.collect::<rusqlite::Result<Vec<_>>>()?;
        let read = observations::read(row)?;
        let facts = read.facts();
        if !filter.content.is_empty() {
            let seen = observations::with_content(&mut blocks, read)?.content;
            if !content::passes(&seen.unwrap_or_default(), &filter.content) {
                return Ok(None);
            }
        }
        Ok(Some((key, facts)))
    };
    let (mut groups, mut rows_read) = (Groups::default(), 0);
    for row in rows.mapped(read) {
        rows_read += 1;
        if let Some((key, facts)) = row.map_err(StoreError::database)? {
            let at = step_of(facts.start.nanos().div_euclid(HOUR), query.step);
            add_facts(groups.at(at, key)?, &facts, 1);
        }
    }
    Ok((groups, rows_read))
}

fn dimension_of(row: &Row<'_>, dimension: AggregateDimension) -> rusqlite::Result<Option<String>> {
    let text = |column: usize| {
        let text: Option<String> = row.get(column)?;
        Ok(text.filter(|text| !text.is_empty()))
    };
    match dimension {
        AggregateDimension::Environment => {
            Ok(Some(text(12)?.unwrap_or_else(|| "default".to_owned())))
        }
        AggregateDimension::Kind => kind_word(row, 5),
        AggregateDimension::Level => {
            let level: Column<Level> = row.get(6)?;
            Ok(Some(level.0.as_str().to_owned()))
        }
        AggregateDimension::Name => text(7),
        AggregateDimension::Version => text(11),
        // As in filters: the agent of the trace.
        AggregateDimension::Agent => Ok(text(WIDTH + 6)?.or(text(13)?)),
        AggregateDimension::Model => text(14),
        AggregateDimension::Prompt => text(22),
        AggregateDimension::TraceName => text(WIDTH + 1),
        AggregateDimension::User => text(WIDTH + 2),
        AggregateDimension::Session => {
            let session: Option<SessionId> = column_value(row.get(WIDTH + 3)?);
            Ok(session.map(|session| session.to_string()))
        }
        AggregateDimension::Release => text(WIDTH + 4),
        AggregateDimension::Tags => Ok(text(WIDTH + 5)?.filter(|tags| tags != "[]")),
    }
}

fn kind_word(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    let kind: Column<ObservationKind> = row.get(column)?;
    Ok(Some(kind.0.as_str().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(groups: &mut Groups, at: i64, words: [&str; 2]) -> StoreResult<()> {
        let key = words.map(|word| Some(word.to_owned())).to_vec();
        groups.at(Some(Timestamp::from_nanos(at)), key)?.count += 1;
        Ok(())
    }

    #[test]
    fn users_beyond_the_last_group_are_summed_together() {
        let mut groups = Groups::default();
        for n in 0..MAX_GROUPS + 7 {
            count(&mut groups, 0, [&format!("user {n}"), "act"]).unwrap();
        }
        count(&mut groups, 0, ["user 3", "act"]).unwrap();
        count(&mut groups, 1, ["user 3", "act"]).unwrap();
        let groups = groups.into_groups();
        assert_eq!(groups.len(), MAX_GROUPS + 2);
        let of = |at: i64, user: &str| {
            let is_it = |group: &&Group| {
                group.at == Some(Timestamp::from_nanos(at)) && group.key[0].as_deref() == Some(user)
            };
            groups.iter().find(is_it).map(|group| (group.key[1].clone(), group.sums.count))
        };
        let other = || Some(OTHER_GROUP.to_owned());
        assert_eq!(of(0, "user 3"), Some((Some("act".to_owned()), 2)));
        assert_eq!(of(0, OTHER_GROUP), Some((other(), 7)));
        assert_eq!(of(1, OTHER_GROUP), Some((other(), 1)));
    }

    #[test]
    fn steps_of_time_have_an_end() {
        let mut groups = Groups::default();
        let error = (0..).map(|at| count(&mut groups, at, ["", ""])).find_map(Result::err);
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("50000 time buckets: use a shorter time range"), "{error}");
    }
}
