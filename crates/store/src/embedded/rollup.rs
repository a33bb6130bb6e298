//! The hourly rollup: sums over observations, which dashboards read instead of the observations.

use std::collections::hash_map::Entry;

use ratchet_core::environment::DEFAULT_ENVIRONMENT;
use ratchet_core::money::Money;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::facts::Facts;
use crate::aggregate::Sums;
use crate::histogram::Histogram;

pub(super) const HOUR: i64 = 3_600_000_000_000;
/// Term number for NULL.
pub(super) const NONE: i64 = 0;
/// Term number for all values beyond the cap, shown as "(other)".
pub(super) const OTHER: i64 = -1;

/// A dimension whose values clients choose, with a cap on its cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Vocabulary {
    Environment,
    Name,
    Model,
}

impl Vocabulary {
    fn cap(self) -> usize {
        match self {
            Self::Environment => 100,
            Self::Name => 2_000,
            Self::Model => 500,
        }
    }
}

/// Numbers of dimension values. They never change: a value keeps its number, and one beyond the cap
/// never gets one, so that subtraction affects the row that was added to.
#[derive(Debug, Default)]
pub(super) struct Terms(FxHashMap<(i64, Vocabulary), FxHashMap<Box<str>, i64>>);

impl Terms {
    /// The number of a value, assigned now if it is new and below the cap.
    pub(super) fn number(
        &mut self,
        db: &Connection,
        (project, vocabulary): (i64, Vocabulary),
        word: Option<&str>,
    ) -> rusqlite::Result<i64> {
        let Some(word) = word.filter(|word| !word.is_empty()) else { return Ok(NONE) };
        let key = (project, vocabulary);
        let words = match self.0.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(load(db, key)?),
        };
        if let Some(number) = words.get(word) {
            return Ok(*number);
        }
        if words.len() >= vocabulary.cap() {
            return Ok(OTHER);
        }
        db.prepare_cached("INSERT INTO term (project, dimension, word) VALUES (?, ?, ?)")?
            .execute(params![project, vocabulary as u8, word])?;
        let number = db.last_insert_rowid();
        words.insert(word.into(), number);
        Ok(number)
    }
}

fn load(
    db: &Connection,
    (project, vocabulary): (i64, Vocabulary),
) -> rusqlite::Result<FxHashMap<Box<str>, i64>> {
    let sql = "SELECT word, no FROM term WHERE project = ? AND dimension = ?";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params![project, vocabulary as u8], |row| {
        Ok((row.get::<_, Box<str>>(0)?, row.get(1)?))
    })?;
    rows.collect()
}

/// The dimension values of an observation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Words<'a> {
    pub(super) environment: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) model: Option<&'a str>,
}

/// One row of the rollup table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RollupKey {
    project: i64,
    hour: i64,
    environment: i64,
    kind: u8,
    name: i64,
    model: i64,
}

/// Changes to the rollup in one transaction.
#[derive(Debug, Default)]
pub(super) struct RollupDelta(FxHashMap<RollupKey, Sums>);

