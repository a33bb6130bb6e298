//! Rows of experiments and their items.

use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata, TimeSpan};
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::column::{Column, column_value};
use super::load::project_number;
use crate::experiment::{Experiment, StoredExperimentItem};
use crate::project::ProjectId;

/// The columns that [`read_experiment`] expects, in order. Texts are not among them: a list is
/// sorted, and SQLite holds all columns of what it sorts.
pub(super) const EXPERIMENT_COLUMNS: &str =
    "e.no, e.id, e.name, e.dataset, e.created_at, e.updated_at";

/// The columns that [`read_item`] expects, in order, after those of the experiment.
pub(super) const ITEM_COLUMNS: &str = "i.no, i.id, i.item, i.version, i.trace, i.observation, \
                                       i.start, i.end, i.created_at, i.updated_at";

/// When an item ran, or else when it was first recorded.
pub(super) const ITEM_TIME: &str = "coalesce(i.start, i.created_at)";

/// Merges an experiment item into its stored row.
pub(super) fn write(
    db: &Connection,
    project: i64,
    item: &ExperimentItem,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let experiment = write_experiment(db, project, (&item.experiment, item.recorded_at), now)?;
    let known = find(db, (project, experiment), item)?;
    let (start, end) = (item.ran.map(|ran| Column(ran.start)), item.ran.map(|ran| Column(ran.end)));
    let version = item.version.map(Column);
    let expected = item.expected_output.as_ref().map(Json::as_str);
    let metadata = item.metadata.as_ref().map(Json::as_str);
    let observation = item.observation.as_ref().map(Column);
    if let Some(no) = known {
        let sql = "UPDATE experiment_item SET version = coalesce(?2, version), \
                   expected_output = coalesce(?3, expected_output), \
                   metadata = coalesce(?4, metadata), observation = coalesce(?5, observation), \
                   start = coalesce(?6, start), end = coalesce(?7, end), \
                   updated_at = max(updated_at, ?8) WHERE no = ?1";
        let values = params![no, version, expected, metadata, observation, start, end, Column(now)];
        db.prepare_cached(sql)?.execute(values)?;
        return Ok(());
    }
    let sql = "INSERT INTO experiment_item (project, experiment, id, item, version, \
               expected_output, metadata, trace, observation, start, end, created_at, updated_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    db.prepare_cached(sql)?.execute(params![
        project,
        experiment,
        item.id(),
        item.item,
        version,
        expected,
        metadata,
        Column(&item.trace),
        observation,
        start,
        end,
        Column(item.recorded_at),
        Column(now)
    ])?;
    Ok(())
}

fn write_experiment(
    db: &Connection,
    project: i64,
    (words, recorded_at): (&ExperimentMetadata, Timestamp),
    now: Timestamp,
) -> rusqlite::Result<i64> {
    let metadata = words.metadata.as_ref().map(Json::as_str);
    let sql = "INSERT INTO experiment (project, id, name, description, metadata, dataset, \
               created_at, updated_at) VALUES (?1, ?2, coalesce(?3, ?2), ?4, ?5, ?6, ?7, ?8) \
               ON CONFLICT (project, id) DO UPDATE SET name = coalesce(?3, name), \
               description = coalesce(?4, description), metadata = coalesce(?5, metadata), \
               dataset = coalesce(?6, dataset), created_at = min(created_at, ?7), \
               updated_at = max(updated_at, ?8) RETURNING no";
    let values = params![
        project,
        words.id,
        words.name,
        words.description,
        metadata,
        words.dataset,
        Column(recorded_at),
        Column(now)
    ];
    db.prepare_cached(sql)?.query_row(values, |row| row.get(0))
}

/// The stored row of the same item run.
fn find(
    db: &Connection,
    (project, experiment): (i64, i64),
    item: &ExperimentItem,
) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT no, item, observation FROM experiment_item \
               WHERE project = ? AND trace = ? AND experiment = ? ORDER BY observation IS NULL";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![project, Column(&item.trace), experiment])?;
    while let Some(row) = rows.next()? {
        let observation: Option<Column<ObservationId>> = row.get(2)?;
        let observation = observation.map(|id| id.0);
        if item.is_same_try(row.get_ref(1)?.as_str()?, observation.as_ref()) {
            return row.get(0).map(Some);
        }
    }
    Ok(None)
}

