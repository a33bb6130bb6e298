use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ratchet_core::calendar::Zone;
use ratchet_core::cron::Cron;
use ratchet_core::judge::offline;
use ratchet_core::judge::rubric;
use ratchet_core::money::Money;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::report::ReportScope;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::http;
use ratchet_stages::schedule::{self, NOBODY};
use ratchet_store::catalog::{
    NewSchedule, Schedule, ScheduleRun, ScheduleToggle, ScheduledJob, ScheduledScoring, WEEKLY,
};
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::projects::project_id;
use crate::app::App;
use crate::auth::Administrator;
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// Maximum number of listed runs.
pub const RUNS: u64 = 50;
/// Maximum length of a schedule's name.
const MAX_NAME: usize = 100;
/// Maximum length of other texts of a schedule.
const MAX_WORD: usize = 1_000;

/// A schedule of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// Display name.
    pub name: String,
    /// Whether it is on.
    pub state: ScheduleState,
    /// When it runs: a cron expression of five fields.
    pub cron: String,
    /// Time zone.
    pub zone: String,
    /// What it runs: `weekly-report` or `score`.
    pub job: String,
    /// The judge.
    pub judge: String,
    /// The rubric.
    pub rubric: String,
    /// Cost limit of a run, in US dollars.
    pub max_cost: Option<f64>,
    /// The part of the project that it is about; all of it where this is empty.
    #[serde(default, skip_serializing_if = "ScheduleScope::is_all")]
    pub scope: ScheduleScope,
    /// The file that suggestions are appended to.
    pub learnings: Option<String>,
    /// Whether Slack is notified.
    pub slack: bool,
    /// Whether a webhook is notified.
    pub webhook: bool,
    /// Time of the next run, RFC 3339; null while it is paused.
    pub next: Option<String>,
}

/// Whether a schedule is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleState {
    /// It runs when due.
    On,
    /// It does not run.
    Paused,
}

impl ScheduleState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Paused => "paused",
        }
    }

    /// The catalog's type for it.
    pub const fn switched(self) -> ScheduleToggle {
        match self {
            Self::On => ScheduleToggle::On,
            Self::Paused => ScheduleToggle::Off,
        }
    }
}

impl ScheduleView {
    /// The schedule's state at a time.
    pub fn new(schedule: Schedule, now: Timestamp) -> Self {
        let next = schedule.is_on.then(|| schedule.cron.next(now, &schedule.zone)).flatten();
        let state = if schedule.is_on { ScheduleState::On } else { ScheduleState::Paused };
        let scoring = schedule.job.scoring();
        Self {
            name: schedule.name,
            state,
            cron: schedule.cron.to_string(),
            zone: schedule.zone.name().to_owned(),
            job: schedule.job.kind().to_owned(),
            judge: scoring.map_or(NOBODY, |scoring| &scoring.judge).to_owned(),
            rubric: scoring.map_or(rubric::DEFAULT, |scoring| &scoring.rubric).to_owned(),
            max_cost: scoring.and_then(|scoring| scoring.max_cost).map(Money::dollars),
            scope: scoring
                .map_or_else(ScheduleScope::default, |scoring| ScheduleScope::of(&scoring.scope)),
            learnings: schedule.job.learnings().map(str::to_owned),
            slack: schedule.notifies_slack,
            webhook: schedule.notifies_webhook,
            next: next.map(|next| next.to_string()),
        }
    }
}

/// A schedule to create, or to replace the one of its name.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScheduleRequest {
    /// When it runs: a cron expression of five fields, or a shortcut such as `@weekly`.
    pub cron: String,
    /// Time zone, such as `Europe/Berlin`.
    pub zone: String,
    /// What it runs: `weekly-report` (the default) scores the last complete week and reports on
    /// it; `score` scores the sessions of the last seven days; `review-draw` draws the review sample
    /// of the last complete week; `feedback` publishes the weekly document of the latest week whose
    /// review is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The judge; `offline`, which costs nothing, by default.
    pub judge: Option<String>,
    /// The rubric; the built-in one by default.
    pub rubric: Option<String>,
    /// Cost limit of a run, in US dollars.
    pub max_cost: Option<f64>,
    /// The part of the project that is scored and reported on; all of it by default.
    #[serde(default, skip_serializing_if = "ScheduleScope::is_all")]
    pub scope: ScheduleScope,
    /// The file that suggestions are appended to, on the server's machine.
    pub learnings: Option<String>,
    /// URL of a Slack webhook.
    pub slack: Option<String>,
    /// URL of another webhook.
    pub webhook: Option<String>,
}

impl ScheduleRequest {
    /// Checks that the webhooks are at addresses that the server may call.
    fn check_addresses(&self, outbound: &OutboundPolicy) -> ApiResult<()> {
        for (field, entered) in [("slack", &self.slack), ("webhook", &self.webhook)] {
            let allowed = http::check_entered_text(entered.as_deref().unwrap_or(""), outbound);
            allowed.map_err(|why| ApiError::Invalid(format!("{field}: {why}")))?;
        }
        Ok(())
    }

