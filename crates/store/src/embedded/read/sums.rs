use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::observation::{Level, ObservationKind};
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::observations;
use crate::aggregate::{Aggregate, AggregateQuery, AggregateSource, Dimension, Group, Step, Sums};
use crate::embedded::column::{Column, uncolumn};
use crate::embedded::content;
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::observation_row::WIDTH;
use crate::embedded::payload::Blocks;
use crate::embedded::rollup::{HOUR, NONE, OTHER, SUMS, add_facts, read_sums};
use crate::metrics::table::OTHER_WORD;
use crate::query::TimeRange;
use crate::{StoreError, StoreResult};

type Groups = BTreeMap<(Option<Timestamp>, Vec<Option<String>>), Sums>;

/// Sums observations, from the hourly sums where they can answer and by a scan where they cannot.
pub(in crate::embedded) fn aggregate(
    db: &Connection,
    query: &AggregateQuery,
) -> StoreResult<Aggregate> {
    let project = project_number(db, &query.project).map_err(StoreError::Database)?;
    let (source, groups, rows_read) = match project {
        None => (AggregateSource::Rollup, Groups::new(), 0),
        Some(project) if can_roll_up(query) => {
            let (groups, rows) = from_rollup(db, project, query).map_err(StoreError::Database)?;
            (AggregateSource::Rollup, groups, rows)
        }
        Some(project) => {
            let (groups, rows) = from_scan(db, project, query)?;
            (AggregateSource::Scan, groups, rows)
        }
    };
    let groups = groups.into_iter().map(|((at, key), sums)| Group { at, key, sums }).collect();
    Ok(Aggregate { groups, source, rows_read })
}

/// The hourly sums know four dimensions and no conditions.
fn can_roll_up(query: &AggregateQuery) -> bool {
    query.conditions.is_empty() && query.by.iter().all(|dimension| dimension.is_kept())
}

/// The hours a range touches: both ways of answering use whole hours, so that they agree.
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
) -> rusqlite::Result<(Groups, u64)> {
    let words = words(db, project)?;
    let word = |number: i64| match number {
        NONE => None,
        OTHER => Some(OTHER_WORD.to_owned()),
        number => words.get(&number).cloned(),
    };
    let (from, to) = hours(query.range);
    let sql = format!(
        "SELECT hour, environment, kind, name, model, {SUMS} FROM rollup \
         WHERE project = ? AND hour >= ? AND hour < ?"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params![project, from, to])?;
    let mut groups = Groups::new();
    let mut rows_read = 0;
    while let Some(row) = rows.next()? {
        rows_read += 1;
        let value = |dimension: &Dimension| match dimension {
            Dimension::Environment => row.get(1).map(word),
            Dimension::Name => row.get(3).map(word),
            Dimension::Model => row.get(4).map(word),
            _ => kind_word(row, 2),
        };
        let key = query.by.iter().map(value).collect::<rusqlite::Result<_>>()?;
        let at = step_of(row.get(0)?, query.step);
        groups.entry((at, key)).or_default().add(&read_sums(row, 5)?);
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
        ", t.id, t.name, t.user, t.session, t.release, t.tags FROM",
        1,
    );
    let sql = format!("{select} {}", filter.sql());
    let mut groups = Groups::new();
    let mut rows_read = 0;
    let mut blocks = Blocks::new(db);
    let mut scan = || -> rusqlite::Result<()> {
        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.params.iter()))?;
        while let Some(row) = rows.next()? {
            rows_read += 1;
            let key = query.by.iter().map(|dimension| dimension_of(row, *dimension));
            let key = key.collect::<rusqlite::Result<_>>()?;
            let read = observations::read(row)?;
            let facts = read.facts();
            if !filter.content.is_empty() {
                let seen = observations::with_content(&mut blocks, read)?.content;
                if !content::passes(&seen.unwrap_or_default(), &filter.content) {
                    continue;
                }
            }
            let at = step_of(facts.start.nanos().div_euclid(HOUR), query.step);
            add_facts(groups.entry((at, key)).or_default(), &facts, 1);
        }
        Ok(())
    };
    scan().map_err(StoreError::Database)?;
    Ok((groups, rows_read))
}

fn dimension_of(row: &Row<'_>, dimension: Dimension) -> rusqlite::Result<Option<String>> {
    let text = |column: usize| {
        let text: Option<String> = row.get(column)?;
        Ok(text.filter(|text| !text.is_empty()))
    };
    match dimension {
        Dimension::Environment => Ok(Some(text(12)?.unwrap_or_else(|| "default".to_owned()))),
        Dimension::Kind => kind_word(row, 5),
        Dimension::Level => {
            let level: Column<Level> = row.get(6)?;
            Ok(Some(level.0.as_str().to_owned()))
        }
        Dimension::Name => text(7),
        Dimension::Version => text(11),
        Dimension::Agent => text(13),
        Dimension::Model => text(14),
        Dimension::Prompt => text(22),
        Dimension::TraceName => text(WIDTH + 1),
        Dimension::User => text(WIDTH + 2),
        Dimension::Session => {
            let session: Option<SessionId> = uncolumn(row.get(WIDTH + 3)?);
            Ok(session.map(|session| session.to_string()))
        }
        Dimension::Release => text(WIDTH + 4),
        Dimension::Tags => Ok(text(WIDTH + 5)?.filter(|tags| tags != "[]")),
    }
}

fn kind_word(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    let kind: Column<ObservationKind> = row.get(column)?;
    Ok(Some(kind.0.as_str().to_owned()))
}
