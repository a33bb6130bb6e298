use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::payload::Json;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::{DrawCell, DrawnTrace, Selection, WeekDraw};
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::queue::{self, NewQueueItem, QueueId};
use super::sql::{FromColumn, Row, Tx, Value};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of dataset items that are read for a week.
const MAX_ITEMS: u64 = 20_000;

/// A sample to store, with its items in a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDraw {
    /// First day of the week of the traces.
    pub week: String,
    /// `None` for traces without an agent.
    pub agent: Option<String>,
    /// Other names of the agent: a draw of one of them is a draw of the same traces.
    pub aliases: Vec<String>,
    /// Id of the user who is on call.
    pub assignee: Option<String>,
    /// Settings of the sample, for people who look at it later.
    pub plan: Json,
    pub draw: WeekDraw,
}

/// A stored sample.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDraw {
    /// Id of the queue.
    pub queue: String,
    pub week: String,
    pub agent: Option<String>,
    pub seed: String,
    /// The population, as it was.
    pub cells: Vec<DrawCell>,
    /// Whether cells are by environment and release.
    pub is_cut: bool,
    pub traces: Vec<DrawnTrace>,
    pub drawn_at: Timestamp,
}

/// The effect of storing a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawEffect {
    Made,
    /// The agent has a sample of the week already, which stays as it is.
    Known,
}

/// A dataset item that was made from a trace, or without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcedItem {
    /// Name of the dataset.
    pub dataset: String,
    pub trace: Option<String>,
    pub created_at: Timestamp,
}

impl Catalog {
    /// Stores a week's sample, adds its traces to the queue and assigns who is on call, all or
    /// nothing. A week of an agent is drawn once: a second draw changes nothing, whatever its queue.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn save_draw(
        &self,
        to: QueueId,
        new: NewDraw,
        now: Timestamp,
    ) -> StoreResult<DrawEffect> {
        let cells = serde_json::to_value(&new.draw.cells);
        let cells = Json::from_value(&cells.map_err(|why| StoreError::BadQuery(why.to_string()))?);
        self.transact(move |tx| {
            if is_drawn(tx, &to.project, &new)? {
                return Ok(DrawEffect::Known);
            }
            tx.execute(
                "INSERT INTO review_draw (project, agent, week, queue, seed, plan, cells, is_cut, \
                 drawn_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                &[
                    (&to.project).into(),
                    agent_key(&new).into(),
                    (&new.week).into(),
                    (&to.queue).into(),
                    (&new.draw.seed).into(),
                    (&new.plan).into(),
                    (&cells).into(),
                    new.draw.is_cut.into(),
                    now.into(),
                ],
            )?;
            for drawn in &new.draw.traces {
                add(tx, (&to, &new), drawn, now)?;
            }
            queue::rotate_on_call(tx, &to, (&new.week, new.assignee.as_deref()), now)?;
            Ok(DrawEffect::Made)
        })
        .await
    }

    /// Returns the samples of a week, of all queues.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn draws(&self, project: ProjectId, week: String) -> StoreResult<Vec<StoredDraw>> {
        self.transact(move |tx| {
            let sql = "SELECT queue, week, agent, seed, cells, is_cut, drawn_at FROM review_draw \
                       WHERE project = $1 AND week = $2 ORDER BY agent";
            let draws = tx.rows(sql, &[(&project).into(), (&week).into()], read_draw)?;
            let with_traces = |draw: StoredDraw| {
                let agent = draw.agent.clone().unwrap_or_default();
                let traces = traces(tx, &project, (&agent, &week))?;
                Ok(StoredDraw { traces, ..draw })
            };
            draws.into_iter().map(with_traces).collect()
        })
        .await
    }

    /// Returns the weeks that have samples, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn drawn_weeks(&self, project: ProjectId, limit: u64) -> StoreResult<Vec<String>> {
        let sql = "SELECT DISTINCT week FROM review_draw WHERE project = $1 \
                   ORDER BY week DESC LIMIT $2";
        self.transact(move |tx| tx.rows(sql, &[(&project).into(), limit.into()], |row| row.get(0)))
            .await
    }

    /// Returns the facts of the draws that a trace was in, newest week first, with their week.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn draws_of_trace(
        &self,
        project: ProjectId,
        trace: String,
    ) -> StoreResult<Vec<(String, DrawnTrace)>> {
        let sql = format!(
            "SELECT {TRACE_COLUMNS}, week FROM review_item WHERE project = $1 AND trace = $2 \
             ORDER BY week DESC, agent"
        );
        self.transact(move |tx| {
            let read = |row: &Row<'_>| Ok((row.get(9)?, read_trace(row)?));
            tx.rows(&sql, &[(&project).into(), (&trace).into()], read)
        })
        .await
    }

    /// Returns the active dataset items made since a time, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn sourced_items(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> StoreResult<Vec<SourcedItem>> {
        let sql = "SELECT d.name, i.source_trace, i.created_at FROM dataset_item i \
                   JOIN dataset d ON d.project = i.project AND d.id = i.dataset \
                   WHERE i.project = $1 AND i.created_at >= $2 AND i.valid_to IS NULL \
                   AND i.status = 'ACTIVE' ORDER BY i.created_at DESC LIMIT $3";
        let read = |row: &Row<'_>| {
            Ok(SourcedItem { dataset: row.get(0)?, trace: row.get(1)?, created_at: row.get(2)? })
        };
        self.transact(move |tx| {
            tx.rows(sql, &[(&project).into(), since.into(), MAX_ITEMS.into()], read)
        })
        .await
    }
}

