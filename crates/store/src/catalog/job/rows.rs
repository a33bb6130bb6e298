use std::time::Duration;

use ratchet_core::job::{JobKind, JobPhase, JobState};
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;

use super::{JobFailure, JobLease, JobRecord, LeaseStatus, NewJob};
use crate::StoreResult;
use crate::catalog::sql::{Conditions, FromColumn, Row, Tx, Value};
use crate::project::ProjectId;

/// Maximum stored length of an error.
const ERROR_BYTES: usize = 2_000;

pub(super) const COLUMNS: &str = "project, kind, id, group_id, payload, priority, phase, run_at, owner, \
                       expires_at, attempts, max_attempts, leases, is_held, error, result, \
                       enqueued_at, started_at, finished_at";

/// Enqueues a job; returns false if it is known already.
pub(in crate::catalog) fn enqueue(
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
pub(in crate::catalog) fn complete(
    tx: &Tx<'_>,
    lease: &JobLease,
    result: Option<String>,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    under(tx, lease, |state| state.complete(lease.number), result, now)
}

/// Records a failed attempt.
pub(in crate::catalog) fn fail(
    tx: &Tx<'_>,
    lease: &JobLease,
    failure: JobFailure,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    let JobFailure { error, retry, result } = failure;
    let error = elide(&error, ERROR_BYTES).into_owned();
    under(tx, lease, |state| state.fail(lease.number, error, retry), result, now)
}

/// Holds the jobs of a group, or releases them: dead letters too, which may be revived later.
pub(in crate::catalog) fn hold(
    tx: &Tx<'_>,
    (project, kind, group): (&ProjectId, JobKind, &str),
    is_held: bool,
) -> StoreResult<()> {
    let sql = "UPDATE job SET is_held = $4 WHERE project = $1 AND kind = $2 AND group_id = $3 \
               AND phase <> 'done'";
    let values = [project.into(), kind.as_str().into(), group.into(), is_held.into()];
    tx.execute(sql, &values).map(drop)
}

/// Deletes all jobs of a group.
pub(in crate::catalog) fn delete_group(
    tx: &Tx<'_>,
    (project, kind, group): (&ProjectId, JobKind, &str),
) -> StoreResult<()> {
    let sql = "DELETE FROM job WHERE project = $1 AND kind = $2 AND group_id = $3";
    tx.execute(sql, &[project.into(), kind.as_str().into(), group.into()]).map(drop)
}

/// Deletes a job that its owner holds, or all of them: work in the foreground leaves no history.
pub(in crate::catalog) fn forget(
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
pub(in crate::catalog) fn prune(
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
pub(in crate::catalog) enum JobOrder {
    Enqueued,
    Due,
}

/// Returns the last jobs of a group, the newest first.
pub(in crate::catalog) fn of_group(
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

pub(in crate::catalog) fn one(
    tx: &Tx<'_>,
    project: &ProjectId,
    kind: JobKind,
    id: &str,
) -> StoreResult<Option<JobRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM job WHERE project = $1 AND kind = $2 AND id = $3");
    tx.one(&sql, &[project.into(), kind.as_str().into(), id.into()], read)
}

/// Returns the jobs that a condition selects.
pub(in crate::catalog) fn select(
    tx: &Tx<'_>,
    condition: &str,
    values: &[Value],
) -> StoreResult<Vec<JobRecord>> {
    tx.rows(&format!("SELECT {COLUMNS} FROM job WHERE {condition}"), values, read)
}

/// Returns a dead letter to the queue as the job that a request describes. It stays the same job:
/// its leases go on counting.
pub(in crate::catalog) fn revive(
    tx: &Tx<'_>,
    dead: &JobRecord,
    new: &NewJob,
    now: Timestamp,
) -> StoreResult<()> {
    if let Some(after) = dead.state.revive(new.run_at)
        && save(tx, dead, after, None, now)?
    {
        let sql = "UPDATE job SET payload = $4, priority = $5 \
                   WHERE project = $1 AND kind = $2 AND id = $3";
        let values = [
            (&dead.project).into(),
            dead.kind.as_str().into(),
            (&dead.id).into(),
            (&new.payload).into(),
            new.priority.into(),
        ];
        tx.execute(sql, &values)?;
    }
    Ok(())
}

/// Extends a lease.
pub(in crate::catalog) fn renew(
    tx: &Tx<'_>,
    lease: &JobLease,
    length: Duration,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    under(tx, lease, |state| state.renew(lease.number, length, now), None, now)
}

/// Returns a job to the queue without counting an attempt.
pub(in crate::catalog) fn release(
    tx: &Tx<'_>,
    lease: &JobLease,
    run_at: Timestamp,
    now: Timestamp,
) -> StoreResult<LeaseStatus> {
    under(tx, lease, |state| state.release(lease.number, run_at), None, now)
}

/// Deletes a job under its lease: a finished one whose result is stored elsewhere.
pub(in crate::catalog) fn remove(tx: &Tx<'_>, lease: &JobLease) -> StoreResult<LeaseStatus> {
    let sql = "DELETE FROM job WHERE project = $1 AND kind = $2 AND id = $3 AND leases = $4 \
               AND phase = 'leased'";
    let values = [
        (&lease.project).into(),
        lease.kind.as_str().into(),
        (&lease.id).into(),
        lease.number.into(),
    ];
    Ok(if tx.execute(sql, &values)? == 1 { LeaseStatus::Held } else { LeaseStatus::Lost })
}

/// Makes a change under a lease.
pub(super) fn under(
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
pub(in crate::catalog) fn save(
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
        // A revived job was started by nobody yet: a person requests it.
        JobPhase::Queued { run_at } if before.state.phase == JobPhase::Dead => (run_at, None, None),
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

pub(super) fn read(row: &Row<'_>) -> StoreResult<JobRecord> {
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
