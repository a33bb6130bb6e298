use std::time::Duration;

use ratchet_core::job::{JobKind, JobPhase, MAX_LEASE, Retry};
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::catalog::job::{self, JobFailure, JobLease, JobOrder, JobRecord, LeaseStatus, NewJob};
use crate::catalog::sql::Tx;
use crate::catalog::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum stored length of a run's message.
const MESSAGE_BYTES: usize = 2_000;
/// Attempts of a run: a server that dies uses one up.
const MAX_ATTEMPTS: u32 = 10;
/// Finished runs retained per schedule.
const MAX_FINISHED: u64 = 1_000;

/// One run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRun {
    /// Due time, which identifies the run.
    pub due_at: Timestamp,
    /// The server that runs it; empty before the first claim.
    pub runner: String,
    /// Start of the last attempt.
    pub began_at: Timestamp,
    /// Expiry of the lease; `None` without one.
    pub leased_until: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub outcome: ScheduleOutcome,
    /// Summary, or the error.
    pub message: String,
}

impl ScheduleRun {
    /// Returns whether a server has it. A lease of the far future was granted before the clock was
    /// set back, and counts as expired.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        self.leased_until.is_some_and(|until| until > now && until <= now.plus(MAX_LEASE))
    }

    /// Returns whether a person requested it, and no server has had it yet.
    pub const fn is_requested(&self) -> bool {
        self.ended_at.is_none() && self.runner.is_empty()
    }
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
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// A due run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClaim {
    pub project: ProjectId,
    pub schedule: String,
    pub due_at: Timestamp,
    /// Runner id, unique per process.
    pub runner: String,
    pub lease: Duration,
}

/// What the job of a run says.
#[derive(Serialize, Deserialize)]
struct RunPayload {
    /// Nanoseconds.
    due_at: i64,
}

impl Catalog {
    /// Claims a run. Only one caller gets it, and a schedule has one run at a time. A finished run
    /// cannot be claimed; an expired lease goes to the next caller.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_run(
        &self,
        claim: RunClaim,
        now: Timestamp,
    ) -> StoreResult<Option<JobLease>> {
        self.transact(move |tx| {
            let new = new_run(&claim.schedule, claim.due_at);
            let owner = (claim.runner.as_str(), claim.lease);
            let claimed = job::claim_one(tx, &claim.project, &new, owner, now)?;
            Ok(claimed.map(|job| job.lease()))
        })
        .await
    }

    /// Requests a run now, due or not: the next server that polls claims it. A run that was
    /// requested before and has not started is that run.
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
            super::SCHEDULES.require(tx, &project, &schedule)?;
            let last = last_runs(tx, &project, &schedule, 1)?.into_iter().next();
            if last.as_ref().is_some_and(|run| run.is_leased(now)) {
                return Err(StoreError::BadQuery(format!("{schedule} is running already")));
            }
            if let Some(run) = last.filter(ScheduleRun::is_requested) {
                return Ok(run);
            }
            job::enqueue(tx, &project, &new_run(&schedule, now), now)?;
            let audited =
                AuditAction::Changed.on(AuditObject::Schedule, &schedule).named(&schedule);
            tx.audit(&project, now, &audited.became("run now"))?;
            let asked = last_runs(tx, &project, &schedule, 1)?.into_iter().next();
            asked.ok_or_else(|| StoreError::NotFound(format!("a run of {schedule}")))
        })
        .await
    }

    /// Records the result of a run: a summary, or an error.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn end_run(
        &self,
        (lease, schedule): (JobLease, String),
        outcome: Result<String, String>,
        now: Timestamp,
    ) -> StoreResult<LeaseStatus> {
        self.transact(move |tx| {
            let status = match outcome {
                Ok(message) => {
                    let result = serde_json::to_string(&elide(&message, MESSAGE_BYTES)).ok();
                    job::complete(tx, &lease, result, now)?
                }
                Err(error) => {
                    let failure = JobFailure { error, retry: Retry::Never, result: None };
                    job::fail(tx, &lease, failure, now)?
                }
            };
            job::prune(tx, (&lease.project, JobKind::ScheduleRun, &schedule), MAX_FINISHED)?;
            Ok(status)
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
        self.transact(move |tx| last_runs(tx, &project, &schedule, most)).await
    }
}

/// Makes a schedule skip a run that is about to be deleted: it would be due again otherwise.
pub(in crate::catalog) fn skip_run(tx: &Tx<'_>, job: &JobRecord) -> StoreResult<()> {
    let payload: Option<RunPayload> = serde_json::from_str(&job.payload).ok();
    let due_at = payload.map_or(job.run_at, |payload| Timestamp::from_nanos(payload.due_at));
    let sql = "UPDATE schedule SET due_after = $3 WHERE project = $1 AND name = $2 \
               AND due_after < $3";
    tx.execute(sql, &[(&job.project).into(), job.group.as_deref().into(), due_at.into()]).map(drop)
}

/// Deletes the run history of a schedule.
pub(super) fn delete_runs(tx: &Tx<'_>, project: &ProjectId, schedule: &str) -> StoreResult<()> {
    job::delete_group(tx, (project, JobKind::ScheduleRun, schedule))
}

fn last_runs(
    tx: &Tx<'_>,
    project: &ProjectId,
    schedule: &str,
    most: u64,
) -> StoreResult<Vec<ScheduleRun>> {
    let group = (project, JobKind::ScheduleRun, schedule);
    let jobs = job::of_group(tx, group, JobOrder::Due, most)?;
    Ok(jobs.into_iter().map(run_of).collect())
}

fn new_run(schedule: &str, due_at: Timestamp) -> NewJob {
    let payload = RunPayload { due_at: due_at.nanos() };
    NewJob {
        kind: JobKind::ScheduleRun,
        id: format!("{}/{schedule}", due_at.nanos()),
        group: Some(schedule.to_owned()),
        payload: serde_json::to_string(&payload).unwrap_or_default(),
        priority: 0,
        run_at: due_at,
        max_attempts: MAX_ATTEMPTS,
        is_held: false,
    }
}

fn run_of(job: JobRecord) -> ScheduleRun {
    let payload: Option<RunPayload> = serde_json::from_str(&job.payload).ok();
    let (outcome, leased_until) = match job.state.phase {
        JobPhase::Queued { .. } => (ScheduleOutcome::Running, None),
        JobPhase::Leased { expires_at, .. } => (ScheduleOutcome::Running, Some(expires_at)),
        JobPhase::Done => (ScheduleOutcome::Done, None),
        JobPhase::Dead => (ScheduleOutcome::Failed, None),
    };
    let summary = job.result.and_then(|text| serde_json::from_str(&text).ok());
    let message = match outcome {
        ScheduleOutcome::Running => None,
        ScheduleOutcome::Done => summary,
        ScheduleOutcome::Failed => job.state.error,
    };
    ScheduleRun {
        due_at: payload.map_or(job.run_at, |payload| Timestamp::from_nanos(payload.due_at)),
        runner: job.owner.unwrap_or_default(),
        began_at: job.started_at.unwrap_or(job.enqueued_at),
        leased_until,
        ended_at: job.finished_at,
        outcome,
        message: message.unwrap_or_default(),
    }
}
