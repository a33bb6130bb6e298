use ratchet_core::experiment::trial::trial_ids;
use ratchet_core::job::JobKind;
use ratchet_core::time::Timestamp;

use super::one;
use crate::catalog::sql::Tx;
use crate::catalog::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

impl Catalog {
    /// Deletes what the catalog has of a run, and adds the audit entry of its deletion: also of a
    /// run that another client recorded. Its results are telemetry, and are deleted next. Decisions
    /// of gates on it stay, as a record.
    ///
    /// # Errors
    /// Fails with a conflict while it executes, or if it is the run that production is compared
    /// with.
    pub async fn delete_experiment_run(
        &self,
        project: ProjectId,
        (id, name): (String, String),
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            refuse_if_running(tx, &project, ("id", &id))?;
            refuse_if_in_production(tx, &project, (&id, &name))?;
            if one(tx, &project, &id)?.is_some() {
                forget(tx, &project, &id)?;
            }
            let audited = AuditAction::Deleted.on(AuditObject::DatasetRun, &id).named(&name);
            tx.audit(&project, now, &audited)
        })
        .await
    }
}

/// Fails while a run executes: one by its id, or one of a dataset.
pub(in crate::catalog) fn refuse_if_running(
    tx: &Tx<'_>,
    project: &ProjectId,
    (column, value): (&'static str, &str),
) -> StoreResult<()> {
    let sql = format!(
        "SELECT name FROM experiment_run WHERE project = $1 AND {column} = $2 \
         AND state = 'running' LIMIT 1"
    );
    let running: Option<String> =
        tx.one(&sql, &[project.into(), value.into()], |row| row.get(0))?;
    match running {
        None => Ok(()),
        Some(name) => {
            Err(StoreError::Conflict(format!("run {name} is still executing; cancel it first")))
        }
    }
}

/// Fails if gates compare candidates with this run: it is the newest promoted one of its dataset.
fn refuse_if_in_production(
    tx: &Tx<'_>,
    project: &ProjectId,
    (id, name): (&str, &str),
) -> StoreResult<()> {
    let sql = "SELECT run FROM gate WHERE project = $1 AND promoted_at IS NOT NULL AND dataset = \
               (SELECT dataset FROM gate WHERE project = $1 AND run = $2 LIMIT 1) \
               ORDER BY promoted_at DESC, id LIMIT 1";
    let promoted: Option<String> = tx.one(sql, &[project.into(), id.into()], |row| row.get(0))?;
    if promoted.as_deref() != Some(id) {
        return Ok(());
    }
    Err(StoreError::Conflict(format!(
        "run {name} is what gates compare candidates with: it was promoted; promote another run \
         first"
    )))
}

/// Deletes the rows and trials of all runs over a dataset.
pub(in crate::catalog) fn forget_runs(
    tx: &Tx<'_>,
    project: &ProjectId,
    dataset: &str,
) -> StoreResult<()> {
    let sql = "SELECT id FROM experiment_run WHERE project = $1 AND dataset = $2";
    let runs: Vec<String> = tx.rows(sql, &[project.into(), dataset.into()], |row| row.get(0))?;
    runs.iter().try_for_each(|id| forget(tx, project, id))
}

fn forget(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<()> {
    let (from, to) = trial_ids(id);
    let sql = "DELETE FROM job WHERE project = $1 AND kind = $2 AND id > $3 AND id < $4";
    let kind = JobKind::ExperimentTrial.as_str();
    tx.execute(sql, &[project.into(), kind.into(), (&from).into(), (&to).into()])?;
    let sql = "DELETE FROM experiment_run WHERE project = $1 AND id = $2";
    tx.execute(sql, &[project.into(), id.into()]).map(drop)
}
