use std::time::{Duration, Instant};

use ratchet_core::calendar;
use ratchet_core::time::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params_from_iter};

use crate::embedded::filter::{Form, Kind, Where};
use crate::metrics::table::{Key, Table};
use crate::metrics::tally::{Tally, Value};
use crate::metrics::{Aggregation, By, Measure, MetricRequest, MetricsQuery};
use crate::{StoreError, StoreResult};

/// Time limit of a scan. The client has disconnected by then, and a reader is occupied.
const BUDGET: Duration = Duration::from_secs(60);
/// Rows between two checks of the deadline.
const STRIDE: u64 = 4_096;

/// Which records to read, and how.
pub(super) struct Scan<C> {
    /// The column with the start time.
    pub(super) time: &'static str,
    pub(super) from: String,
    pub(super) filter: Where,
    /// Leading columns, for conditions that SQL cannot evaluate.
    pub(super) leading_columns: String,
    /// SQL of a column.
    pub(super) kind: fn(C) -> Kind,
}

/// One selected column.
#[derive(Clone, Copy, Debug)]
struct Cell {
    index: usize,
    form: Form,
}

/// Positions of the query's values in a row.
struct Layout {
    by: Vec<Slot>,
    measures: Vec<Option<Cell>>,
    time: usize,
}

enum Slot {
    Cell(Cell),
    Day,
    Month,
}

/// Every column that a query uses.
pub(super) fn columns_of<C: Copy>(query: &MetricsQuery<C>) -> Vec<C> {
    let by = query.by.iter().filter_map(|by| match by {
        By::Column(column) => Some(*column),
        By::Day | By::Month => None,
    });
    let measures = query.metrics.iter().filter_map(|metric| match metric.measure {
        Measure::Column(column) => Some(column),
        Measure::Records => None,
    });
    let tested = query.conditions.iter().map(|condition| condition.column);
    by.chain(measures).chain(tested).collect()
}

impl<C: Copy + std::fmt::Debug> Scan<C> {
    /// Reads the records and aggregates those that match; returns the number of rows read.
    pub(super) fn read(
        &self,
        db: &Connection,
        query: &MetricsQuery<C>,
        table: &mut Table,
        mut passes: impl FnMut(&Row<'_>) -> rusqlite::Result<bool>,
    ) -> StoreResult<u64> {
        let (sql, layout) = self.select(query)?;
        let mut statement = db.prepare_cached(&sql).map_err(StoreError::database)?;
        let params = params_from_iter(self.filter.params.iter());
        let mut rows = statement.query(params).map_err(StoreError::database)?;
        let started = Instant::now();
        let (mut rows_read, mut key) = (0, Key::default());
        while let Some(row) = rows.next().map_err(StoreError::database)? {
            rows_read += 1;
            if rows_read % STRIDE == 0 && started.elapsed() > BUDGET {
                return Err(too_slow(rows_read));
            }
            if passes(row).map_err(StoreError::database)? {
                layout.key(row, query, &mut key).map_err(StoreError::database)?;
                layout.count(row, table.group(&key)?).map_err(StoreError::database)?;
            }
        }
        Ok(rows_read)
    }

    fn select(&self, query: &MetricsQuery<C>) -> StoreResult<(String, Layout)> {
        let mut columns: Vec<String> = self
            .leading_columns
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let mut add = |sql: String, form: Form| {
            columns.push(sql);
            Cell { index: columns.len() - 1, form }
        };
        let time = add(self.time.to_owned(), Form::Number).index;
        let mut by = Vec::new();
        for dimension in &query.by {
            by.push(match dimension {
                By::Day => Slot::Day,
                By::Month => Slot::Month,
                By::Column(column) => {
                    let shown = (self.kind)(*column).shown();
                    let (sql, form) = shown.ok_or_else(|| no_dimension(column))?;
                    Slot::Cell(add(sql, form))
                }
            });
        }
        let mut measures = Vec::new();
        for metric in &query.metrics {
            measures.push(match metric.measure {
                Measure::Records => None,
                Measure::Column(column) => {
                    let shown = (self.kind)(column).shown();
                    let shown = shown.filter(|(_, form)| fits(metric.aggregation, *form));
                    let (sql, form) = shown.ok_or_else(|| no_measure(column, metric))?;
                    Some(add(sql, form))
                }
            });
        }
        let sql = format!("SELECT {} {} {}", columns.join(", "), self.from, self.filter.sql());
        Ok((sql, Layout { by, measures, time }))
    }
}

impl Layout {
    fn key<C>(
        &self,
        row: &Row<'_>,
        query: &MetricsQuery<C>,
        key: &mut Key,
    ) -> rusqlite::Result<()> {
        let moment = Timestamp::from_nanos(row.get(self.time)?);
        key.begin(query.every.map(|width| width.start_of(moment)));
        for slot in &self.by {
            match slot {
                Slot::Day => key.push_time(&calendar::day(moment)),
                Slot::Month => key.push_time(&calendar::month(moment)),
                Slot::Cell(cell) => match cell.value(row)? {
                    None => key.push(None),
                    Some(Value::Text(text)) => key.push(Some(text)),
                    Some(Value::Number(number)) => match cell.form {
                        Form::Flag => key.push(Some(if number == 0.0 { "false" } else { "true" })),
                        Form::Text | Form::Number => key.push(Some(&number.to_string())),
                    },
                },
            }
        }
        Ok(())
    }

    fn count(&self, row: &Row<'_>, tallies: &mut [Tally]) -> rusqlite::Result<()> {
        for (measure, tally) in self.measures.iter().zip(tallies) {
            match measure {
                None => tally.add(Value::Number(1.0)),
                Some(cell) => {
                    if let Some(value) = cell.value(row)? {
                        tally.add(value);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Cell {
    /// The value of a row; an empty text counts as none.
    #[expect(clippy::cast_precision_loss, reason = "figures are floats")]
    fn value<'a>(&self, row: &'a Row<'_>) -> rusqlite::Result<Option<Value<'a>>> {
        Ok(match row.get_ref(self.index)? {
            ValueRef::Null | ValueRef::Blob(_) => None,
            ValueRef::Integer(number) => Some(Value::Number(number as f64)),
            ValueRef::Real(number) => Some(Value::Number(number)),
            ValueRef::Text(bytes) => {
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                (!text.is_empty()).then_some(Value::Text(text))
            }
        })
    }
}

/// Whether an aggregation applies to a type of value.
fn fits(aggregation: Aggregation, form: Form) -> bool {
    match aggregation {
        Aggregation::Count | Aggregation::Distinct => true,
        Aggregation::Sum
        | Aggregation::Average
        | Aggregation::Min
        | Aggregation::Max
        | Aggregation::Percentile(_)
        | Aggregation::Histogram { .. } => form == Form::Number,
    }
}

fn no_dimension(column: &impl std::fmt::Debug) -> StoreError {
    StoreError::BadQuery(format!("the column {column:?} cannot be grouped by"))
}

fn no_measure<C>(column: impl std::fmt::Debug, metric: &MetricRequest<C>) -> StoreError {
    let aggregation = metric.aggregation;
    StoreError::BadQuery(format!("the column {column:?} has no {aggregation:?}"))
}

fn too_slow(rows_read: u64) -> StoreError {
    let seconds = BUDGET.as_secs();
    StoreError::BadQuery(format!(
        "gave up after {rows_read} rows and {seconds} s: ask for a shorter time, or only for what \
         hourly sums keep"
    ))
}
