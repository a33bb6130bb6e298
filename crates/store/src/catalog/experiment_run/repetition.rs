use ratchet_core::job::JobPhase;
use ratchet_core::time::Timestamp;
use serde_json::{Map, Value as JsonValue};

use super::trials::{self, CALLS};
use super::{ExperimentRun, require};
use crate::StoreResult;
use crate::catalog::job::{self, JobRecord};
use crate::catalog::sql::Tx;
use crate::catalog::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;

/// Trials read at a time.
const SLICE: u64 = 1_000;

impl Catalog {
    /// Returns the trials of a finished run in which the target failed to the queue, and the run to
    /// `running`. Their calls and costs stay counted. Changes nothing of a run without faults, or of
    /// one that is not finished.
    ///
    /// # Errors
    /// Fails if there is no such run.
    pub async fn repeat_faulted_trials(
        &self,
        project: ProjectId,
        run: String,
        now: Timestamp,
    ) -> StoreResult<ExperimentRun> {
        self.transact(move |tx| {
            let before = require(tx, &project, &run)?;
            if before.state != "done" || before.counts.faults == 0 {
                return Ok(before);
            }
            let (mut repeated, mut unpriced) = (0_u64, 0_u64);
            for job in faulted(tx, (&project, &run))? {
                let result = trials::fields(job.result.as_deref());
                let Some(queued) = job.state.repeat(now) else { continue };
                let calls = result.get(CALLS).cloned().unwrap_or_default();
                let left = JsonValue::Object(Map::from_iter([(CALLS.to_owned(), calls)]));
                if job::save(tx, &job, queued, Some(left.to_string()), now)? {
                    repeated += 1;
                    unpriced += u64::from(result.get("cost").is_none_or(JsonValue::is_null));
                }
            }
            reopen(tx, (&project, &run), (repeated, unpriced), now)?;
            let audited = AuditAction::Changed.on(AuditObject::DatasetRun, &run);
            let audited = audited.named(&before.name).was(format!("{repeated} faults"));
            tx.audit(&project, now, &audited.became("trials to repeat"))?;
            require(tx, &project, &run)
        })
        .await
    }
}

/// The finished trials of a run in which the target failed.
fn faulted(tx: &Tx<'_>, (project, run): (&ProjectId, &str)) -> StoreResult<Vec<JobRecord>> {
    let (mut faulted, mut after) = (Vec::new(), None);
    loop {
        let page = trials::page(tx, (project, run), (after, SLICE))?;
        let is_last = (page.len() as u64) < SLICE;
        after = page.last().map(|job| job.id.clone());
        faulted.extend(page.into_iter().filter(|job| {
            let result = trials::fields(job.result.as_deref());
            job.state.phase == JobPhase::Done
                && result.get("fault").is_some_and(|why| !why.is_null())
        }));
        if is_last {
            return Ok(faulted);
        }
    }
}

fn reopen(
    tx: &Tx<'_>,
    (project, run): (&ProjectId, &str),
    (repeated, unpriced): (u64, u64),
    now: Timestamp,
) -> StoreResult<()> {
    if repeated == 0 {
        return Ok(());
    }
    let sql = "UPDATE experiment_run SET done = done - $3, faults = faults - $3, \
               unpriced = unpriced - $4, state = 'running', finished_at = NULL, updated_at = $5 \
               WHERE project = $1 AND id = $2";
    let values = [project.into(), run.into(), repeated.into(), unpriced.into(), now.into()];
    tx.execute(sql, &values).map(drop)
}
