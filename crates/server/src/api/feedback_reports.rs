use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::improve::report::FeedbackReport;
use ratchet_store::catalog::{FeedbackEffect, NewFeedback, StoredFeedback};
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::path::{PathProject, ProjectParam};
use super::projects::{own_project, project_id};
use super::query::asked;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// Maximum number of proposals of a document.
const MAX_PROPOSALS: usize = 200;
/// Maximum length of a name or an id, in characters.
const MAX_NAME: usize = 200;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(show, save))
        .routes(routes!(publish))
}

/// A stored weekly document of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackReportView {
    /// The agent's name.
    pub agent: String,
    /// First day of the week.
    pub week: String,
    /// `provisional` until it is published, then `published`.
    pub state: String,
    /// The document.
    #[schema(value_type = Object)]
    pub report: FeedbackReport,
    /// When it was stored first, RFC 3339.
    pub created_at: String,
    /// When it was last changed, RFC 3339.
    pub updated_at: String,
    /// When it was published, RFC 3339; null until then.
    pub published_at: Option<String>,
}

/// Weekly documents, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FeedbackReportsView {
    /// All of them, up to a limit.
    pub reports: Vec<FeedbackReportView>,
}

/// Which documents.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FeedbackReportsRequest {
    /// Only of this agent.
    pub agent: Option<String>,
}

/// What storing a document did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SavedFeedbackView {
    /// `made`, `changed`, `same`, or `published` if it is published and stays as it is.
    pub effect: String,
    /// Ids of its proposals in the backlog.
    pub proposals: Vec<String>,
}

fn view(stored: StoredFeedback) -> FeedbackReportView {
    let state = if stored.published_at.is_some() { "published" } else { "provisional" };
    FeedbackReportView {
        agent: stored.agent,
        week: stored.week,
        state: state.to_owned(),
        report: stored.report,
        created_at: stored.created_at.to_string(),
        updated_at: stored.updated_at.to_string(),
        published_at: stored.published_at.map(|at| at.to_string()),
    }
}

/// `GET /api/v1/projects/{project}/feedback`: weekly documents of agents, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/feedback",
    tag = "Proposals",
    params(ProjectParam, FeedbackReportsRequest),
    responses((status = 200, body = FeedbackReportsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<FeedbackReportsView>> {
    own_project(&caller, &project)?;
    let FeedbackReportsRequest { agent } = asked(&uri)?;
    let found = app.store.catalog.feedback_reports(project, agent).await?;
    Ok(Json(FeedbackReportsView { reports: found.into_iter().map(view).collect() }))
}

/// `GET /api/v1/projects/{project}/feedback/{agent}/{week}`: an agent's week, given by its first day.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/feedback/{agent}/{week}",
    tag = "Proposals",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name."),
        ("week" = String, Path, description = "The week's first day, such as `2026-11-08`."),
    ),
    responses((status = 200, body = FeedbackReportView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, agent, week)): Path<(String, String, String)>,
) -> ApiResult<Json<FeedbackReportView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let found = app.store.catalog.feedback_report(project, (agent, week)).await?;
    let missing = || ApiError::NotFound("no document of this agent and week".to_owned());
    Ok(Json(view(found.ok_or_else(missing)?)))
}

/// `PUT /api/v1/projects/{project}/feedback/{agent}/{week}`: stores an agent's week, and adds its
/// proposals to the backlog; a published one stays as it is.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/feedback/{agent}/{week}",
    tag = "Proposals",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name."),
        ("week" = String, Path, description = "The week's first day, such as `2026-11-08`."),
    ),
    request_body = Object,
    responses((status = 200, body = SavedFeedbackView))
)]
pub(super) async fn save(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, agent, week)): Path<(String, String, String)>,
    JsonBody(report): JsonBody<FeedbackReport>,
) -> ApiResult<Json<SavedFeedbackView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    check((&agent, &week), &report)?;
    let new = NewFeedback { agent, report, proposals: Vec::new() };
    let saved = caller.catalog(&app).save_feedback_report(project, new, app.clock.now()).await?;
    let effect = match saved.effect {
        FeedbackEffect::Made => "made",
        FeedbackEffect::Changed => "changed",
        FeedbackEffect::Same => "same",
        FeedbackEffect::Published => "published",
    };
    let proposals = saved.proposals.into_iter().map(|stored| stored.id).collect();
    Ok(Json(SavedFeedbackView { effect: effect.to_owned(), proposals }))
}

/// `POST /api/v1/projects/{project}/feedback/{agent}/{week}/publish`: publishes an agent's week, which
/// stays as it is from then on.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/feedback/{agent}/{week}/publish",
    tag = "Proposals",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name."),
        ("week" = String, Path, description = "The week's first day, such as `2026-11-08`."),
    ),
    responses((status = 200, body = FeedbackReportView))
)]
pub(super) async fn publish(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, agent, week)): Path<(String, String, String)>,
) -> ApiResult<Json<FeedbackReportView>> {
    let project: ProjectId = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, now) = (caller.catalog(&app), app.clock.now());
    Ok(Json(view(catalog.publish_feedback_report(project, (agent, week), now).await?)))
}

/// Checks that a document matches its URL, and is of the size that documents have.
fn check((agent, week): (&str, &str), report: &FeedbackReport) -> ApiResult<()> {
    let wrong = |why: String| Err(ApiError::Invalid(why));
    let is_week = Week::parse(week, &Zone::utc()).is_ok_and(|found| found.days().0 == week);
    if !is_week || report.week != week {
        return wrong("week: a Sunday, the same in the address and in the document".to_owned());
    }
    if report.agents != [agent] || report.proposals.iter().any(|one| one.agent != agent) {
        return wrong("agents: only the one in the address".to_owned());
    }
    if agent.chars().count() > MAX_NAME {
        return wrong(format!("agent: at most {MAX_NAME} characters"));
    }
    if report.proposals.len() > MAX_PROPOSALS {
        return wrong(format!("proposals: at most {MAX_PROPOSALS}"));
    }
    let is_id = |id: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !id.is_empty() && id.len() <= MAX_NAME && id.chars().all(is_plain)
    };
    match report.proposals.iter().find(|one| !is_id(&one.id)) {
        Some(_) => wrong("proposals: an id has up to 200 letters, digits and - _ .".to_owned()),
        None => Ok(()),
    }
}
