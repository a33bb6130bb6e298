use std::collections::BTreeMap;

use ratchet_core::calendar::{self, Granularity};
use ratchet_core::money::Money;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::observations;
use crate::aggregate::AggregateSource;
use crate::embedded::column::{Column, to_u64};
use crate::embedded::content;
use crate::embedded::rollup::{HOUR, NONE, OTHER};
use crate::histogram::Histogram;
use crate::metrics::table::{Key, OTHER_GROUP, Table};
use crate::metrics::tally::{Summed, Tally};
use crate::metrics::{Aggregation, By, Measure, MetricRequest, MetricsAnswer, MetricsQuery};
use crate::query::{ObservationColumn, Test, TimeRange};
use crate::{StoreError, StoreResult};

/// A dimension of the rollup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Environment,
    Kind,
    Name,
    Model,
}

/// A value that the rollup sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Records,
    InputTokens,
    OutputTokens,
    TotalTokens,
    Cost,
    ApproximateCost,
    Latency,
}

/// Answers from the rollup, and from the observations of partial hours at the ends of the range;
/// `None` if the rollup cannot answer.
pub(super) fn answer(
    db: &Connection,
    project: i64,
    query: &MetricsQuery<ObservationColumn>,
) -> StoreResult<Option<MetricsAnswer>> {
    let Some(plan) = Plan::new(query) else { return Ok(None) };
    let (whole, edges) = hours(db, project, query.range).map_err(StoreError::database)?;
    let fresh = query.metrics.iter().map(|metric| Tally::summed(metric.aggregation)).collect();
    let mut table = Table::new(fresh);
    let Some(mut rows_read) = plan.read(db, project, whole, &mut table)? else { return Ok(None) };
    for edge in edges {
        rows_read += observations(db, project, query, edge, &mut table)?;
    }
    let source = AggregateSource::Rollup;
    Ok(Some(MetricsAnswer { rows: table.into_rows(), source, rows_read }))
}

/// Whether the rollup has the dimensions of the query.
pub(super) fn can_answer(query: &MetricsQuery<ObservationColumn>) -> bool {
    Plan::new(query).is_some()
}

/// The whole hours to read from the rollup, and the rest of the range to scan.
///
/// A partial hour also counts as whole if nothing was recorded in the rest of it: "until now" ends
/// within an hour without later observations.
fn hours(
    db: &Connection,
    project: i64,
    range: TimeRange,
) -> rusqlite::Result<((i64, i64), Vec<TimeRange>)> {
    let at = |hour: i64| Timestamp::from_nanos(hour.saturating_mul(HOUR));
    let hour_of = |moment: Timestamp| moment.nanos().div_euclid(HOUR);
    let begins = |moment: Timestamp| moment.nanos().rem_euclid(HOUR) == 0;
    let is_bare = |from, to| is_empty(db, project, from, to);
    let mut edges = Vec::new();
    let mut last = range.to.map_or(i64::MAX, hour_of);
    if let Some(to) = range.to.filter(|to| !begins(*to)) {
        if is_bare(to, at(last + 1))? {
            last += 1;
        } else {
            edges.push(TimeRange { from: Some(at(last)), to: Some(to) });
        }
    }
    let mut first = range.from.map_or(i64::MIN, hour_of);
    if let Some(from) = range.from.filter(|from| !begins(*from))
        && !is_bare(at(first), from)?
    {
        first += 1;
        edges.push(TimeRange { from: Some(from), to: Some(at(first)) });
    }
    let is_nothing = range.to.is_some() && range.from >= range.to;
    if first > last || is_nothing {
        // Less than an hour, with observations on either side.
        return Ok(((0, 0), vec![range]));
    }
    Ok(((first, last), edges))
}

fn is_empty(
    db: &Connection,
    project: i64,
    from: Timestamp,
    to: Timestamp,
) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM observation \
               WHERE project = ? AND start >= ? AND start < ?)";
    db.prepare_cached(sql)?.query_row(params![project, Column(from), Column(to)], |row| row.get(0))
}

/// How the rollup answers a query.
struct Plan<'a> {
    by: Vec<Slot>,
    kept: Vec<Kept>,
    tests: Vec<(Axis, &'a Test)>,
    every: Option<Granularity>,
    needs_latency: bool,
}