/// The column of the agent: empty for traces without one.
fn agent_key(new: &NewDraw) -> &str {
    new.agent.as_deref().unwrap_or_default()
}

/// Whether the week of an agent was drawn, under any of its names.
fn is_drawn(tx: &Tx<'_>, project: &ProjectId, new: &NewDraw) -> StoreResult<bool> {
    let sql = "SELECT 1 FROM review_draw WHERE project = $1 AND agent = $2 AND week = $3";
    for name in std::iter::once(agent_key(new)).chain(new.aliases.iter().map(String::as_str)) {
        if tx.exists(sql, &[project.into(), name.into(), (&new.week).into()])? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn add(
    tx: &Tx<'_>,
    (to, new): (&QueueId, &NewDraw),
    drawn: &DrawnTrace,
    now: Timestamp,
) -> StoreResult<()> {
    let object = drawn.trace.clone();
    let item = NewQueueItem { kind: ItemKind::Trace, object, status: ItemStatus::Pending };
    let item = queue::add(tx, to, item, now)?;
    tx.execute(
        "INSERT INTO review_item (project, agent, week, trace, item, selection, category, \
         population, taken, probability, quality, environment, release, reason) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        &[
            (&to.project).into(),
            agent_key(new).into(),
            (&new.week).into(),
            (&drawn.trace).into(),
            item.id.into(),
            drawn.selection.as_str().into(),
            drawn.category.as_str().into(),
            drawn.population.into(),
            drawn.taken.into(),
            drawn.probability().into(),
            drawn.quality.into(),
            (&drawn.environment).into(),
            drawn.release.clone().into(),
            (&drawn.reason).into(),
        ],
    )?;
    Ok(())
}

const TRACE_COLUMNS: &str =
    "trace, selection, category, population, taken, quality, environment, release, reason";

fn traces(
    tx: &Tx<'_>,
    project: &ProjectId,
    (agent, week): (&str, &str),
) -> StoreResult<Vec<DrawnTrace>> {
    let sql = format!(
        "SELECT {TRACE_COLUMNS} FROM review_item WHERE project = $1 AND agent = $2 AND week = $3 \
         ORDER BY trace"
    );
    tx.rows(&sql, &[project.into(), agent.into(), week.into()], read_trace)
}

fn read_trace(row: &Row<'_>) -> StoreResult<DrawnTrace> {
    Ok(DrawnTrace {
        trace: row.get(0)?,
        selection: row.get(1)?,
        category: row.get(2)?,
        population: row.get(3)?,
        taken: row.get(4)?,
        quality: row.get(5)?,
        environment: row.get(6)?,
        release: row.get(7)?,
        reason: row.get(8)?,
    })
}

fn read_draw(row: &Row<'_>) -> StoreResult<StoredDraw> {
    let cells: Json = row.get(4)?;
    let cells = serde_json::from_str(cells.as_str());
    let agent: String = row.get(2)?;
    Ok(StoredDraw {
        queue: row.get(0)?,
        week: row.get(1)?,
        agent: Some(agent).filter(|agent| !agent.is_empty()),
        seed: row.get(3)?,
        cells: cells.map_err(|why| StoreError::BadQuery(format!("a stored draw: {why}")))?,
        is_cut: row.get(5)?,
        traces: Vec::new(),
        drawn_at: row.get(6)?,
    })
}

impl FromColumn for Selection {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl FromColumn for Category {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}
