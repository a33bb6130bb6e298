//! Scheduled jobs: which runs are due, and who runs them.
//!
//! A run is a job of the catalog's queue, claimed by its due time, so that of any number of servers
//! one gets it. Time is an argument.

/// What jobs need from the machine that runs them.
mod environment;
/// What each kind of job does.
mod jobs;
mod scheduler;

use std::time::Duration;

use ratchet_agent::judge::{DefaultModels, JudgeName, JudgeNameError};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Catalog, JobLease, LeaseStatus, RunClaim, Schedule, ScheduleRun};
use ratchet_store::project::ProjectId;

pub use environment::{
    CodeInterpreter, EnvironmentError, JobEnvironment, ReportSettings, SuggestionTexts,
};
pub use jobs::ScheduledJobError;
pub(crate) use scheduler::work_place;
pub use scheduler::{Scheduler, SchedulerStop};

/// The name of no judge, for jobs that use existing scores.
pub const NOBODY: &str = "none";

/// Parses the name of a judge, with its model; `None` for [`NOBODY`].
///
/// # Errors
/// Lists the known judges.
pub fn judge(name: &str) -> Result<Option<JudgeName>, JudgeNameError> {
    if name == NOBODY {
        return Ok(None);
    }
    JudgeName::parse(name, &DefaultModels::builtin()).map(Some)
}

/// The lease of a run, unless renewed.
pub const LEASE: Duration = Duration::from_secs(5 * 60);

/// How many runs are searched for the last one that was due.
const RECENT_RUNS: u64 = 20;

/// A claimed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRun {
    pub schedule: Schedule,
    pub due_at: Timestamp,
    pub lease: JobLease,
}

impl DueRun {
    /// The last complete week at the due time.
    pub fn week(&self) -> Week {
        Week::last_ended(self.due_at, &self.schedule.zone)
    }

    pub const fn project(&self) -> &ProjectId {
        &self.lease.project
    }
}

/// A process that claims runs.
#[derive(Clone, Debug)]
pub struct Runner {
    pub catalog: Catalog,
    /// Unique per process.
    pub name: String,
    /// Time zone of new projects' schedules.
    pub zone: Zone,
}

impl Runner {
    /// Claims what is due in a project.
    ///
    /// Of missed runs only the last is made up for. A run whose server died is claimed again when
    /// its lease has expired.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_due(&self, project: &ProjectId, now: Timestamp) -> StoreResult<Vec<DueRun>> {
        self.catalog.ensure_weekly(project.clone(), self.zone.clone(), now).await?;
        let mut claimed = Vec::new();
        for schedule in self.catalog.schedules(project.clone()).await? {
            let Some(due_at) = self.due(project, &schedule, now).await? else { continue };
            claimed.extend(self.claim(project, schedule, due_at, now).await?);
        }
        Ok(claimed)
    }

    /// Claims a run now, due or not; `None` if the schedule is running already.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_now(
        &self,
        project: &ProjectId,
        schedule: Schedule,
        now: Timestamp,
    ) -> StoreResult<Option<DueRun>> {
        self.claim(project, schedule, now, now).await
    }

    /// Extends the lease of a run.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn renew(&self, run: &DueRun, now: Timestamp) -> StoreResult<LeaseStatus> {
        self.catalog.renew_job(run.lease.clone(), LEASE, now).await
    }

    /// Returns an unfinished run to the queue.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn release(&self, run: &DueRun, now: Timestamp) -> StoreResult<LeaseStatus> {
        self.catalog.release_job(run.lease.clone(), now).await
    }

    /// Records the result of a run: a summary, or an error.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn end(
        &self,
        run: &DueRun,
        outcome: Result<String, String>,
        now: Timestamp,
    ) -> StoreResult<LeaseStatus> {
        let run = (run.lease.clone(), run.schedule.name.clone());
        self.catalog.end_run(run, outcome, now).await
    }

    /// The run that is due: the last one since the previous run, an unfinished or a requested one.
    async fn due(
        &self,
        project: &ProjectId,
        schedule: &Schedule,
        now: Timestamp,
    ) -> StoreResult<Option<Timestamp>> {
        let name = schedule.name.clone();
        let runs = self.catalog.schedule_runs(project.clone(), name, RECENT_RUNS).await?;
        // Requested by a person, or retried after it was given up: also while the schedule is
        // paused, however old, and if the clock was set back since.
        let requested = runs.iter().find(|run| run.is_requested()).map(|run| run.due_at);
        // Another run of the future was due before the clock was set back: it must not keep all
        // others from running until then.
        let runs: Vec<ScheduleRun> = runs.into_iter().filter(|run| run.due_at <= now).collect();
        let is_open = |run: &&ScheduleRun| run.ended_at.is_none() && !run.is_leased(now);
        if !schedule.is_on {
            return Ok(requested);
        }
        let last = runs.iter().max_by_key(|run| run.due_at);
        let left = last.filter(is_open).map(|run| run.due_at);
        let after = last.map_or(schedule.due_after, |run| run.due_at);
        let due_after = schedule.due_after.min(now);
        let due = schedule.cron.latest(after.max(due_after), now, &schedule.zone);
        Ok(due.or(left).or(requested))
    }

    async fn claim(
        &self,
        project: &ProjectId,
        schedule: Schedule,
        due_at: Timestamp,
        now: Timestamp,
    ) -> StoreResult<Option<DueRun>> {
        let claim = RunClaim {
            project: project.clone(),
            schedule: schedule.name.clone(),
            due_at,
            runner: self.name.clone(),
            lease: LEASE,
        };
        let lease = self.catalog.claim_run(claim, now).await?;
        Ok(lease.map(|lease| DueRun { schedule, due_at, lease }))
    }
}
