//! The durable job queue: one table and one lease mechanism for all background work.
//!
//! The state machine is `ratchet_core::job`. A change is written only if the row still is in the
//! state that the change was decided on, so that two servers cannot both make it.

/// Rows of jobs, and changes under a lease.
mod rows;
/// Claims: which jobs are handed out.
mod claim;
/// What people do with dead letters.
mod dead_letter;

use std::time::Duration;

use ratchet_core::job::{JobKind, JobState, Retry};
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{Conditions, Listing, Value};
use crate::project::ProjectId;
use crate::query::Page;
use crate::{StoreError, StoreResult};

pub(super) use claim::{claim_one, claim_some, expire_all, grant};
use rows::{COLUMNS, read};
pub(super) use rows::{
    JobOrder, complete, delete_group, enqueue, fail, forget, hold, of_group, one, prune, release,
    remove, renew, revive, save, select,
};

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

/// Kind and id, which identify a job of a project.
pub type JobKey = (JobKind, String);

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
    /// The last worker that held a lease, since the job was enqueued or revived.
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
    /// A name of [`ratchet_core::job::JobPhase`].
    pub phase: Option<&'static str>,
}

impl JobRecord {
    /// Returns the lease that was granted last.
    pub fn lease(&self) -> JobLease {
        let (project, id) = (self.project.clone(), self.id.clone());
        JobLease { project, kind: self.kind, id, number: self.state.leases }
    }
}

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
            release(tx, &lease, run_at, now)
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

    /// Returns a page of a project's jobs behind a cursor, the newest first.
    ///
    /// # Errors
    /// Fails if the cursor is malformed.
    pub async fn jobs(
        &self,
        project: ProjectId,
        query: JobQuery,
        (cursor, limit): (Option<String>, u64),
    ) -> StoreResult<Page<JobRecord>> {
        let mut all = Conditions::new("project = $1", &project);
        all.add("kind = $", query.kind.map(JobKind::as_str));
        all.add("group_id = $", query.group);
        all.add("phase = $", query.phase);
        if let Some(cursor) = cursor {
            let first = all.values.len() + 1;
            let (second, third) = (first + 1, first + 2);
            all.values.extend(place(&cursor)?);
            all.sql.push_str(&format!(
                " AND (enqueued_at, kind, id) < (${first}, ${second}, ${third})"
            ));
        }
        let from = format!("FROM job WHERE {}", all.sql);
        self.transact(move |tx| {
            let order = "enqueued_at DESC, kind DESC, id DESC";
            let listing = Listing { columns: COLUMNS, from: &from, order };
            tx.page_behind(listing, (all.values, limit), read, cursor_behind)
        })
        .await
    }

    /// Holds the jobs of a group, or releases them.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn hold_jobs(
        &self,
        project: ProjectId,
        (kind, group): (JobKind, String),
        is_held: bool,
    ) -> StoreResult<()> {
        self.transact(move |tx| hold(tx, (&project, kind, &group), is_held)).await
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

fn cursor_behind(job: &JobRecord) -> String {
    format!("{}.{}.{}", job.enqueued_at.nanos(), job.kind.as_str(), job.id)
}

/// The values of a cursor, in the order of the list.
fn place(cursor: &str) -> StoreResult<[Value; 3]> {
    let mut parts = cursor.splitn(3, '.');
    let nanos = parts.next().and_then(|nanos| nanos.parse().ok());
    let kind = parts.next().and_then(JobKind::parse);
    let (Some(nanos), Some(kind), Some(id)) = (nanos, kind, parts.next()) else {
        return Err(StoreError::BadQuery("cursor: malformed".to_owned()));
    };
    Ok([Timestamp::from_nanos(nanos).into(), kind.as_str().into(), id.into()])
}
