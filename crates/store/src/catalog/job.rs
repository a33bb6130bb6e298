//! The durable job queue: one table and one lease mechanism for all background work.
//!
//! The state machine is `ratchet_core::job`. A change is written only if the row still is in the
//! state that the change was decided on, so that two servers cannot both make it.

/// Claims: which jobs are handed out.
mod claim;

use std::time::Duration;

use ratchet_core::job::{JobKind, JobPhase, JobState, Retry};
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{Conditions, FromColumn, Listing, Row, Tx, Value};
use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};

pub(super) use claim::{claim_one, claim_some, expire_all};

/// Maximum stored length of an error.
const ERROR_BYTES: usize = 2_000;

/// A job to enqueue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub kind: JobKind,
    /// Idempotency key: a job of the same project, kind and id is enqueued once, until it is
    /// pruned.
    pub id: String,
    /// Jobs of a group run one at a time, in the order in which they were enqueued.
    pub group: Option<String>,
    /// What the worker needs: JSON.
    pub payload: String,
    /// Higher ones are handed out first.
    pub priority: i64,
    pub run_at: Timestamp,
    pub max_attempts: u32,
    /// Whether it waits until its group is released.
    pub is_held: bool,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    pub project: ProjectId,
    pub kind: JobKind,
    pub id: String,
    pub group: Option<String>,
    pub payload: String,
    pub priority: i64,
    pub state: JobState,
    /// When the job became due last.
    pub run_at: Timestamp,
    /// The last worker that held a lease.
    pub owner: Option<String>,
    /// What the last attempt left behind: JSON of the worker's own.
    pub result: Option<String>,
    pub enqueued_at: Timestamp,
    /// Start of the last attempt.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

/// A lease on a job. Each is granted once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLease {
    pub project: ProjectId,
    pub kind: JobKind,
    pub id: String,
    pub number: u64,
}

/// A worker's request for jobs of a kind, of all projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    pub kind: JobKind,
    /// Id of the worker.
    pub owner: String,
    pub lease: Duration,
    /// Maximum number of jobs to hand out.
    pub limit: u64,
    /// Maximum number of jobs of this kind that are leased at a time, by all workers.
    pub max_running: Option<u64>,
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFailure {
    pub error: String,
    pub retry: Retry,
    /// What the attempt left behind: JSON of the worker's own.
    pub result: Option<String>,
}

/// Whether a change was made under a current lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum LeaseStatus {
    Held,
    /// Another worker has the job, or it is finished. Nothing was changed.
    Lost,
}

/// A query for jobs of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobQuery {
    pub kind: Option<JobKind>,
    pub group: Option<String>,
    /// A name of [`JobPhase`].
    pub phase: Option<&'static str>,
}

impl JobRecord {
    /// Returns the lease that was granted last.
    pub fn lease(&self) -> JobLease {
        let (project, id) = (self.project.clone(), self.id.clone());
        JobLease { project, kind: self.kind, id, number: self.state.leases }
    }
}

const COLUMNS: &str = "project, kind, id, group_id, payload, priority, phase, run_at, owner, \
                       expires_at, attempts, max_attempts, leases, is_held, error, result, \
                       enqueued_at, started_at, finished_at";