enum Slot {
    Axis(Axis),
    Day,
    Month,
}

impl<'a> Plan<'a> {
    fn new(query: &'a MetricsQuery<ObservationColumn>) -> Option<Self> {
        if query.every == Some(Granularity::Minute) {
            return None;
        }
        let slot = |by: &By<ObservationColumn>| match by {
            By::Day => Some(Slot::Day),
            By::Month => Some(Slot::Month),
            By::Column(column) => axis(*column).map(Slot::Axis),
        };
        let by = query.by.iter().map(slot).collect::<Option<_>>()?;
        let kept: Vec<_> = query.metrics.iter().map(kept).collect::<Option<_>>()?;
        let test = |column, test| Some((axis(column)?, test));
        let tests =
            query.conditions.iter().map(|condition| test(condition.column, &condition.test));
        let tests = tests.collect::<Option<_>>()?;
        let needs_latency = kept.contains(&Kept::Latency);
        Some(Self { by, kept, tests, every: query.every, needs_latency })
    }

    /// Aggregates whole hours; `None` if the rollup turns out not to suffice.
    fn read(
        &self,
        db: &Connection,
        project: i64,
        (from, to): (i64, i64),
        table: &mut Table,
    ) -> StoreResult<Option<u64>> {
        let words = words(db, project).map_err(StoreError::database)?;
        let latency = if self.needs_latency { ", latency_nanos, latency" } else { "" };
        let sql = format!(
            "SELECT hour, environment, kind, name, model, count, input_tokens, output_tokens, \
             total_tokens, cost, costs_known, approximate_cost{latency} FROM rollup \
             WHERE project = ? AND hour >= ? AND hour < ?"
        );
        let mut statement = db.prepare_cached(&sql).map_err(StoreError::database)?;
        let rows = statement.query(params![project, from, to]);
        let mut rows = rows.map_err(StoreError::database)?;
        let (mut rows_read, mut key) = (0, Key::default());
        while let Some(row) = rows.next().map_err(StoreError::database)? {
            rows_read += 1;
            let sums = HourSums::read(row, &words, self.needs_latency);
            let sums = sums.map_err(StoreError::database)?;
            match self.passes(&sums) {
                None => return Ok(None),
                Some(false) => continue,
                Some(true) => {}
            }
            self.key(&sums, &mut key);
            for (kept, tally) in self.kept.iter().zip(table.group(&key)?) {
                tally.add_summed(&sums.summed(*kept));
            }
        }
        Ok(Some(rows_read))
    }

    /// Whether the observations of a row match; `None` if some may and some may not.
    fn passes(&self, sums: &HourSums<'_>) -> Option<bool> {
        for (axis, test) in &self.tests {
            let passes = match sums.word(*axis) {
                Word::Is(word) => content::text_passes(Some(word), test)?,
                Word::Other => return None,
                // NULL and the empty text are one value in the rollup.
                Word::None => {
                    let passes = content::text_passes(None, test)?;
                    if passes != content::text_passes(Some(""), test)? {
                        return None;
                    }
                    passes
                }
            };
            if !passes {
                return Some(false);
            }
        }
        Some(true)
    }

    fn key(&self, sums: &HourSums<'_>, key: &mut Key) {
        key.begin(self.every.map(|width| width.start_of(sums.hour)));
        for slot in &self.by {
            match slot {
                Slot::Day => key.push_time(&calendar::day(sums.hour)),
                Slot::Month => key.push_time(&calendar::month(sums.hour)),
                Slot::Axis(axis) => key.push(match sums.word(*axis) {
                    Word::Is(word) => Some(word),
                    Word::Other => Some(OTHER_GROUP),
                    Word::None => None,
                }),
            }
        }
    }
}

fn axis(column: ObservationColumn) -> Option<Axis> {
    match column {
        ObservationColumn::Environment => Some(Axis::Environment),
        ObservationColumn::Kind => Some(Axis::Kind),
        ObservationColumn::Name => Some(Axis::Name),
        ObservationColumn::Model => Some(Axis::Model),
        _ => None,
    }
}