/// Deletes an experiment, its items and its scores; returns whether it existed.
pub(super) fn delete(db: &Connection, project: &ProjectId, id: &str) -> rusqlite::Result<bool> {
    let Some(project) = project_number(db, project)? else { return Ok(false) };
    let sql = "DELETE FROM experiment WHERE project = ? AND id = ? RETURNING no";
    let no: Option<i64> =
        db.prepare_cached(sql)?.query_row(params![project, id], |row| row.get(0)).optional()?;
    let Some(no) = no else { return Ok(false) };
    db.prepare_cached("DELETE FROM experiment_item WHERE experiment = ?")?.execute([no])?;
    let sql = "DELETE FROM score WHERE project = ? AND dataset_run = ?";
    db.prepare_cached(sql)?.execute(params![project, id])?;
    Ok(true)
}

/// Deletes an experiment item.
pub(super) fn forget_item(
    db: &Connection,
    project: &ProjectId,
    item: &str,
) -> rusqlite::Result<()> {
    let Some(project) = project_number(db, project)? else { return Ok(()) };
    let sql = "DELETE FROM experiment_item WHERE project = ? AND item = ?";
    db.prepare_cached(sql)?.execute(params![project, item])?;
    Ok(())
}

/// Deletes the experiment items of a trace.
pub(super) fn delete_of_trace(
    db: &Connection,
    project: i64,
    trace: &TraceId,
) -> rusqlite::Result<()> {
    let sql = "DELETE FROM experiment_item WHERE project = ? AND trace = ?";
    db.prepare_cached(sql)?.execute(params![project, Column(trace)])?;
    Ok(())
}

/// Reads an experiment without description and metadata.
pub(super) fn read_experiment(row: &Row<'_>) -> rusqlite::Result<Experiment> {
    Ok(Experiment {
        id: row.get(1)?,
        name: row.get(2)?,
        description: None,
        metadata: None,
        dataset: row.get(3)?,
        created_at: row.get::<_, Column<_>>(4)?.0,
        updated_at: row.get::<_, Column<_>>(5)?.0,
        is_cut: true,
    })
}

/// Reads an item without its texts and those of its experiment.
pub(super) fn read_item(row: &Row<'_>) -> rusqlite::Result<StoredExperimentItem> {
    let (start, end): (Option<Column<Timestamp>>, Option<Column<Timestamp>>) =
        (row.get(12)?, row.get(13)?);
    Ok(StoredExperimentItem {
        experiment: read_experiment(row)?,
        id: row.get(7)?,
        item: row.get(8)?,
        version: column_value(row.get(9)?),
        expected_output: None,
        metadata: None,
        trace: row.get::<_, Column<_>>(10)?.0,
        observation: column_value(row.get(11)?),
        ran: start.zip(end).map(|(start, end)| TimeSpan { start: start.0, end: end.0 }),
        created_at: row.get::<_, Column<_>>(14)?.0,
        updated_at: row.get::<_, Column<_>>(15)?.0,
        outcome: None,
        is_cut: false,
    })
}

/// Reads description and metadata of an experiment by its number.
pub(super) fn with_texts(
    db: &Connection,
    experiment: Experiment,
    no: i64,
) -> rusqlite::Result<Experiment> {
    let sql = "SELECT description, metadata FROM experiment WHERE no = ?";
    db.prepare_cached(sql)?.query_row([no], |row| {
        let (description, metadata) = (row.get(0)?, json(row, 1)?);
        Ok(Experiment { description, metadata, is_cut: false, ..experiment })
    })
}

/// Reads the texts of an item by its number.
pub(super) fn item_with_texts(
    db: &Connection,
    item: StoredExperimentItem,
    no: i64,
) -> rusqlite::Result<StoredExperimentItem> {
    let sql = "SELECT expected_output, metadata FROM experiment_item WHERE no = ?";
    db.prepare_cached(sql)?.query_row([no], |row| {
        let (expected_output, metadata) = (json(row, 0)?, json(row, 1)?);
        Ok(StoredExperimentItem { expected_output, metadata, ..item })
    })
}

fn json(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Json>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.and_then(Json::parse))
}
