/// Deleting runs.
mod deletion;
/// Further trials of runs.
mod extension;
/// Trials that are run again because the target failed.
mod repetition;
/// Claims, renewals and results of trials.
mod trials;

use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::sql::{Listing, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

pub(super) use deletion::{forget_runs, refuse_if_running};
pub use extension::RunExtension;
pub use trials::{
    CacheableAnswer, ClaimedTrial, FinishedTrial, TrialClaim, TrialLease, TrialRenewal,
};

/// A run to create.
#[derive(Clone, Debug)]
pub struct NewExperimentRun {
    pub id: String,
    pub name: String,
    /// Id of the dataset.
    pub dataset: String,
    /// Target, evaluators and settings: a JSON object. A run is continued only with an equal one.
    pub plan: Json,
    pub max_cost: Option<Money>,
    pub trials: Vec<NewTrial>,
}

/// A trial to enqueue.
#[derive(Clone, Debug)]
pub struct NewTrial {
    pub id: String,
    /// What the runner needs: JSON.
    pub payload: String,
}

/// A run of an experiment that Ratchet drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentRun {
    pub id: String,
    pub name: String,
    /// Id of the dataset.
    pub dataset: String,
    pub plan: Json,
    /// `running`, `done` or `cancelled`.
    pub state: String,
    pub counts: RunCounts,
    pub max_cost: Option<Money>,
    /// Repeats per item, if the run was extended beyond its plan.
    pub extended_repeats: Option<u32>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

/// Sums over the trials of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    pub trials: u64,
    /// Finished trials, with those that failed.
    pub done: u64,
    /// Trials whose last call failed.
    pub faults: u64,
    /// Trials that were answered from the cache.
    pub cached: u64,
    /// Calls that were sent. Each is counted before it is sent.
    pub calls: u64,
    /// Finished trials without a known cost.
    pub unpriced: u64,
    pub cost: Money,
}

/// What became of a request to create a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOpening {
    Created(ExperimentRun),
    /// There was one of that name and plan, which is continued.
    Continued(ExperimentRun),
    /// There is one of that name with another plan.
    Different(ExperimentRun),
}

const COLUMNS: &str = "id, name, dataset, plan, state, trials, done, faults, cached, calls, \
                       unpriced, cost, max_cost, created_at, updated_at, finished_at, repeats";

impl Catalog {
    /// Creates a run with its trials, or returns the one of its id.
    ///
    /// # Errors
    /// Fails if a redaction rule matches the name or the plan, which is used as it is.
    pub async fn open_experiment_run(
        &self,
        project: ProjectId,
        new: NewExperimentRun,
        now: Timestamp,
    ) -> StoreResult<RunOpening> {
        self.transact(move |tx| {
            if let Some(known) = one(tx, &project, &new.id)? {
                let is_same = known.plan == new.plan;
                return Ok(if is_same {
                    RunOpening::Continued(known)
                } else {
                    RunOpening::Different(known)
                });
            }
            must_pass(tx, &project, &new)?;
            insert(tx, &project, &new, now)?;
            let audited = AuditAction::Made.on(AuditObject::DatasetRun, &new.id).named(&new.name);
            tx.audit(&project, now, &audited)?;
            Ok(RunOpening::Created(require(tx, &project, &new.id)?))
        })
        .await
    }