/// The sum for a metric. The rollup has no minimum or maximum.
fn kept(metric: &MetricRequest<ObservationColumn>) -> Option<Kept> {
    let is_sum =
        matches!(metric.aggregation, Aggregation::Count | Aggregation::Sum | Aggregation::Average);
    let is_percentile = matches!(metric.aggregation, Aggregation::Percentile(_));
    let kept = match metric.measure {
        Measure::Records => Kept::Records,
        Measure::Column(ObservationColumn::InputTokens) => Kept::InputTokens,
        Measure::Column(ObservationColumn::OutputTokens) => Kept::OutputTokens,
        Measure::Column(ObservationColumn::TotalTokens) => Kept::TotalTokens,
        Measure::Column(ObservationColumn::Cost) => Kept::Cost,
        Measure::Column(ObservationColumn::ApproximateCost) => Kept::ApproximateCost,
        Measure::Column(ObservationColumn::Latency) => Kept::Latency,
        Measure::Column(_) => return None,
    };
    (is_sum || is_percentile && kept == Kept::Latency).then_some(kept)
}

/// A dimension value.
enum Word<'a> {
    Is(&'a str),
    Other,
    None,
}

/// One row of the rollup.
struct HourSums<'a> {
    hour: Timestamp,
    kind: ObservationKind,
    numbers: [i64; 3],
    words: &'a BTreeMap<i64, String>,
    count: u64,
    tokens: [i64; 3],
    cost: Money,
    costs_known: u64,
    approximate_cost: Money,
    latency_nanos: i64,
    latency: Histogram,
}

impl<'a> HourSums<'a> {
    fn read(
        row: &Row<'_>,
        words: &'a BTreeMap<i64, String>,
        with_latency: bool,
    ) -> rusqlite::Result<Self> {
        let kind: Column<ObservationKind> = row.get(2)?;
        let hour: i64 = row.get(0)?;
        let (latency_nanos, latency) = if with_latency {
            (row.get(12)?, Histogram::decode(row.get_ref(13)?.as_blob()?))
        } else {
            Default::default()
        };
        Ok(Self {
            hour: Timestamp::from_nanos(hour.saturating_mul(HOUR)),
            kind: kind.0,
            numbers: [row.get(1)?, row.get(3)?, row.get(4)?],
            words,
            count: row.get(5).map(to_u64)?,
            tokens: [row.get(6)?, row.get(7)?, row.get(8)?],
            cost: Money::from_pico(row.get(9)?),
            costs_known: row.get(10).map(to_u64)?,
            approximate_cost: Money::from_pico(row.get(11)?),
            latency_nanos,
            latency,
        })
    }

    fn word(&self, axis: Axis) -> Word<'_> {
        let [environment, name, model] = self.numbers;
        let number = match axis {
            Axis::Kind => return Word::Is(self.kind.as_str()),
            Axis::Environment => environment,
            Axis::Name => name,
            Axis::Model => model,
        };
        match number {
            NONE => Word::None,
            OTHER => Word::Other,
            number => self.words.get(&number).map_or(Word::None, |word| Word::Is(word)),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "figures are floats")]
    fn summed(&self, kept: Kept) -> Summed<'_> {
        let [input, output, total] = self.tokens;
        let of_all = |total: f64| Summed { values: self.count, total, buckets: None };
        match kept {
            Kept::Records => of_all(self.count as f64),
            Kept::InputTokens => of_all(input as f64),
            Kept::OutputTokens => of_all(output as f64),
            Kept::TotalTokens => of_all(total as f64),
            Kept::Cost => {
                let total = self.cost.dollars();
                Summed { values: self.costs_known, total, buckets: None }
            }
            Kept::ApproximateCost => of_all(self.approximate_cost.dollars()),
            Kept::Latency => Summed {
                values: to_u64(self.latency.total()),
                total: self.latency_nanos as f64 / 1e9,
                buckets: Some(&self.latency),
            },
        }
    }
}

fn words(db: &Connection, project: i64) -> rusqlite::Result<BTreeMap<i64, String>> {
    let mut statement = db.prepare_cached("SELECT no, word FROM term WHERE project = ?")?;
    let rows = statement.query_map([project], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}
