//! Metrics, from the hourly rollup if it can answer and from the records otherwise.

mod rollup;
mod scan;

use ratchet_core::record::trace::Content;
use rusqlite::Connection;

use self::scan::Scan;
use super::narrow::JoinOrder;
use super::traces::content_of;
use crate::aggregate::AggregateSource;
use crate::embedded::content;
use crate::embedded::filter::{self, Where, score};
use crate::embedded::load::project_number;
use crate::embedded::payload::Blocks;
use crate::embedded::{score_row, trace_row};
use crate::metrics::table::Table;
use crate::metrics::tally::Tally;
use crate::metrics::{MetricsAnswer, MetricsQuery};
use crate::query::{ObservationColumn, ScoreColumn, TimeRange, TraceColumn};
use crate::{StoreError, StoreResult};

pub(in crate::embedded) fn of_traces(
    db: &Connection,
    query: &MetricsQuery<TraceColumn>,
) -> StoreResult<MetricsAnswer> {
    let Some(project) = number(db, query)? else { return Ok(nothing()) };
    let mut filter = Where::default();
    filter.and("t.project = ?", [project.into()]);
    filter.within("t.timestamp", query.range);
    filter.traces(&query.conditions)?;
    let tests = filter.content.clone();
    // The row's own columns come first if its content is needed.
    let leading_columns =
        if tests.is_empty() { String::new() } else { trace_row::COLUMNS.to_owned() };
    let scan = Scan {
        time: "t.timestamp",
        from: "FROM trace t".to_owned(),
        filter,
        leading_columns,
        kind: filter::trace_kind,
    };
    let mut blocks = Blocks::new(db);
    let mut table = Table::new(exact(query));
    let rows_read = scan.read(db, query, &mut table, |row| {
        if tests.is_empty() {
            return Ok(true);
        }
        let row = trace_row::read(row, Default::default())?;
        Ok(content::passes(&content_of(db, &mut blocks, &row)?, &tests))
    })?;
    Ok(MetricsAnswer { rows: table.into_rows(), source: AggregateSource::Scan, rows_read })
}

pub(in crate::embedded) fn of_observations(
    db: &Connection,
    query: &MetricsQuery<ObservationColumn>,
) -> StoreResult<MetricsAnswer> {
    let Some(project) = number(db, query)? else { return Ok(nothing()) };
    if let Some(answer) = rollup::answer(db, project, query)? {
        return Ok(answer);
    }
    let mut table = Table::new(exact(query));
    let rows_read = observations(db, project, query, query.range, &mut table)?;
    Ok(MetricsAnswer { rows: table.into_rows(), source: AggregateSource::Scan, rows_read })
}

/// Whether the hourly rollup can answer.
pub(in crate::embedded) fn has_sums_for(query: &MetricsQuery<ObservationColumn>) -> bool {
    rollup::can_answer(query)
}

/// Aggregates the observations of a range; returns the number of rows read.
fn observations(
    db: &Connection,
    project: i64,
    query: &MetricsQuery<ObservationColumn>,
    range: TimeRange,
    table: &mut Table,
) -> StoreResult<u64> {
    let mut filter = Where::default();
    let way = JoinOrder::of(db, project, &query.conditions).map_err(StoreError::database)?;
    filter.and(way.project(), [project.into()]);
    filter.within("o.start", range);
    filter.observations(&query.conditions)?;
    let needs_trace = scan::columns_of(query).into_iter().any(filter::is_of_trace);
    let from = if needs_trace { way.from() } else { "FROM observation o" };
    let tests = filter.content.clone();
    let leading_columns = if tests.is_empty() { "" } else { "o.payload, o.entry" };
    let scan = Scan {
        time: "o.start",
        from: from.to_owned(),
        filter,
        leading_columns: leading_columns.to_owned(),
        kind: filter::observation_kind,
    };
    let mut blocks = Blocks::new(db);
    scan.read(db, query, table, |row| {
        if tests.is_empty() {
            return Ok(true);
        }
        let entry = blocks.entry(row.get(0)?, row.get(1)?)?.unwrap_or_default();
        Ok(content::passes(&entry.into_content(), &tests))
    })
}

pub(in crate::embedded) fn of_scores(
    db: &Connection,
    query: &MetricsQuery<ScoreColumn>,
) -> StoreResult<MetricsAnswer> {
    let Some(project) = number(db, query)? else { return Ok(nothing()) };
    let mut filter = Where::default();
    filter.and("s.project = ?", [project.into()]);
    filter.within("s.timestamp", query.range);
    filter.scores(&query.conditions)?;
    let tests = filter.content.clone();
    let leading_columns =
        if tests.is_empty() { String::new() } else { score_row::COLUMNS.to_owned() };
    let from = format!("FROM {}", score::from(&scan::columns_of(query)));
    let scan = Scan { time: "s.timestamp", from, filter, leading_columns, kind: score::kind };
    let mut table = Table::new(exact(query));
    let rows_read = scan.read(db, query, &mut table, |row| {
        if tests.is_empty() {
            return Ok(true);
        }
        let Some(score) = score_row::read(row)?.into_score() else { return Ok(false) };
        let content = Content { metadata: score.metadata, ..Content::default() };
        Ok(content::passes(&content, &tests))
    })?;
    Ok(MetricsAnswer { rows: table.into_rows(), source: AggregateSource::Scan, rows_read })
}

fn number<C>(db: &Connection, query: &MetricsQuery<C>) -> StoreResult<Option<i64>> {
    project_number(db, &query.project).map_err(StoreError::database)
}

fn exact<C>(query: &MetricsQuery<C>) -> Vec<Tally> {
    query.metrics.iter().map(|metric| Tally::exact(metric.aggregation)).collect()
}

/// The answer for a project without telemetry.
fn nothing() -> MetricsAnswer {
    MetricsAnswer { rows: Vec::new(), source: AggregateSource::Rollup, rows_read: 0 }
}