impl RollupDelta {
    /// Adds an observation `times` times; a negative number subtracts it.
    pub(super) fn add(
        &mut self,
        (db, terms): (&Connection, &mut Terms),
        project: i64,
        (facts, words): (&Facts, Words<'_>),
        times: i64,
    ) -> rusqlite::Result<()> {
        let environment = words.environment.unwrap_or(DEFAULT_ENVIRONMENT);
        let mut number = |vocabulary, word| terms.number(db, (project, vocabulary), word);
        let key = RollupKey {
            project,
            hour: facts.start.nanos().div_euclid(HOUR),
            environment: number(Vocabulary::Environment, Some(environment))?,
            kind: facts.kind as u8,
            name: number(Vocabulary::Name, words.name)?,
            model: number(Vocabulary::Model, words.model)?,
        };
        add_facts(self.0.entry(key).or_default(), facts, times);
        Ok(())
    }

    pub(super) fn write(self, db: &Connection) -> rusqlite::Result<()> {
        for (key, delta) in self.0 {
            let mut sums = read(db, &key)?.unwrap_or_default();
            sums.add(&delta);
            write(db, &key, &sums)?;
        }
        Ok(())
    }
}

/// Adds one observation to sums.
pub(super) fn add_facts(sums: &mut Sums, facts: &Facts, times: i64) {
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(times);
    sums.count += times;
    sums.errors +=
        if facts.level == ratchet_core::record::observation::Level::Error { times } else { 0 };
    sums.input_tokens = sums.input_tokens.saturating_add(tokens(facts.input_tokens));
    sums.output_tokens = sums.output_tokens.saturating_add(tokens(facts.output_tokens));
    sums.total_tokens = sums.total_tokens.saturating_add(tokens(facts.total_tokens));
    match &facts.cost {
        Some(cost) => {
            let pico = cost.total().pico().saturating_mul(times);
            sums.cost = sums.cost + Money::from_pico(pico);
            sums.costs_known += times;
            let approximate = facts.approximate_cost().pico().saturating_mul(times);
            sums.approximate_cost = sums.approximate_cost + Money::from_pico(approximate);
        }
        None if facts.total_tokens > 0 => sums.cost_unknown += times,
        None => {}
    }
    if let Some(latency) = facts.latency() {
        sums.latency_nanos = sums.latency_nanos.wrapping_add(latency.wrapping_mul(times));
        sums.latency.add(latency, times);
    }
}

/// Reads sums from a row; `first` is the index of the column `count`.
pub(super) fn read_sums(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Sums> {
    Ok(Sums {
        count: row.get(first)?,
        errors: row.get(first + 1)?,
        input_tokens: row.get(first + 2)?,
        output_tokens: row.get(first + 3)?,
        total_tokens: row.get(first + 4)?,
        cost: Money::from_pico(row.get(first + 5)?),
        cost_unknown: row.get(first + 6)?,
        latency: Histogram::decode(row.get_ref(first + 7)?.as_blob()?),
        costs_known: row.get(first + 8)?,
        latency_nanos: row.get(first + 9)?,
        approximate_cost: Money::from_pico(row.get(first + 10)?),
    })
}

/// The columns that [`read_sums`] expects.
pub(super) const SUMS: &str = "count, errors, input_tokens, output_tokens, total_tokens, cost, \
    cost_unknown, latency, costs_known, latency_nanos, approximate_cost";

const WRITE: &str = "REPLACE INTO rollup (project, hour, environment, kind, name, model, count, \
    errors, input_tokens, output_tokens, total_tokens, cost, cost_unknown, latency, costs_known, \
    latency_nanos, approximate_cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const KEY: &str =
    "project = ? AND hour = ? AND environment = ? AND kind = ? AND name = ? AND model = ?";

fn read(db: &Connection, key: &RollupKey) -> rusqlite::Result<Option<Sums>> {
    let RollupKey { project, hour, environment, kind, name, model } = key;
    db.prepare_cached(&format!("SELECT {SUMS} FROM rollup WHERE {KEY}"))?
        .query_row(params![project, hour, environment, kind, name, model], |row| read_sums(row, 0))
        .optional()
}

fn write(db: &Connection, key: &RollupKey, sums: &Sums) -> rusqlite::Result<()> {
    let RollupKey { project, hour, environment, kind, name, model } = key;
    if sums.count == 0 {
        db.prepare_cached(&format!("DELETE FROM rollup WHERE {KEY}"))?.execute(params![
            project,
            hour,
            environment,
            kind,
            name,
            model
        ])?;
        return Ok(());
    }
    db.prepare_cached(WRITE)?.execute(params![
        project,
        hour,
        environment,
        kind,
        name,
        model,
        sums.count,
        sums.errors,
        sums.input_tokens,
        sums.output_tokens,
        sums.total_tokens,
        sums.cost.pico(),
        sums.cost_unknown,
        sums.latency.encode(),
        sums.costs_known,
        sums.latency_nanos,
        sums.approximate_cost.pico(),
    ])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::TELEMETRY_MIGRATIONS;
    use super::super::connection::{Purpose, migrate, open};

    /// Index of the migration that adds what averages need.
    const AVERAGES_MIGRATION: usize = 2;

    #[test]
    fn sums_of_an_older_folder_learn_what_averages_need() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("telemetry.db");
        let mut db = open(&file, Purpose::Write).unwrap();
        migrate(&mut db, &file, &TELEMETRY_MIGRATIONS[..AVERAGES_MIGRATION]).unwrap();
        // Two calls of a known name and model before 1970, and one of a name beyond the cap.
        let observation = |id: &str, name: &str, start: i64, cost: &str| {
            format!(
                "INSERT INTO observation (trace, id, project, start, end, kind, level, name, \
                 model, input_tokens, output_tokens, total_tokens, cost, stamps, entry, \
                 created_at) VALUES (1, '{id}', 1, {start}, {start} + 500, 1, 1, {name}, 'm', 0, \
                 0, 0, {cost}, x'', 0, 0);"
            )
        };
        let rollup = |hour: i64, name: i64, count: i64| {
            format!(
                "INSERT INTO rollup (project, hour, environment, kind, name, model, count, errors, \
                 input_tokens, output_tokens, total_tokens, cost, cost_unknown, latency) \
                 VALUES (1, {hour}, 1, 1, {name}, 3, {count}, 0, 0, 0, 0, 0, 0, x'');"
            )
        };
        let words = "INSERT INTO term (no, project, dimension, word) VALUES (1, 1, 0, 'default'), \
                     (2, 1, 1, 'ask'), (3, 1, 2, 'm');";
        let story = [
            words.to_owned(),
            observation("a", "'ask'", -7, "NULL"),
            observation("b", "'ask'", -3_600_000_000_000, "4"),
            observation("c", "'late'", 0, "5"),
            observation("d", "''", 3_599_999_999_999, "6"),
            rollup(-1, 2, 2),
            rollup(0, -1, 1),
            rollup(0, 0, 1),
        ];
        db.execute_batch(&story.concat()).unwrap();
        migrate(&mut db, &file, &TELEMETRY_MIGRATIONS[..=AVERAGES_MIGRATION]).unwrap();
        let sql = "SELECT hour, name, costs_known, latency_nanos FROM rollup ORDER BY hour, name";
        let mut statement = db.prepare(sql).unwrap();
        let read =
            |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let rows: Vec<(i64, i64, i64, i64)> =
            statement.query_map([], read).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows, [(-1, 2, 1, 1_000), (0, -1, 1, 500), (0, 0, 1, 500)]);
    }
}
