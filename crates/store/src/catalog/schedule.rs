/// What schedules run.
mod scheduled_job;
/// Runs of schedules: jobs of the queue.
mod run;

use ratchet_core::calendar::Zone;
use ratchet_core::cron::Cron;
use ratchet_core::judge::{offline, rubric};
use ratchet_core::money::Money;
use ratchet_core::quality::report::ReportScope;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;

use super::project_table::ProjectTable;
use super::sql::{FromColumn, Row, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::secrets::Secrets;
use crate::{StoreError, StoreResult};

pub(super) use run::skip_run;
pub use run::{RunClaim, ScheduleOutcome, ScheduleRun};
pub use scheduled_job::{ScheduledJob, ScheduledScoring};

/// Maximum number of schedules per project.
const MAX_SCHEDULES: usize = 100;

/// Name of the schedule that every project has.
pub const WEEKLY: &str = "weekly";
/// Sundays at 02:00.
const WEEKLY_CRON: &str = "0 2 * * SUN";
/// Name of the schedule that draws every project's review sample.
pub const REVIEW: &str = "review";
/// Mondays at 06:00.
const REVIEW_CRON: &str = "0 6 * * MON";
/// Name of the schedule that publishes every project's weekly document.
pub const FEEDBACK: &str = "feedback";
/// Mondays at 08:00.
const FEEDBACK_CRON: &str = "0 8 * * MON";

/// When a job runs, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Unique in the project.
    pub name: String,
    pub cron: Cron,
    /// Time zone of the cron expression and of its weeks.
    pub zone: Zone,
    pub job: ScheduledJob,
    pub notifies_slack: bool,
    /// Whether a webhook is notified.
    pub notifies_webhook: bool,
    pub is_on: bool,
    /// Runs due up to this time are skipped: the schedule did not exist or was off.
    pub due_after: Timestamp,
    pub created_at: Timestamp,
}

/// A schedule to save.
#[derive(Clone, Debug)]
pub struct NewSchedule {
    pub name: String,
    pub cron: Cron,
    pub zone: Zone,
    pub job: ScheduledJob,
    /// URL of a Slack webhook, a secret.
    pub slack: Option<Secret>,
    /// URL of another webhook, possibly a secret.
    pub webhook: Option<Secret>,
}

/// The webhooks that a schedule notifies.
#[derive(Clone, Debug, Default)]
pub struct ScheduleWebhooks {
    pub slack: Option<Secret>,
    pub webhook: Option<Secret>,
}

/// The judge of jobs that need none.
const NO_JUDGE: &str = "none";

const COLUMNS: &str = "name, cron, zone, judge, learnings, slack, webhook, is_on, due_after, \
                       created_at, rubric, max_cost, job, scope";

const SCHEDULES: ProjectTable<Schedule> =
    ProjectTable::new(("schedule", "schedule"), COLUMNS, read).by("name").in_order("name");

