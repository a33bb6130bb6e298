use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::job::{JobKind, JobPhase};
use ratchet_store::catalog::{JobKey, JobQuery, JobRecord};
use ratchet_store::project::ProjectId;
use ratchet_store::query::Page;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{PathProject, ProjectParam};
use super::projects::project_id;
use super::query::{asked, page_size};
use crate::app::App;
use crate::auth::Administrator;
use crate::error::{ApiError, ApiResult};

/// A job of the queue. What it works on and its result are not shown: they may have content of
/// traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// Unique among the jobs of its kind: due time and schedule, receiver and notification,
    /// rubric and session, or evaluator version and record.
    pub id: String,
    /// `notice`, `schedule-run`, `score-session`, `review` or `evaluation`.
    pub kind: String,
    /// The schedule or receiver whose jobs run one at a time.
    pub group: Option<String>,
    /// `queued`, `leased`, `done`, or `dead` for a dead letter.
    pub state: String,
    /// Whether it waits until its receiver is resumed.
    pub is_held: bool,
    /// Attempts since it was enqueued or retried.
    pub attempts: u32,
    /// Attempts after which it becomes a dead letter; null if there is no limit.
    pub max_attempts: Option<u32>,
    /// Time of the next attempt, RFC 3339; null unless it is queued.
    pub next_attempt_at: Option<String>,
    /// The worker that holds the lease; null without one.
    pub lease_holder: Option<String>,
    /// Expiry of the lease; null without one.
    pub lease_expires_at: Option<String>,
    /// When it was enqueued.
    pub created_at: String,
    /// Start of the last attempt.
    pub started_at: Option<String>,
    /// When it was completed or given up.
    pub finished_at: Option<String>,
    /// Why the last attempt failed; of a dead letter, why it was given up.
    pub reason: Option<String>,
}

impl From<JobRecord> for JobView {
    fn from(job: JobRecord) -> Self {
        let state = job.state.phase.as_str().to_owned();
        let (next, holder, expires) = match job.state.phase {
            JobPhase::Queued { run_at } => (Some(run_at), None, None),
            JobPhase::Leased { owner, expires_at } => (None, Some(owner), Some(expires_at)),
            JobPhase::Done | JobPhase::Dead => (None, None, None),
        };
        Self {
            id: job.id,
            kind: job.kind.as_str().to_owned(),
            group: job.group,
            state,
            is_held: job.state.is_held,
            attempts: job.state.attempts,
            max_attempts: Some(job.state.max_attempts).filter(|most| *most < u32::MAX),
            next_attempt_at: next.map(|next| next.to_string()),
            lease_holder: holder,
            lease_expires_at: expires.map(|expires| expires.to_string()),
            created_at: job.enqueued_at.to_string(),
            started_at: job.started_at.map(|started| started.to_string()),
            finished_at: job.finished_at.map(|finished| finished.to_string()),
            reason: job.state.error,
        }
    }
}

/// A page of jobs, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobsView {
    /// The jobs.
    pub jobs: Vec<JobView>,
    /// Cursor of the next page; null at the end.
    pub cursor: Option<String>,
}

impl From<Page<JobRecord>> for JobsView {
    fn from(page: Page<JobRecord>) -> Self {
        Self { jobs: page.rows.into_iter().map(Into::into).collect(), cursor: page.cursor }
    }
}

/// A filter for jobs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobsRequest {
    /// Only jobs of this kind: `notice`, `schedule-run`, `score-session`, `review` or `evaluation`.
    pub kind: Option<String>,
    /// Only jobs in this state: `queued`, `leased`, `done` or `dead`.
    pub state: Option<String>,
    /// Page size, from 1 to 1000; 50 by default.
    pub limit: Option<u64>,
    /// Cursor from the previous page.
    pub cursor: Option<String>,
}

impl JobsRequest {
    /// Validates the request; returns the query, and the cursor and size of the page.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self) -> ApiResult<(JobQuery, (Option<String>, u64))> {
        let kind = self.kind.map(|word| {
            let kinds = || JobKind::ALL.map(JobKind::as_str).join(", ");
            let unknown = || ApiError::Invalid(format!("kind: one of {}", kinds()));
            JobKind::parse(&word).ok_or_else(unknown)
        });
        let phase = self.state.map(|word| {
            let states = || JobPhase::NAMES.join(", ");
            let unknown = || ApiError::Invalid(format!("state: one of {}", states()));
            JobPhase::parse_name(&word).ok_or_else(unknown)
        });
        let query = JobQuery { kind: kind.transpose()?, group: None, phase: phase.transpose()? };
        Ok((query, (self.cursor, page_size(self.limit)?)))
    }

    /// The query string of this request.
    pub fn pairs(self) -> Vec<(&'static str, String)> {
        let limit = self.limit.map(|limit| limit.to_string());
        let all =
            [("kind", self.kind), ("state", self.state), ("limit", limit), ("cursor", self.cursor)];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// A discarded dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiscardedJob {
    /// The job's kind.
    pub kind: String,
    /// The job's id.
    pub discarded: String,
}

/// `GET /api/v1/projects/{project}/jobs`: the jobs of a project, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/jobs",
    tag = "Administration",
    params(ProjectParam, JobsRequest),
    responses((status = 200, body = JobsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<JobsView>> {
    let (query, page) = asked::<JobsRequest>(&uri)?.check()?;
    Ok(Json(app.store.catalog.jobs(project, query, page).await?.into()))
}

/// `POST /api/v1/projects/{project}/jobs/{kind}/{id}/retry`: returns a dead letter to the queue,
/// with all its attempts.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/jobs/{kind}/{id}/retry",
    tag = "Administration",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("kind" = String, Path, description = "The job's kind."),
        ("id" = String, Path, description = "The job's id; a slash in it is written as `%2F`."),
    ),
    responses((status = 200, body = JobView))
)]
pub(super) async fn retry(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path(path): Path<(String, String, String)>,
) -> ApiResult<Json<JobView>> {
    let (project, key) = named(path)?;
    let revived = caller.catalog(&app).requeue_dead_job(project, key, app.clock.now()).await?;
    if revived.kind == JobKind::ScheduleRun {
        app.run_soon();
    }
    Ok(Json(revived.into()))
}

/// `DELETE /api/v1/projects/{project}/jobs/{kind}/{id}`: deletes a dead letter.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/jobs/{kind}/{id}",
    tag = "Administration",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("kind" = String, Path, description = "The job's kind."),
        ("id" = String, Path, description = "The job's id; a slash in it is written as `%2F`."),
    ),
    responses((status = 200, body = DiscardedJob))
)]
pub(super) async fn discard(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path(path): Path<(String, String, String)>,
) -> ApiResult<Json<DiscardedJob>> {
    let (project, key) = named(path)?;
    let gone = caller.catalog(&app).discard_job(project, key, app.clock.now()).await?;
    Ok(Json(gone.into()))
}

impl From<JobRecord> for DiscardedJob {
    fn from(job: JobRecord) -> Self {
        Self { kind: job.kind.as_str().to_owned(), discarded: job.id }
    }
}

/// The job of a path.
fn named((project, kind, id): (String, String, String)) -> ApiResult<(ProjectId, JobKey)> {
    let known = JobKind::parse(&kind);
    let known = known.ok_or_else(|| ApiError::NotFound(format!("{kind} job {id} not found")))?;
    Ok((project_id(&project)?, (known, id)))
}