impl Catalog {
    /// Enqueues a job; returns false if it is known already.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn enqueue_job(
        &self,
        project: ProjectId,
        new: NewJob,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.transact(move |tx| enqueue(tx, &project, &new, now)).await
    }

    /// Claims due jobs of a kind, at most one per group.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_jobs(
        &self,
        request: JobRequest,
        now: Timestamp,
    ) -> StoreResult<Vec<JobRecord>> {
        self.transact(move |tx| claim_some(tx, &request, now)).await
    }

    /// Claims one job by its id, which is enqueued if it is unknown. Returns `None` if it is not
    /// due or finished, and enqueues nothing while another job of its group is leased.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_job(
        &self,
        project: ProjectId,
        new: NewJob,
        (owner, lease): (String, Duration),
        now: Timestamp,
    ) -> StoreResult<Option<JobRecord>> {
        self.transact(move |tx| claim_one(tx, &project, &new, (&owner, lease), now)).await
    }

    /// Extends a lease.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn renew_job(
        &self,
        lease: JobLease,
        length: Duration,
        now: Timestamp,
    ) -> StoreResult<LeaseStatus> {
        self.transact(move |tx| renew(tx, &lease, length, now)).await
    }

    /// Finishes a job, with a result.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn complete_job(
        &self,
        lease: JobLease,
        result: Option<String>,
        now: Timestamp,
    ) -> StoreResult<LeaseStatus> {
        self.transact(move |tx| complete(tx, &lease, result, now)).await
    }

    /// Records a failed attempt: the job is retried, or becomes a dead letter.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn fail_job(
        &self,
        lease: JobLease,
        failure: JobFailure,
        now: Timestamp,
    ) -> StoreResult<LeaseStatus> {
        self.transact(move |tx| fail(tx, &lease, failure, now)).await
    }

    /// Returns a job to the queue without counting an attempt, such as when its worker stops.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn release_job(&self, lease: JobLease, now: Timestamp) -> StoreResult<LeaseStatus> {
        self.transact(move |tx| {
            let job = one(tx, &lease.project, lease.kind, &lease.id)?;
            // It keeps its place in the queue.
            let run_at = job.map_or(now, |job| job.run_at.min(now));
            under(tx, &lease, |state| state.release(lease.number, run_at), None, now)
        })
        .await
    }

    /// Returns a dead letter to the queue; false if there is no such dead letter.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn revive_job(
        &self,
        project: ProjectId,
        (kind, id): (JobKind, String),
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.transact(move |tx| {
            let Some(before) = one(tx, &project, kind, &id)? else { return Ok(false) };
            let Some(after) = before.state.revive(now) else { return Ok(false) };
            save(tx, &before, after, None, now)
        })
        .await
    }

    /// Ends all leases of a kind, whose workers are known to be gone: a folder has one server at a
    /// time.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn expire_leases(&self, kind: JobKind, now: Timestamp) -> StoreResult<()> {
        self.transact(move |tx| expire_all(tx, kind, now)).await
    }

    /// Returns when the next job of a kind becomes available, in any project: the first that is
    /// due, or whose lease expires.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn next_job(&self, kind: JobKind) -> StoreResult<Option<Timestamp>> {
        self.transact(move |tx| {
            let sql = "SELECT MIN(CASE phase WHEN 'queued' THEN run_at ELSE expires_at END) \
                       FROM job WHERE kind = $1 AND phase IN ('queued', 'leased') \
                       AND is_held = 0";
            let next = tx.one(sql, &[kind.as_str().into()], |row| row.get(0))?;
            Ok(next.flatten())
        })
        .await
    }

    /// Returns a job, if it is known.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn job(
        &self,
        project: ProjectId,
        kind: JobKind,
        id: String,
    ) -> StoreResult<Option<JobRecord>> {
        self.transact(move |tx| one(tx, &project, kind, &id)).await
    }

    /// Returns a page of a project's jobs, the newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn jobs(
        &self,
        project: ProjectId,
        query: JobQuery,
        page: PageNumber,
    ) -> StoreResult<Page<JobRecord>> {
        let mut all = Conditions::new("project = $1", &project);
        all.add("kind = $", query.kind.map(JobKind::as_str));
        all.add("group_id = $", query.group);
        all.add("phase = $", query.phase);
        let from = format!("FROM job WHERE {}", all.sql);
        self.transact(move |tx| {
            let order = "enqueued_at DESC, kind, id DESC";
            tx.page(Listing { columns: COLUMNS, from: &from, order }, &all.values, page, read)
        })
        .await
    }

    /// Deletes the finished jobs of a group but the last ones.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn prune_jobs(
        &self,
        project: ProjectId,
        (kind, group): (JobKind, String),
        keep: u64,
    ) -> StoreResult<()> {
        self.transact(move |tx| prune(tx, (&project, kind, &group), keep)).await
    }
}