impl Catalog {
    /// Creates the schedules that every project has, turned on, where they are missing: the weekly
    /// report, the draw of the review sample and the publication of the weekly document.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn ensure_weekly(
        &self,
        project: ProjectId,
        zone: Zone,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            for (name, cron, judge, job) in [
                (WEEKLY, WEEKLY_CRON, offline::NAME, ScheduledJob::WEEKLY_REPORT),
                (REVIEW, REVIEW_CRON, NO_JUDGE, ScheduledJob::REVIEW_DRAW),
                (FEEDBACK, FEEDBACK_CRON, NO_JUDGE, ScheduledJob::FEEDBACK),
            ] {
                tx.execute(
                    "INSERT INTO schedule (project, name, cron, zone, judge, job, is_on, \
                     due_after, created_at) VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7) \
                     ON CONFLICT (project, name) DO NOTHING",
                    &[
                        (&project).into(),
                        name.into(),
                        cron.into(),
                        zone.name().into(),
                        judge.into(),
                        job.into(),
                        now.into(),
                    ],
                )?;
            }
            Ok(())
        })
        .await
    }

    /// Returns a project's schedules, by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn schedules(&self, project: ProjectId) -> StoreResult<Vec<Schedule>> {
        self.transact(move |tx| SCHEDULES.all(tx, &project)).await
    }

    /// Upserts a schedule by name. It is on, and runs from now on.
    ///
    /// # Errors
    /// Fails if the project has too many schedules, or if the server's encryption key is
    /// unavailable.
    pub async fn save_schedule(
        &self,
        project: ProjectId,
        new: NewSchedule,
        secrets: Secrets,
        now: Timestamp,
    ) -> StoreResult<Schedule> {
        self.transact(move |tx| {
            let known = SCHEDULES.find(tx, &project, &new.name)?;
            if known.is_none() && SCHEDULES.all(tx, &project)?.len() >= MAX_SCHEDULES {
                let why = format!("a project has at most {MAX_SCHEDULES} schedules");
                return Err(StoreError::BadQuery(why));
            }
            let (owner, scoring) = (owner(&project, &new.name), new.job.scoring());
            let seal = |secret: Option<&Secret>| -> StoreResult<Value> {
                Ok(secret.map(|secret| secrets.seal(secret, &owner)).transpose()?.into())
            };
            tx.execute(
                "INSERT INTO schedule (project, name, cron, zone, judge, learnings, slack, \
                 webhook, is_on, due_after, created_at, rubric, max_cost, job, scope) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $9, $10, $11, $12, $13) \
                 ON CONFLICT (project, name) DO UPDATE SET cron = $3, zone = $4, judge = $5, \
                 learnings = $6, slack = $7, webhook = $8, is_on = 1, due_after = $9, \
                 rubric = $10, max_cost = $11, job = $12, scope = $13",
                &[
                    (&project).into(),
                    (&new.name).into(),
                    new.cron.to_string().into(),
                    new.zone.name().into(),
                    scoring.map_or(NO_JUDGE, |scoring| &scoring.judge).into(),
                    new.job.learnings().into(),
                    seal(new.slack.as_ref())?,
                    seal(new.webhook.as_ref())?,
                    now.into(),
                    scoring.map_or(rubric::DEFAULT, |scoring| &scoring.rubric).into(),
                    scoring.and_then(|scoring| scoring.max_cost).map(Money::pico).into(),
                    new.job.kind().into(),
                    scoring.and_then(|scoring| scope_text(&scoring.scope)).into(),
                ],
            )?;
            let verb = if known.is_some() { AuditAction::Changed } else { AuditAction::Made };
            let audited = verb.on(AuditObject::Schedule, &new.name).named(&new.name);
            tx.audit(&project, now, &audited.became(format!("{} {}", new.cron, new.zone)))?;
            SCHEDULES.require(tx, &project, &new.name)
        })
        .await
    }

    /// Turns a schedule on or off. Runs missed while it was off are not made up.
    ///
    /// # Errors
    /// Fails if the project has no such schedule.
    pub async fn switch_schedule(
        &self,
        project: ProjectId,
        name: String,
        to: ScheduleToggle,
        now: Timestamp,
    ) -> StoreResult<Schedule> {
        self.transact(move |tx| {
            let known = SCHEDULES.require(tx, &project, &name)?;
            if known.is_on == (to == ScheduleToggle::On) {
                return Ok(known);
            }
            tx.execute(
                "UPDATE schedule SET is_on = $3, due_after = $4 WHERE project = $1 AND name = $2",
                &[(&project).into(), (&name).into(), (to == ScheduleToggle::On).into(), now.into()],
            )?;
            let word = if to == ScheduleToggle::On { "on" } else { "off" };
            let audited =
                AuditAction::Changed.on(AuditObject::Schedule, &name).named(&name).became(word);
            tx.audit(&project, now, &audited)?;
            SCHEDULES.require(tx, &project, &name)
        })
        .await
    }

    /// Deletes a schedule and its run history.
    ///
    /// # Errors
    /// Fails if the project has no such schedule, and for the schedules that every project has,
    /// which can only be paused.
    pub async fn remove_schedule(
        &self,
        project: ProjectId,
        name: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            if [WEEKLY, REVIEW, FEEDBACK].contains(&name.as_str()) {
                let why = format!("the {name} schedule cannot be deleted; pause it instead");
                return Err(StoreError::BadQuery(why));
            }
            SCHEDULES.delete(tx, &project, &name)?;
            run::delete_runs(tx, &project, &name)?;
            tx.audit(
                &project,
                now,
                &AuditAction::Deleted.on(AuditObject::Schedule, &name).named(&name),
            )
        })
        .await
    }

    /// Returns the webhooks of a schedule.
    ///
    /// # Errors
    /// Fails if the URLs cannot be decrypted with this server's key.
    pub async fn schedule_webhooks(
        &self,
        project: ProjectId,
        name: String,
        secrets: Secrets,
    ) -> StoreResult<ScheduleWebhooks> {
        self.transact(move |tx| {
            let sql = "SELECT slack, webhook FROM schedule WHERE project = $1 AND name = $2";
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let sealed: Option<(Option<String>, Option<String>)> =
                tx.one(sql, &[(&project).into(), (&name).into()], read)?;
            let (slack, webhook) = sealed.unwrap_or_default();
            let owner = owner(&project, &name);
            let open = |sealed: Option<String>| {
                sealed.map(|sealed| secrets.open(&sealed, &owner)).transpose()
            };
            Ok(ScheduleWebhooks { slack: open(slack)?, webhook: open(webhook)? })
        })
        .await
    }
}

/// Whether a schedule is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleToggle {
    On,
    Off,
}

fn owner(project: &ProjectId, name: &str) -> String {
    format!("schedule {project} {name}")
}

fn read(row: &Row<'_>) -> StoreResult<Schedule> {
    let (slack, webhook): (Option<String>, Option<String>) = (row.get(5)?, row.get(6)?);
    let scoring = ScheduledScoring {
        judge: row.get(3)?,
        rubric: row.get(10)?,
        max_cost: row.get::<Option<i64>>(11)?.map(Money::from_pico),
        scope: read_scope(row.get(13)?)?,
    };
    let kind: String = row.get(12)?;
    let job = ScheduledJob::new(&kind, scoring, row.get(4)?);
    Ok(Schedule {
        name: row.get(0)?,
        cron: row.get(1)?,
        zone: row.get(2)?,
        job: job.ok_or_else(|| {
            StoreError::BadQuery(format!("this version knows no scheduled job called {kind}"))
        })?,
        notifies_slack: slack.is_some(),
        notifies_webhook: webhook.is_some(),
        is_on: row.get(7)?,
        due_after: row.get(8)?,
        created_at: row.get(9)?,
    })
}

/// A scope as it is stored; `None` for the whole project.
fn scope_text(scope: &ReportScope) -> Option<String> {
    (!scope.is_all()).then(|| serde_json::to_string(scope).unwrap_or_default())
}

/// A part of a project must not become the whole because it cannot be read.
fn read_scope(text: Option<String>) -> StoreResult<ReportScope> {
    let Some(text) = text else { return Ok(ReportScope::default()) };
    serde_json::from_str(&text).map_err(|why| {
        StoreError::BadQuery(format!("the scope of a schedule cannot be read: {why}"))
    })
}

impl FromColumn for Cron {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?).ok()
    }
}

impl FromColumn for Zone {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?).ok()
    }
}
