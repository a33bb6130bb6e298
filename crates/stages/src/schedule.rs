//! What runs by itself: which runs are due, and whose they are.
//!
//! Any number of servers may ask; the row of a run in the catalog is the claim on it, so that each
//! run is one server's. Time is an argument.

use ratchet_agent::judge::{DefaultModels, JudgeName, JudgeNameError};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Catalog, RunClaim, Schedule, ScheduleOutcome, ScheduleRun};
use ratchet_store::project::ProjectId;

/// Names nobody as a judge, where the scores that are there will do.
pub const NOBODY: &str = "none";

/// The judge of that name, its model included; `None` for [`NOBODY`].
///
/// # Errors
/// Lists who there is.
pub fn judge(name: &str) -> Result<Option<JudgeName>, JudgeNameError> {
    if name == NOBODY {
        return Ok(None);
    }
    JudgeName::parse(name, &DefaultModels::builtin()).map(Some)
}

/// How long a claim holds without a renewal, in nanoseconds.
pub const HOLD: i64 = 5 * 60 * 1_000_000_000;

/// How many runs are looked at for the last that was due.
const RECENT_RUNS: u64 = 20;

/// A run that is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRun {
    pub schedule: Schedule,
    pub claim: RunClaim,
}

impl DueRun {
    /// The week that it reports on: the last that had ended when it was due.
    pub fn week(&self) -> Week {
        Week::last_ended(self.claim.due_at, &self.schedule.zone)
    }
}

/// Whoever runs what is due.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Where schedules are kept.
    pub catalog: Catalog,
    /// A name that no other process has.
    pub name: String,
    /// The clocks that new projects go by.
    pub zone: Zone,
}

impl Runner {
    /// Claims what is due in a project.
    ///
    /// Of runs that were missed only the last is made up for, and each run is claimed once. A run
    /// whose server died is claimed again when its claim has run out.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_due(&self, project: &ProjectId, now: Timestamp) -> StoreResult<Vec<DueRun>> {
        self.catalog.ensure_weekly(project.clone(), self.zone.clone(), now).await?;
        let mut claimed = Vec::new();
        for schedule in self.catalog.schedules(project.clone()).await? {
            let Some(due_at) = self.due(project, &schedule, now).await? else { continue };
            let claim = self.claim(project, &schedule, due_at, now);
            if self.catalog.claim_run(claim.clone(), now).await? {
                claimed.push(DueRun { schedule, claim });
            }
        }
        Ok(claimed)
    }

    /// Claims a run that someone asks for now, due or not; `None` if it is under way already.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_now(
        &self,
        project: &ProjectId,
        schedule: Schedule,
        now: Timestamp,
    ) -> StoreResult<Option<DueRun>> {
        let claim = self.claim(project, &schedule, now, now);
        let is_ours = self.catalog.claim_run(claim.clone(), now).await?;
        Ok(is_ours.then_some(DueRun { schedule, claim }))
    }

    /// Keeps a run for longer, and returns whether it still is ours.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn renew(&self, run: &DueRun, now: Timestamp) -> StoreResult<bool> {
        let until = now.plus_nanos(HOLD);
        self.catalog.renew_run(RunClaim { until, ..run.claim.clone() }).await
    }

    /// Leaves a run that could not be ended to whoever looks next.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn leave(&self, run: &DueRun, now: Timestamp) -> StoreResult<()> {
        self.catalog.renew_run(RunClaim { until: now, ..run.claim.clone() }).await?;
        Ok(())
    }

    /// Notes how a run went.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn end(
        &self,
        run: &DueRun,
        outcome: Result<String, String>,
        now: Timestamp,
    ) -> StoreResult<()> {
        let told = match outcome {
            Ok(message) => (ScheduleOutcome::Done, message),
            Err(why) => (ScheduleOutcome::Failed, why),
        };
        self.catalog.end_run(run.claim.clone(), told, now).await
    }

    /// The run that is due: the last since the one before, or one that nobody ended.
    async fn due(
        &self,
        project: &ProjectId,
        schedule: &Schedule,
        now: Timestamp,
    ) -> StoreResult<Option<Timestamp>> {
        let name = schedule.name.clone();
        let runs = self.catalog.schedule_runs(project.clone(), name, RECENT_RUNS).await?;
        // A run of the future is one of a clock that was set back since: it must not keep all
        // others from running until then.
        let last = runs.into_iter().find(|run| run.due_at <= now);
        let left = |run: &&ScheduleRun| run.ended_at.is_none() && run.claimed_until <= now;
        let left = last.as_ref().filter(left);
        if !schedule.is_on {
            // Someone may ask for a run of what does not run by itself.
            let asked = left.filter(|run| run.runner.is_empty());
            return Ok(asked.map(|run| run.due_at));
        }
        let after = last.as_ref().map_or(schedule.due_after, |run| run.due_at);
        let due_after = schedule.due_after.min(now);
        let due = schedule.cron.latest(after.max(due_after), now, &schedule.zone);
        Ok(due.or_else(|| left.map(|run| run.due_at)))
    }

    fn claim(
        &self,
        project: &ProjectId,
        schedule: &Schedule,
        due_at: Timestamp,
        now: Timestamp,
    ) -> RunClaim {
        RunClaim {
            project: project.clone(),
            schedule: schedule.name.clone(),
            due_at,
            runner: self.name.clone(),
            until: now.plus_nanos(HOLD),
        }
    }
}