    /// Returns a run, if there is one of that id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn experiment_run(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<Option<ExperimentRun>> {
        self.transact(move |tx| one(tx, &project, &id)).await
    }

    /// Returns the runs of a project, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn experiment_runs(
        &self,
        project: ProjectId,
        dataset: Option<String>,
        page: PageNumber,
    ) -> StoreResult<Page<ExperimentRun>> {
        self.transact(move |tx| {
            let mut from = "FROM experiment_run WHERE project = $1".to_owned();
            let mut values: Vec<Value> = vec![(&project).into()];
            if let Some(dataset) = dataset {
                from.push_str(" AND dataset = $2");
                values.push(dataset.into());
            }
            let order = "created_at DESC, id";
            tx.page(Listing { columns: COLUMNS, from: &from, order }, &values, page, read)
        })
        .await
    }

    /// Changes the cost cap of a run.
    ///
    /// # Errors
    /// Fails if there is no such run.
    pub async fn cap_experiment_run(
        &self,
        (project, id): (ProjectId, String),
        max_cost: Option<Money>,
        now: Timestamp,
    ) -> StoreResult<ExperimentRun> {
        self.transact(move |tx| {
            let sql = "UPDATE experiment_run SET max_cost = $3, updated_at = $4 \
                       WHERE project = $1 AND id = $2";
            let cap = max_cost.map(Money::pico).into();
            tx.execute(sql, &[(&project).into(), (&id).into(), cap, now.into()])?;
            require(tx, &project, &id)
        })
        .await
    }

    /// Returns unfinished runs of all projects, oldest first: for the worker that runs those of the
    /// server.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn unfinished_experiment_runs(&self) -> StoreResult<Vec<(ProjectId, ExperimentRun)>> {
        self.transact(move |tx| {
            let sql = format!(
                "SELECT {COLUMNS}, project FROM experiment_run WHERE state = 'running' \
                 ORDER BY created_at, project, id"
            );
            tx.rows(&sql, &[], |row| Ok((row.get(17)?, read(row)?)))
        })
        .await
    }

    /// Stops a run: no further trial is handed out. Returns the run.
    ///
    /// # Errors
    /// Fails if there is no such run.
    pub async fn cancel_experiment_run(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<ExperimentRun> {
        self.transact(move |tx| {
            let before = require(tx, &project, &id)?;
            let sql = "UPDATE experiment_run SET state = 'cancelled', updated_at = $3, \
                       finished_at = $3 WHERE project = $1 AND id = $2 AND state = 'running'";
            let values = [(&project).into(), (&id).into(), now.into()];
            if tx.execute(sql, &values)? == 1 {
                let audited = AuditAction::Changed.on(AuditObject::DatasetRun, &id);
                let audited = audited.named(&before.name).was(before.state).became("cancelled");
                tx.audit(&project, now, &audited)?;
            }
            require(tx, &project, &id)
        })
        .await
    }
}

fn must_pass(tx: &Tx<'_>, project: &ProjectId, new: &NewExperimentRun) -> StoreResult<()> {
    let name = redaction::said(&new.name);
    redaction::must_pass(tx, project, &[("run", &name), ("plan", &new.plan)])
}

fn insert(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: &NewExperimentRun,
    now: Timestamp,
) -> StoreResult<()> {
    let state = if new.trials.is_empty() { "done" } else { "running" };
    tx.execute(
        "INSERT INTO experiment_run (project, id, name, dataset, plan, state, trials, max_cost, \
         created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)",
        &[
            project.into(),
            (&new.id).into(),
            (&new.name).into(),
            (&new.dataset).into(),
            (&new.plan).into(),
            state.into(),
            (new.trials.len() as u64).into(),
            new.max_cost.map(Money::pico).into(),
            now.into(),
        ],
    )?;
    for trial in &new.trials {
        extension::enqueue(tx, project, trial, now)?;
    }
    Ok(())
}

fn one(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<Option<ExperimentRun>> {
    let sql = format!("SELECT {COLUMNS} FROM experiment_run WHERE project = $1 AND id = $2");
    tx.one(&sql, &[project.into(), id.into()], read)
}

fn require(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<ExperimentRun> {
    let missing = || StoreError::NotFound(format!("experiment run {id}"));
    one(tx, project, id)?.ok_or_else(missing)
}

fn read(row: &Row<'_>) -> StoreResult<ExperimentRun> {
    Ok(ExperimentRun {
        id: row.get(0)?,
        name: row.get(1)?,
        dataset: row.get(2)?,
        plan: row.get(3)?,
        state: row.get(4)?,
        counts: RunCounts {
            trials: row.get(5)?,
            done: row.get(6)?,
            faults: row.get(7)?,
            cached: row.get(8)?,
            calls: row.get(9)?,
            unpriced: row.get(10)?,
            cost: Money::from_pico(row.get(11)?),
        },
        max_cost: row.get::<Option<i64>>(12)?.map(Money::from_pico),
        created_at: row.get(13)?,
        updated_at: row.get(14)?,
        finished_at: row.get(15)?,
        extended_repeats: row.get(16)?,
    })
}
