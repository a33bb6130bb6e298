use ratchet_core::id::TraceId;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{List, Listed, nothing, observations, traces};
use crate::embedded::column::{Column, to_u64};
use crate::embedded::content::{self, ContentBudget};
use crate::embedded::experiment_row::{
    EXPERIMENT_COLUMNS, ITEM_COLUMNS, ITEM_TIME, item_with_texts, read_experiment, read_item,
    with_texts,
};
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::payload::Blocks;
use crate::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, ExperimentSummary, Outcome, RunQuery,
    StoredExperimentItem,
};
use crate::project::ProjectId;
use crate::query::{Detail, Direction, Page};
use crate::{StoreError, StoreResult};

const ITEMS: &str = "experiment_item i JOIN experiment e ON e.no = i.experiment";

/// Experiments with items in a time range, latest first. After some bytes they have no texts.
pub(in crate::embedded) fn list(
    db: &Connection,
    query: &ExperimentQuery,
) -> StoreResult<Page<ExperimentSummary>> {
    let Some(project) = number(db, &query.project)? else { return Ok(nothing(&query.paging)) };
    let inner = wanted(project, query);
    let select = format!(
        "SELECT * FROM (SELECT {EXPERIMENT_COLUMNS}, min({ITEM_TIME}) AS first, \
         max(coalesce(i.end, {ITEM_TIME})) AS last, count(*) AS items FROM {ITEMS} {} \
         GROUP BY e.no)",
        inner.sql()
    );
    let count = format!("SELECT count(DISTINCT e.no) FROM {ITEMS} {}", inner.sql());
    // The parameters of the inner query precede those of the outer one.
    let mut filter = Where { params: inner.params, ..Where::default() };
    filter.and("items > 0", []);
    let list = List {
        select,
        count,
        filter,
        order: &["last", "no"],
        direction: Direction::Descending,
        paging: &query.paging,
        known_total: None,
    };
    let mut budget = ContentBudget::new(Detail::BoundedContent);
    list.read::<_, 2>(db, |row| {
        let summary = ExperimentSummary {
            experiment: bounded(db, row, &mut budget)?,
            start: row.get::<_, Column<_>>(6)?.0,
            end: row.get::<_, Column<_>>(7)?.0,
            items: to_u64(row.get(8)?),
        };
        Ok(Some(Listed { row: summary, keys: vec![row.get(7)?, row.get(0)?] }))
    })
}

/// The experiment of a row, with its texts if there is room for them.
fn bounded(
    db: &Connection,
    row: &Row<'_>,
    budget: &mut ContentBudget,
) -> rusqlite::Result<Experiment> {
    let experiment = read_experiment(row)?;
    if !budget.has_room() {
        return Ok(experiment);
    }
    let experiment = with_texts(db, experiment, row.get(0)?)?;
    budget.charge_bytes(experiment.text_bytes());
    Ok(experiment)
}

/// An experiment that was cut, with its texts; `None` if it was deleted meanwhile.
pub(in crate::embedded) fn whole_experiment(
    db: &Connection,
    project: &ProjectId,
    experiment: Experiment,
) -> StoreResult<Option<Experiment>> {
    let Some(number) = number(db, project)? else { return Ok(None) };
    let read = || -> rusqlite::Result<Option<Experiment>> {
        let sql = "SELECT no FROM experiment WHERE project = ? AND id = ?";
        let mut statement = db.prepare_cached(sql)?;
        let no =
            statement.query_row(params![number, experiment.id], |row| row.get(0)).optional()?;
        no.map(|no| with_texts(db, experiment, no)).transpose()
    };
    read().map_err(StoreError::database)
}

/// The items of experiments, newest first.
pub(in crate::embedded) fn items(
    db: &Connection,
    query: &ExperimentItemQuery,
) -> StoreResult<Page<StoredExperimentItem>> {
    let paging = &query.of.paging;
    let Some(project) = number(db, &query.of.project)? else { return Ok(nothing(paging)) };
    let mut filter = wanted(project, &query.of);
    any_of(&mut filter, "i.item", &query.items);
    let list = List {
        select: format!("SELECT {EXPERIMENT_COLUMNS}, {ITEM_COLUMNS}, {ITEM_TIME} FROM {ITEMS}"),
        count: format!("SELECT count(*) FROM {ITEMS}"),
        filter,
        order: &[ITEM_TIME, "i.no"],
        direction: Direction::Descending,
        paging,
        known_total: None,
    };
    let (mut blocks, mut budget) = (Blocks::new(db), ContentBudget::new(query.detail));
    list.read::<_, 2>(db, |row| {
        let keys = vec![row.get(16)?, row.get(6)?];
        if !budget.has_room() {
            let is_cut = query.detail == Detail::BoundedContent;
            let row = StoredExperimentItem { is_cut, ..read_item(row)? };
            return Ok(Some(Listed { row, keys }));
        }
        let item = whole_row(db, &mut blocks, (&query.of.project, project), row)?;
        budget.charge_bytes(bytes(&item));
        Ok(Some(Listed { row: item, keys }))
    })
}

/// The item of a row with its texts, its experiment's and its outcome.
fn whole_row(
    db: &Connection,
    blocks: &mut Blocks<'_>,
    project: (&ProjectId, i64),
    row: &Row<'_>,
) -> rusqlite::Result<StoredExperimentItem> {
    let mut item = with_all_texts(db, row)?;
    item.outcome = outcome(db, blocks, project, &item)?;
    Ok(item)
}

