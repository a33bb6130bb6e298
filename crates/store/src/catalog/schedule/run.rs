use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;

use crate::catalog::sql::{FromColumn, Row, Value};
use crate::catalog::{Catalog, Noun, Verb};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum stored length of a run's message.
const MESSAGE_BYTES: usize = 2_000;

/// One run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRun {
    /// Due time, which identifies the run.
    pub due_at: Timestamp,
    /// The server that runs it; empty before the first claim.
    pub runner: String,
    /// Start of the last attempt.
    pub began_at: Timestamp,
    /// Expiry of the lease.
    pub claimed_until: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: ScheduleOutcome,
    /// Summary, or the error.
    pub message: String,
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleOutcome {
    /// Not finished, or its runner is lost.
    Running,
    Done,
    Failed,
}

impl ScheduleOutcome {
    pub const ALL: [Self; 3] = [Self::Running, Self::Done, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }
}

/// A request for the lease of a due run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClaim {
    pub project: ProjectId,
    pub schedule: String,
    pub due_at: Timestamp,
    /// Runner id, unique per process.
    pub runner: String,
    /// Expiry of the lease, unless renewed.
    pub until: Timestamp,
}

const COLUMNS: &str = "due_at, runner, began_at, claimed_until, ended_at, outcome, message";

impl Catalog {
    /// Acquires the lease of a run; returns whether the caller holds it now. Only one caller gets
    /// it. A finished run cannot be claimed; an expired lease goes to the next caller.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_run(&self, claim: RunClaim, now: Timestamp) -> StoreResult<bool> {
        self.transact(move |tx| {
            let touched = tx.execute(
                "INSERT INTO schedule_run (project, schedule, due_at, runner, began_at, \
                 claimed_until, outcome, message) VALUES ($1, $2, $3, $4, $5, $6, 'running', '') \
                 ON CONFLICT (project, schedule, due_at) DO UPDATE \
                 SET runner = $4, began_at = $5, claimed_until = $6 \
                 WHERE schedule_run.ended_at IS NULL AND schedule_run.claimed_until <= $5",
                &[
                    (&claim.project).into(),
                    (&claim.schedule).into(),
                    claim.due_at.into(),
                    (&claim.runner).into(),
                    now.into(),
                    claim.until.into(),
                ],
            )?;
            Ok(touched == 1)
        })
        .await
    }

    /// Requests a run now, due or not: the next server that polls claims it.
    ///
    /// # Errors
    /// Fails if the project has no such schedule, or if it is running already.
    pub async fn request_run(
        &self,
        project: ProjectId,
        schedule: String,
        now: Timestamp,
    ) -> StoreResult<ScheduleRun> {
        self.transact(move |tx| {
            super::wanted(tx, &project, &schedule)?;
            let which = [(&project).into(), (&schedule).into()];
            let newest = format!(
                "SELECT {COLUMNS} FROM schedule_run WHERE project = $1 AND schedule = $2 \
                 ORDER BY due_at DESC LIMIT 1"
            );
            let is_running = |run: &ScheduleRun| run.ended_at.is_none() && run.claimed_until > now;
            if tx.one(&newest, &which, read)?.is_some_and(|run| is_running(&run)) {
                return Err(StoreError::BadQuery(format!("{schedule} is running already")));
            }
            tx.execute(
                "INSERT INTO schedule_run (project, schedule, due_at, runner, began_at, \
                 claimed_until, outcome, message) VALUES ($1, $2, $3, '', $3, $3, 'running', '') \
                 ON CONFLICT (project, schedule, due_at) DO NOTHING",
                &[(&project).into(), (&schedule).into(), now.into()],
            )?;
            let audited = Verb::Changed.what(Noun::Schedule, &schedule).named(&schedule);
            tx.note(&project, now, &audited.became("run now"))?;
            let asked = tx.one(&newest, &which, read)?;
            asked.ok_or_else(|| StoreError::NotFound(format!("a run of {schedule}")))
        })
        .await
    }

    /// Renews a lease; returns whether the caller still held it.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn renew_run(&self, claim: RunClaim) -> StoreResult<bool> {
        self.transact(move |tx| {
            let touched = tx.execute(
                "UPDATE schedule_run SET claimed_until = $5 WHERE project = $1 AND schedule = $2 \
                 AND due_at = $3 AND runner = $4 AND ended_at IS NULL",
                &[
                    (&claim.project).into(),
                    (&claim.schedule).into(),
                    claim.due_at.into(),
                    (&claim.runner).into(),
                    claim.until.into(),
                ],
            )?;
            Ok(touched == 1)
        })
        .await
    }

    /// Records the result of a run, if the caller still holds the lease.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn end_run(
        &self,
        claim: RunClaim,
        (outcome, message): (ScheduleOutcome, String),
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            tx.execute(
                "UPDATE schedule_run SET ended_at = $5, outcome = $6, message = $7 \
                 WHERE project = $1 AND schedule = $2 AND due_at = $3 AND runner = $4 \
                 AND ended_at IS NULL",
                &[
                    (&claim.project).into(),
                    (&claim.schedule).into(),
                    claim.due_at.into(),
                    (&claim.runner).into(),
                    now.into(),
                    outcome.as_str().into(),
                    elide(&message, MESSAGE_BYTES).as_ref().into(),
                ],
            )?;
            Ok(())
        })
        .await
    }

    /// Returns the last runs of a schedule, latest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn schedule_runs(
        &self,
        project: ProjectId,
        schedule: String,
        most: u64,
    ) -> StoreResult<Vec<ScheduleRun>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM schedule_run WHERE project = $1 AND schedule = $2 \
             ORDER BY due_at DESC LIMIT $3"
        );
        self.transact(move |tx| {
            tx.rows(&sql, &[(&project).into(), (&schedule).into(), most.into()], read)
        })
        .await
    }
}

fn read(row: &Row<'_>) -> StoreResult<ScheduleRun> {
    Ok(ScheduleRun {
        due_at: row.get(0)?,
        runner: row.get(1)?,
        began_at: row.get(2)?,
        claimed_until: row.get(3)?,
        ended_at: row.get(4)?,
        outcome: row.get(5)?,
        message: row.get(6)?,
    })
}

impl FromColumn for ScheduleOutcome {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}
