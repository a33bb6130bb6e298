use ratchet_core::job::{JobKind, JobPhase};
use ratchet_core::time::Timestamp;

use super::rows::{one, save};
use super::{JobKey, JobRecord};
use crate::catalog::audit::AuditChange;
use crate::catalog::schedule;
use crate::catalog::sql::Tx;
use crate::catalog::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

impl Catalog {
    /// Returns a dead letter to the queue, with all its attempts, and returns the job.
    ///
    /// # Errors
    /// Fails if the project has no such job, or if it is not a dead letter.
    pub async fn requeue_dead_job(
        &self,
        project: ProjectId,
        key: JobKey,
        now: Timestamp,
    ) -> StoreResult<JobRecord> {
        let revived = self.transact(move |tx| {
            let before = dead_letter(tx, &project, &key)?;
            let after = before.state.revive(now).ok_or_else(|| not_dead(&before))?;
            if !save(tx, &before, after, None, now)? {
                return Err(not_dead(&before));
            }
            let revived = one(tx, &project, key.0, &key.1)?.ok_or_else(|| not_found(&key))?;
            let changed =
                audited(AuditAction::Changed, &before).became(revived.state.phase.as_str());
            tx.audit(&project, now, &changed)?;
            Ok(revived)
        });
        let revived = revived.await?;
        if revived.kind == JobKind::Notice {
            self.wake_delivery();
        }
        Ok(revived)
    }

    /// Deletes a dead letter, and returns what it was.
    ///
    /// # Errors
    /// Fails if the project has no such job, or if it is not a dead letter.
    pub async fn discard_job(
        &self,
        project: ProjectId,
        key: JobKey,
        now: Timestamp,
    ) -> StoreResult<JobRecord> {
        self.transact(move |tx| {
            let job = dead_letter(tx, &project, &key)?;
            if job.kind == JobKind::ScheduleRun {
                schedule::skip_run(tx, &job)?;
            }
            let sql = "DELETE FROM job WHERE project = $1 AND kind = $2 AND id = $3";
            tx.execute(sql, &[(&project).into(), job.kind.as_str().into(), (&job.id).into()])?;
            tx.audit(&project, now, &audited(AuditAction::Deleted, &job))?;
            Ok(job)
        })
        .await
    }
}

fn dead_letter(tx: &Tx<'_>, project: &ProjectId, key: &JobKey) -> StoreResult<JobRecord> {
    let job = one(tx, project, key.0, &key.1)?.ok_or_else(|| not_found(key))?;
    if job.state.phase == JobPhase::Dead { Ok(job) } else { Err(not_dead(&job)) }
}

fn not_found((kind, id): &JobKey) -> StoreError {
    StoreError::NotFound(format!("{} job {id}", kind.as_str()))
}

fn not_dead(job: &JobRecord) -> StoreError {
    let (kind, id, phase) = (job.kind.as_str(), &job.id, job.state.phase.as_str());
    StoreError::BadQuery(format!(
        "{kind} job {id} is {phase}; only dead letters can be retried or discarded"
    ))
}

/// An audit entry about a dead letter, with its reason.
fn audited(verb: AuditAction, job: &JobRecord) -> AuditChange<'_> {
    let reason = job.state.error.as_deref().unwrap_or_default();
    let was = format!("{} {}: {reason}", job.kind.as_str(), job.state.phase.as_str());
    verb.on(AuditObject::Job, &job.id).was(was)
}
