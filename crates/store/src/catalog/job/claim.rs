use std::time::Duration;

use ratchet_core::job::{JobClaim, JobKind, MAX_FIRST_DELAY, MAX_LEASE, MAX_RETRY_DELAY};
use ratchet_core::time::Timestamp;

use super::rows::{COLUMNS, enqueue, one, read, save};
use super::{JobRecord, JobRequest, NewJob};
use crate::StoreResult;
use crate::catalog::sql::Tx;
use crate::project::ProjectId;

/// Whether the job `j` can be claimed at $2.
const CLAIMABLE: &str = "j.is_held = 0 AND ((j.phase = 'queued' AND j.run_at <= $2) \
                         OR (j.phase = 'leased' AND j.expires_at <= $2))";
/// Whether the job `o` of the same group keeps `j` from being claimed at $2: it is leased, or due
/// and before it.
const IN_FRONT: &str = "((o.phase = 'leased' AND o.expires_at > $2) OR (o.is_held = 0 \
                        AND ((o.phase = 'queued' AND o.run_at <= $2) OR o.phase = 'leased') \
                        AND (o.priority > j.priority OR (o.priority = j.priority \
                        AND (o.enqueued_at < j.enqueued_at \
                        OR (o.enqueued_at = j.enqueued_at AND o.id < j.id))))))";

/// Claims due jobs of a kind, at most one per group.
pub(in crate::catalog) fn claim_some(
    tx: &Tx<'_>,
    request: &JobRequest,
    now: Timestamp,
) -> StoreResult<Vec<JobRecord>> {
    shorten(tx, request.kind, now)?;
    let most = match request.max_running {
        Some(most) => most.saturating_sub(running(tx, request.kind, now)?).min(request.limit),
        None => request.limit,
    };
    let owner = (request.owner.as_str(), request.lease);
    let exhausted = format!(
        "SELECT {COLUMNS} FROM job j WHERE j.kind = $1 AND {CLAIMABLE} \
         AND j.attempts >= j.max_attempts"
    );
    for job in tx.rows(&exhausted, &[request.kind.as_str().into(), now.into()], read)? {
        grant(tx, &job, owner, now)?;
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM job j WHERE j.kind = $1 AND {CLAIMABLE} AND NOT EXISTS \
         (SELECT 1 FROM job o WHERE o.project = j.project AND o.kind = j.kind \
         AND o.group_id = j.group_id AND {IN_FRONT}) \
         ORDER BY j.priority DESC, j.enqueued_at, j.project, j.id LIMIT $3"
    );
    let found = tx.rows(&sql, &[request.kind.as_str().into(), now.into(), most.into()], read)?;
    let mut claimed = Vec::new();
    for job in found {
        claimed.extend(grant(tx, &job, owner, now)?);
    }
    Ok(claimed)
}

/// Claims one job by its id, which is enqueued if it is unknown.
pub(in crate::catalog) fn claim_one(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: &NewJob,
    owner: (&str, Duration),
    now: Timestamp,
) -> StoreResult<Option<JobRecord>> {
    shorten(tx, new.kind, now)?;
    let busy = "SELECT 1 FROM job WHERE project = $1 AND kind = $2 AND group_id = $3 \
                AND phase = 'leased' AND expires_at > $4";
    let group = [project.into(), new.kind.as_str().into(), new.group.as_deref().into(), now.into()];
    if tx.exists(busy, &group)? {
        return Ok(None);
    }
    enqueue(tx, project, new, now)?;
    match one(tx, project, new.kind, &new.id)? {
        Some(job) => grant(tx, &job, owner, now),
        None => Ok(None),
    }
}

/// Ends all leases of a kind, whose workers are known to be gone.
pub(in crate::catalog) fn expire_all(
    tx: &Tx<'_>,
    kind: JobKind,
    now: Timestamp,
) -> StoreResult<()> {
    let sql = "UPDATE job SET expires_at = $2 WHERE kind = $1 AND phase = 'leased' \
               AND expires_at > $2";
    tx.execute(sql, &[kind.as_str().into(), now.into()]).map(drop)
}

/// Claims a job that was found, and returns it if it is the caller's now.
pub(in crate::catalog) fn grant(
    tx: &Tx<'_>,
    job: &JobRecord,
    (owner, lease): (&str, Duration),
    now: Timestamp,
) -> StoreResult<Option<JobRecord>> {
    match job.state.claim(owner, lease, now) {
        JobClaim::Granted(state) => {
            if !save(tx, job, state, None, now)? {
                return Ok(None);
            }
            one(tx, &job.project, job.kind, &job.id)
        }
        JobClaim::Exhausted(state) => save(tx, job, state, None, now).map(|_| None),
        JobClaim::Unavailable => Ok(None),
    }
}

fn running(tx: &Tx<'_>, kind: JobKind, now: Timestamp) -> StoreResult<u64> {
    let sql = "SELECT COUNT(*) FROM job WHERE kind = $1 AND phase = 'leased' AND expires_at > $2";
    let count = tx.one(sql, &[kind.as_str().into(), now.into()], |row| row.get(0))?;
    Ok(count.unwrap_or(0))
}

/// Shortens waits that were set before the clock was set back: nothing waits longer for it.
fn shorten(tx: &Tx<'_>, kind: JobKind, now: Timestamp) -> StoreResult<()> {
    let leases = "UPDATE job SET expires_at = $2 WHERE kind = $1 AND phase = 'leased' \
                  AND expires_at > $2";
    tx.execute(leases, &[kind.as_str().into(), now.plus(MAX_LEASE).into()])?;
    let first = "UPDATE job SET run_at = $2 WHERE kind = $1 AND phase = 'queued' \
                 AND attempts = 0 AND run_at > $3";
    let latest = now.plus(MAX_FIRST_DELAY);
    tx.execute(first, &[kind.as_str().into(), now.into(), latest.into()])?;
    let retries = "UPDATE job SET run_at = $2 WHERE kind = $1 AND phase = 'queued' \
                   AND attempts > 0 AND run_at > $2";
    tx.execute(retries, &[kind.as_str().into(), now.plus(MAX_RETRY_DELAY).into()]).map(drop)
}