fn with_all_texts(db: &Connection, row: &Row<'_>) -> rusqlite::Result<StoredExperimentItem> {
    let item = item_with_texts(db, read_item(row)?, row.get(6)?)?;
    let experiment = with_texts(db, item.experiment, row.get(0)?)?;
    Ok(StoredExperimentItem { experiment, ..item })
}

/// An item that was cut, with its content; `None` if it was deleted meanwhile.
pub(in crate::embedded) fn whole(
    db: &Connection,
    project: &ProjectId,
    item: &StoredExperimentItem,
) -> StoreResult<Option<StoredExperimentItem>> {
    let Some(number) = number(db, project)? else { return Ok(None) };
    let sql = format!(
        "SELECT {EXPERIMENT_COLUMNS}, {ITEM_COLUMNS} FROM {ITEMS} \
         WHERE i.project = ? AND i.trace = ? AND i.id = ? AND e.id = ?"
    );
    let read = || -> rusqlite::Result<Option<StoredExperimentItem>> {
        let mut statement = db.prepare_cached(&sql)?;
        let keys = params![number, Column(&item.trace), item.id, item.experiment.id];
        let mut blocks = Blocks::new(db);
        let whole = |row: &Row<'_>| whole_row(db, &mut blocks, (project, number), row);
        statement.query_row(keys, whole).optional()
    };
    read().map_err(StoreError::database)
}

/// Approximate bytes of an item.
fn bytes(item: &StoredExperimentItem) -> usize {
    let content = match &item.outcome {
        Some(Outcome::Run(run)) => run.content.as_ref(),
        Some(Outcome::Step(step)) => step.content.as_ref(),
        None => None,
    };
    let texts = [&item.expected_output, &item.metadata];
    let texts = texts.into_iter().flatten().map(|json| json.as_str().len());
    content.map_or(0, content::bytes) + texts.sum::<usize>() + item.experiment.text_bytes()
}

/// The items whose runs are some traces.
pub(in crate::embedded) fn items_of_traces(
    db: &Connection,
    project: &ProjectId,
    traces: &[TraceId],
) -> StoreResult<Vec<StoredExperimentItem>> {
    let Some(project) = number(db, project)? else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT {EXPERIMENT_COLUMNS}, {ITEM_COLUMNS} FROM {ITEMS} \
         WHERE i.project = ? AND i.trace = ? ORDER BY i.no"
    );
    let read = || -> rusqlite::Result<Vec<StoredExperimentItem>> {
        let mut statement = db.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for trace in traces {
            let rows = statement
                .query_map(params![project, Column(trace)], |row| with_all_texts(db, row))?;
            found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        Ok(found)
    };
    read().map_err(StoreError::database)
}

/// The experiments over one dataset, newest first. After some bytes they have no texts.
pub(in crate::embedded) fn runs(
    db: &Connection,
    query: &RunQuery,
) -> StoreResult<Page<Experiment>> {
    let Some(project) = number(db, &query.project)? else { return Ok(nothing(&query.paging)) };
    let mut filter = Where::default();
    filter.and("e.project = ?", [project.into()]);
    filter.and("e.dataset = ?", [query.dataset.clone().into()]);
    if let Some(name) = &query.name {
        filter.and("e.name = ?", [name.clone().into()]);
    }
    let list = List {
        select: format!("SELECT {EXPERIMENT_COLUMNS} FROM experiment e"),
        count: "SELECT count(*) FROM experiment e".to_owned(),
        filter,
        order: &["e.created_at", "e.no"],
        direction: Direction::Descending,
        paging: &query.paging,
        known_total: None,
    };
    let mut budget = ContentBudget::new(Detail::BoundedContent);
    list.read::<_, 2>(db, |row| {
        let keys = vec![row.get(4)?, row.get(0)?];
        Ok(Some(Listed { row: bounded(db, row, &mut budget)?, keys }))
    })
}

fn number(db: &Connection, project: &ProjectId) -> StoreResult<Option<i64>> {
    project_number(db, project).map_err(StoreError::database)
}

fn wanted(project: i64, query: &ExperimentQuery) -> Where {
    let mut filter = Where::default();
    filter.and("i.project = ?", [project.into()]);
    filter.within(ITEM_TIME, query.range);
    any_of(&mut filter, "e.id", &query.ids);
    any_of(&mut filter, "e.name", &query.names);
    any_of(&mut filter, "e.dataset", &query.datasets);
    filter
}

fn any_of(filter: &mut Where, column: &str, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let marks = vec!["?"; words.len()].join(", ");
    filter.and(format!("{column} IN ({marks})"), words.iter().cloned().map(Value::from));
}

/// The trace or observation of an item, with its content.
fn outcome(
    db: &Connection,
    blocks: &mut Blocks<'_>,
    (project, number): (&ProjectId, i64),
    item: &StoredExperimentItem,
) -> rusqlite::Result<Option<Outcome>> {
    let Some(observation) = &item.observation else {
        let run = traces::one(db, project, &item.trace)?;
        return Ok(run.map(|run| Outcome::Run(Box::new(run))));
    };
    let sql = format!("{} WHERE t.project = ? AND t.id = ? AND o.id = ?", observations::select());
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params![number, Column(&item.trace), Column(observation)])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let row = observations::read(row)?;
    observations::with_content(blocks, row).map(|step| Some(Outcome::Step(Box::new(step))))
}