/// Enqueues a job; returns false if it is known already.
pub(super) fn enqueue(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: &NewJob,
    now: Timestamp,
) -> StoreResult<bool> {
    let touched = tx.execute(
        "INSERT INTO job (project, kind, id, group_id, payload, priority, phase, run_at, \
         attempts, max_attempts, leases, is_held, enqueued_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, 0, $10, $11) \
         ON CONFLICT (project, kind, id) DO NOTHING",
        &[
            project.into(),
            new.kind.as_str().into(),
            (&new.id).into(),
            new.group.as_deref().into(),
            (&new.payload).into(),
            new.priority.into(),
            JobPhase::QUEUED.into(),
            new.run_at.into(),
            new.max_attempts.into(),
            new.is_held.into(),
            now.into(),
        ],
    )?;
    Ok(touched == 1)
}

/// Finishes a job.
pub(super) fn complete(
    tx: &Tx<'_>,
    lease: &JobLease,
    result: Option<String>,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    under(tx, lease, |state| state.complete(lease.number), result, now)
}

/// Records a failed attempt.
pub(super) fn fail(
    tx: &Tx<'_>,
    lease: &JobLease,
    failure: JobFailure,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    let JobFailure { error, retry, result } = failure;
    let error = elide(&error, ERROR_BYTES).into_owned();
    under(tx, lease, |state| state.fail(lease.number, error, retry), result, now)
}

/// Holds the unfinished jobs of a group, or releases them.
pub(super) fn hold(
    tx: &Tx<'_>,
    (project, kind, group): (&ProjectId, JobKind, &str),
    is_held: bool,
) -> StoreResult<()> {
    let sql = "UPDATE job SET is_held = $4 WHERE project = $1 AND kind = $2 AND group_id = $3 \
               AND phase IN ('queued', 'leased')";
    let values = [project.into(), kind.as_str().into(), group.into(), is_held.into()];
    tx.execute(sql, &values).map(drop)
}

/// Deletes all jobs of a group.
pub(super) fn delete_group(
    tx: &Tx<'_>,
    (project, kind, group): (&ProjectId, JobKind, &str),
) -> StoreResult<()> {
    let sql = "DELETE FROM job WHERE project = $1 AND kind = $2 AND group_id = $3";
    tx.execute(sql, &[project.into(), kind.as_str().into(), group.into()]).map(drop)
}

/// Deletes a job that its owner holds, or all of them: work in the foreground leaves no history.
pub(super) fn forget(
    tx: &Tx<'_>,
    (project, kind, owner): (&ProjectId, JobKind, &str),
    id: Option<&str>,
) -> StoreResult<()> {
    let mut all = Conditions::new("project = $1", project);
    all.add("kind = $", Some(kind.as_str()));
    all.add("owner = $", Some(owner));
    all.add("id = $", id);
    let sql = format!("DELETE FROM job WHERE phase = 'leased' AND {}", all.sql);
    tx.execute(&sql, &all.values).map(drop)
}

/// Deletes the finished jobs of a group but the last ones.
pub(super) fn prune(
    tx: &Tx<'_>,
    (project, kind, group): (&ProjectId, JobKind, &str),
    keep: u64,
) -> StoreResult<()> {
    tx.execute(
        "DELETE FROM job WHERE project = $1 AND kind = $2 AND group_id = $3 \
         AND phase IN ('done', 'dead') AND id NOT IN (SELECT id FROM job WHERE project = $1 \
         AND kind = $2 AND group_id = $3 AND phase IN ('done', 'dead') \
         ORDER BY enqueued_at DESC, id DESC LIMIT $4)",
        &[project.into(), kind.as_str().into(), group.into(), keep.into()],
    )
    .map(drop)
}

/// The order of a group's jobs.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobOrder {
    Enqueued,
    Due,
}

/// Returns the last jobs of a group, the newest first.
pub(super) fn of_group(
    tx: &Tx<'_>,
    (project, kind, group): (&ProjectId, JobKind, &str),
    order: JobOrder,
    most: u64,
) -> StoreResult<Vec<JobRecord>> {
    let order = match order {
        JobOrder::Enqueued => "enqueued_at",
        JobOrder::Due => "run_at",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM job WHERE project = $1 AND kind = $2 AND group_id = $3 \
         ORDER BY {order} DESC, id DESC LIMIT $4"
    );
    tx.rows(&sql, &[project.into(), kind.as_str().into(), group.into(), most.into()], read)
}

