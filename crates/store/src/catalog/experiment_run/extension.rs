use ratchet_core::job::JobKind;
use ratchet_core::time::Timestamp;

use super::{ExperimentRun, NewTrial, require};
use crate::catalog::job::{self, NewJob};
use crate::catalog::sql::Tx;
use crate::catalog::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Leases of one trial before it is given up: each is lost by a runner that ended in its middle.
const MAX_LEASES: u32 = 100;

/// Further trials of a run.
#[derive(Clone, Debug)]
pub struct RunExtension {
    /// Id of the run.
    pub run: String,
    /// Repeats that every item has from now on; `None` if only some items are run again.
    pub repeats: Option<u32>,
    /// Trials, of which those that the run has already are left as they are.
    pub trials: Vec<NewTrial>,
    /// The most trials that the run may have afterwards.
    pub max_trials: u64,
}

impl Catalog {
    /// Adds trials to a run. The same extension again adds nothing. A run that was done is running
    /// again; one that was cancelled stays so.
    ///
    /// # Errors
    /// Fails if there is no such run, and if it would have too many trials.
    pub async fn extend_experiment_run(
        &self,
        project: ProjectId,
        extension: RunExtension,
        now: Timestamp,
    ) -> StoreResult<ExperimentRun> {
        self.transact(move |tx| {
            let run = require(tx, &project, &extension.run)?;
            if run.state == "cancelled" {
                return Ok(run);
            }
            let mut added = 0_u64;
            for trial in &extension.trials {
                added += u64::from(enqueue(tx, &project, trial, now)?);
            }
            if run.counts.trials + added > extension.max_trials {
                let most = extension.max_trials;
                return Err(StoreError::BadQuery(format!("a run has at most {most} trials")));
            }
            let repeats = extension.repeats.max(run.extended_repeats);
            let reopened = if added > 0 { ", state = 'running', finished_at = NULL" } else { "" };
            let sql = format!(
                "UPDATE experiment_run SET trials = trials + $3, repeats = $4, \
                 updated_at = $5{reopened} WHERE project = $1 AND id = $2"
            );
            let values =
                [(&project).into(), (&run.id).into(), added.into(), repeats.into(), now.into()];
            tx.execute(&sql, &values)?;
            if added > 0 {
                let trials = run.counts.trials;
                let audited = AuditAction::Changed.on(AuditObject::DatasetRun, &run.id);
                let audited = audited.named(&run.name).was(format!("{trials} trials"));
                let audited = audited.became(format!("{} trials", trials + added));
                tx.audit(&project, now, &audited)?;
            }
            require(tx, &project, &run.id)
        })
        .await
    }
}

/// Enqueues a trial; returns false if the run has it already.
pub(super) fn enqueue(
    tx: &Tx<'_>,
    project: &ProjectId,
    trial: &NewTrial,
    now: Timestamp,
) -> StoreResult<bool> {
    let job = NewJob {
        kind: JobKind::ExperimentTrial,
        id: trial.id.clone(),
        group: None,
        payload: trial.payload.clone(),
        priority: 0,
        run_at: now,
        max_attempts: MAX_LEASES,
        is_held: false,
    };
    job::enqueue(tx, project, &job, now)
}