    /// Validates the request.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self, name: &str) -> ApiResult<NewSchedule> {
        let invalid =
            |field: &str, why: &dyn std::fmt::Display| ApiError::Invalid(format!("{field}: {why}"));
        let is_name = !name.trim().is_empty() && name.chars().count() <= MAX_NAME;
        if !is_name || name.chars().any(char::is_control) {
            return Err(invalid("name", &format!("from 1 to {MAX_NAME} visible characters")));
        }
        let words = [&self.judge, &self.rubric, &self.learnings, &self.slack, &self.webhook];
        if words.into_iter().flatten().any(|word| word.len() > MAX_WORD) {
            return Err(ApiError::Invalid(format!("no field is longer than {MAX_WORD} bytes")));
        }
        let judge = schedule::judge(self.judge.as_deref().unwrap_or(offline::NAME));
        let judge = judge.map_err(|why| invalid("judge", &why))?;
        let judge = judge.map_or_else(|| NOBODY.to_owned(), |judge| judge.to_string());
        let max_cost = self.max_cost.map(|dollars| {
            let money = Money::from_dollars(dollars);
            money.ok_or_else(|| invalid("maxCost", &"an amount of dollars, such as 2.50"))
        });
        let scoring = ScheduledScoring {
            judge,
            rubric: self.rubric.unwrap_or_else(|| rubric::DEFAULT.to_owned()),
            max_cost: max_cost.transpose()?,
            scope: self.scope.check()?,
        };
        if name == WEEKLY && !scoring.scope.is_all() {
            let why = "the weekly schedule is about the whole project; name another schedule";
            return Err(invalid("scope", &why));
        }
        let kind = self.job.as_deref().unwrap_or(ScheduledJob::WEEKLY_REPORT);
        if kind == ScheduledJob::SCORING {
            if self.learnings.is_some() {
                return Err(invalid("learnings", &"only a weekly report makes suggestions"));
            }
            if scoring.judge == NOBODY {
                return Err(invalid("judge", &"scoring needs a judge"));
            }
        }
        let job = ScheduledJob::new(kind, scoring, self.learnings).ok_or_else(|| {
            invalid("job", &format!("must be one of {}", ScheduledJob::KINDS.join(", ")))
        })?;
        Ok(NewSchedule {
            name: name.to_owned(),
            cron: Cron::parse(&self.cron).map_err(|why| invalid("cron", &why))?,
            zone: Zone::parse(&self.zone).map_err(|why| invalid("zone", &why))?,
            job,
            slack: self.slack.map(Secret::new),
            webhook: self.webhook.map(Secret::new),
        })
    }
}

/// The part of a project that a schedule is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ScheduleScope {
    /// Only sessions of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only sessions in this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Only sessions of this release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Only sessions with this version of a prompt, such as `support v3`, in reports. All sessions of
    /// the other parts are scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Only sessions with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only sessions of this user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl ScheduleScope {
    /// Converts a scope of the catalog.
    pub fn of(scope: &ReportScope) -> Self {
        let ReportScope { agent, environment, release, prompt, tag, user } = scope.clone();
        Self { agent, environment, release, prompt, tag, user }
    }

    fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Describes it: `agent support-bot, environment prod`.
    pub fn words(&self) -> String {
        self.clone().into_scope().words()
    }

    fn into_scope(self) -> ReportScope {
        let Self { agent, environment, release, prompt, tag, user } = self;
        ReportScope { agent, environment, release, prompt, tag, user }
    }

    fn check(self) -> ApiResult<ReportScope> {
        let named = [
            ("agent", &self.agent),
            ("environment", &self.environment),
            ("release", &self.release),
            ("prompt", &self.prompt),
            ("tag", &self.tag),
            ("user", &self.user),
        ];
        for (field, value) in named {
            let Some(value) = value else { continue };
            let is_name = !value.trim().is_empty() && value.len() <= MAX_WORD;
            if !is_name || value.chars().any(char::is_control) {
                let why = format!("scope.{field}: from 1 to {MAX_WORD} visible characters");
                return Err(ApiError::Invalid(why));
            }
        }
        Ok(self.into_scope())
    }
}

/// Turns a schedule on or off.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSwitch {
    /// The new state.
    pub state: ScheduleState,
}

/// One run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleRunView {
    /// Due time, RFC 3339, which identifies the run.
    pub due: String,
    /// Start time.
    pub began: String,
    /// End time; null while it runs.
    pub ended: Option<String>,
    /// `running`, `done` or `failed`.
    pub outcome: String,
    /// The server that ran it; empty until then.
    pub runner: String,
    /// Summary, or the error.
    pub message: String,
}