pub(super) fn one(
    tx: &Tx<'_>,
    project: &ProjectId,
    kind: JobKind,
    id: &str,
) -> StoreResult<Option<JobRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM job WHERE project = $1 AND kind = $2 AND id = $3");
    tx.one(&sql, &[project.into(), kind.as_str().into(), id.into()], read)
}

/// Extends a lease.
pub(super) fn renew(
    tx: &Tx<'_>,
    lease: &JobLease,
    length: Duration,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    under(tx, lease, |state| state.renew(lease.number, length, now), None, now)
}

/// Makes a change under a lease.
fn under(
    tx: &Tx<'_>,
    lease: &JobLease,
    change: impl FnOnce(&JobState) -> Option<JobState>,
    result: Option<String>,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    let before = one(tx, &lease.project, lease.kind, &lease.id)?;
    let Some(before) = before else { return Ok(LeaseStatus::Lost) };
    let Some(after) = change(&before.state) else { return Ok(LeaseStatus::Lost) };
    let is_saved = save(tx, &before, after, result, now)?;
    Ok(if is_saved { LeaseStatus::Held } else { LeaseStatus::Lost })
}

/// Writes a new state, unless the row has changed since it was read.
fn save(
    tx: &Tx<'_>,
    before: &JobRecord,
    after: JobState,
    result: Option<String>,
    now: Timestamp,
) -> StoreResult<bool> {
    let is_new_lease = after.leases > before.state.leases;
    let is_finished = after.is_finished();
    let phase = after.phase.as_str();
    let (run_at, owner, expires_at) = match after.phase {
        JobPhase::Queued { run_at } => (run_at, before.owner.clone(), None),
        JobPhase::Leased { owner, expires_at } => (before.run_at, Some(owner), Some(expires_at)),
        JobPhase::Done | JobPhase::Dead => (before.run_at, before.owner.clone(), None),
    };
    let touched = tx.execute(
        "UPDATE job SET phase = $6, run_at = $7, owner = $8, expires_at = $9, attempts = $10, \
         leases = $11, error = $12, result = $13, started_at = $14, finished_at = $15 \
         WHERE project = $1 AND kind = $2 AND id = $3 AND leases = $4 AND phase = $5",
        &[
            (&before.project).into(),
            before.kind.as_str().into(),
            (&before.id).into(),
            before.state.leases.into(),
            before.state.phase.as_str().into(),
            phase.into(),
            run_at.into(),
            owner.into(),
            expires_at.into(),
            after.attempts.into(),
            after.leases.into(),
            after.error.into(),
            result.or_else(|| before.result.clone()).into(),
            if is_new_lease { Some(now) } else { before.started_at }.into(),
            is_finished.then_some(now).into(),
        ],
    )?;
    Ok(touched == 1)
}

fn read(row: &Row<'_>) -> StoreResult<JobRecord> {
    let (owner, run_at): (Option<String>, Timestamp) = (row.get(8)?, row.get(7)?);
    let phase = match row.get::<String>(6)?.as_str() {
        JobPhase::LEASED => JobPhase::Leased {
            owner: owner.clone().unwrap_or_default(),
            expires_at: row.get::<Option<Timestamp>>(9)?.unwrap_or_default(),
        },
        JobPhase::DONE => JobPhase::Done,
        JobPhase::DEAD => JobPhase::Dead,
        _ => JobPhase::Queued { run_at },
    };
    Ok(JobRecord {
        project: row.get(0)?,
        kind: row.get(1)?,
        id: row.get(2)?,
        group: row.get(3)?,
        payload: row.get(4)?,
        priority: row.get(5)?,
        state: JobState {
            phase,
            attempts: row.get(10)?,
            max_attempts: row.get(11)?,
            leases: row.get(12)?,
            is_held: row.get(13)?,
            error: row.get(14)?,
        },
        run_at,
        owner,
        result: row.get(15)?,
        enqueued_at: row.get(16)?,
        started_at: row.get(17)?,
        finished_at: row.get(18)?,
    })
}

impl FromColumn for JobKind {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}