impl From<ScheduleRun> for ScheduleRunView {
    fn from(run: ScheduleRun) -> Self {
        Self {
            due: run.due_at.to_string(),
            began: run.began_at.to_string(),
            ended: run.ended_at.map(|ended| ended.to_string()),
            outcome: run.outcome.as_str().to_owned(),
            runner: run.runner,
            message: run.message,
        }
    }
}

/// A deleted schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovedSchedule {
    /// The schedule's name.
    pub removed: String,
}

/// `GET /api/v1/projects/{project}/schedules`: the schedules of a project.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/schedules",
    tag = "Quality",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, body = Vec<ScheduleView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
    Path(project): Path<String>,
) -> ApiResult<Json<Vec<ScheduleView>>> {
    let (project, now) = (weekly(&app, &project).await?, app.clock.now());
    let schedules = app.store.catalog.schedules(project).await?;
    Ok(Json(schedules.into_iter().map(|known| ScheduleView::new(known, now)).collect()))
}

/// `PUT /api/v1/projects/{project}/schedules/{name}`: creates or changes a schedule, and turns it
/// on.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/schedules/{name}",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "The schedule's name."),
    ),
    request_body = ScheduleRequest,
    responses((status = 200, body = ScheduleView))
)]
pub(super) async fn save(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path((project, name)): Path<(String, String)>,
    JsonBody(request): JsonBody<ScheduleRequest>,
) -> ApiResult<Json<ScheduleView>> {
    request.check_addresses(&app.outbound)?;
    let new = request.check(&name)?;
    let (project, now) = (weekly(&app, &project).await?, app.clock.now());
    let secrets = app.store.secrets.clone();
    let made = caller.catalog(&app).save_schedule(project, new, secrets, now).await?;
    Ok(Json(ScheduleView::new(made, now)))
}

/// `DELETE /api/v1/projects/{project}/schedules/{name}`: deletes a schedule and its history.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/schedules/{name}",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "The schedule's name."),
    ),
    responses((status = 200, body = RemovedSchedule))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path((project, name)): Path<(String, String)>,
) -> ApiResult<Json<RemovedSchedule>> {
    let project = weekly(&app, &project).await?;
    caller.catalog(&app).remove_schedule(project, name.clone(), app.clock.now()).await?;
    Ok(Json(RemovedSchedule { removed: name }))
}

/// `PUT /api/v1/projects/{project}/schedules/{name}/state`: turns a schedule on, or pauses it.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/schedules/{name}/state",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "The schedule's name."),
    ),
    request_body = ScheduleSwitch,
    responses((status = 200, body = ScheduleView))
)]
pub(super) async fn switch(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path((project, name)): Path<(String, String)>,
    JsonBody(request): JsonBody<ScheduleSwitch>,
) -> ApiResult<Json<ScheduleView>> {
    let (project, now) = (weekly(&app, &project).await?, app.clock.now());
    let catalog = caller.catalog(&app);
    let switched = catalog.switch_schedule(project, name, request.state.switched(), now).await?;
    Ok(Json(ScheduleView::new(switched, now)))
}

/// `GET /api/v1/projects/{project}/schedules/{name}/runs`: the last runs, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/schedules/{name}/runs",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "The schedule's name."),
    ),
    responses((status = 200, body = Vec<ScheduleRunView>))
)]
pub(super) async fn runs(
    State(app): State<App>,
    _: Administrator,
    Path((project, name)): Path<(String, String)>,
) -> ApiResult<Json<Vec<ScheduleRunView>>> {
    let project = weekly(&app, &project).await?;
    let runs = app.store.catalog.schedule_runs(project, name, RUNS).await?;
    Ok(Json(runs.into_iter().map(Into::into).collect()))
}

/// `POST /api/v1/projects/{project}/schedules/{name}/runs`: requests a run now, due or not.
/// Responds at once; the list of runs has the result.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/schedules/{name}/runs",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "The schedule's name."),
    ),
    responses((status = 202, body = ScheduleRunView))
)]
pub(super) async fn run(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path((project, name)): Path<(String, String)>,
) -> ApiResult<(StatusCode, Json<ScheduleRunView>)> {
    let project = weekly(&app, &project).await?;
    let asked = caller.catalog(&app).request_run(project, name, app.clock.now()).await?;
    app.run_soon();
    Ok((StatusCode::ACCEPTED, Json(asked.into())))
}

/// The project of a path, after ensuring that it has the weekly schedule.
async fn weekly(app: &App, project: &str) -> ApiResult<ProjectId> {
    let project = project_id(project)?;
    let there = app.store.catalog.projects().await?;
    if !there.iter().any(|known| known.id == project) {
        return Err(ApiError::NotFound(format!("project {project}")));
    }
    let (catalog, zone) = (&app.store.catalog, Zone::of_this_machine());
    catalog.ensure_weekly(project.clone(), zone, app.clock.now()).await?;
    Ok(project)
}
