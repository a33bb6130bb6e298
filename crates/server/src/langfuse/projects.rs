//! Projects and their keys. Langfuse's organization is this server, and its organization key is an
//! owner's: it administers every project (ADR 0007, ADR 0014).

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ratchet_core::payload::Json as JsonText;
use ratchet_remote::langfuse::wire::administration::{
    NewProjectRequest, ProjectChangeRequest, ProjectDeleted,
};
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_remote::langfuse::wire::project::{Organization, ProjectView, Projects};
use ratchet_stages::record::retention_sweep;
use ratchet_store::catalog::{Project, ProjectChange};
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use super::path::PathOf;
use crate::api::projects::{ProjectRequest, RetentionRequest};
use crate::app::App;
use crate::auth::{Administrator, Caller};
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create)).routes(routes!(change, delete))
}

/// `GET /api/public/projects`: the project of the caller's key.
///
/// Allowed for any key, because SDKs use it to check their keys and to print links.
#[utoipa::path(
    get,
    path = "/api/public/projects",
    tag = "Projects",
    responses((status = 200, body = Projects))
)]
pub(super) async fn list(State(app): State<App>, caller: Caller) -> ApiResult<Json<Projects>> {
    let projects = app.store.catalog.projects().await?;
    let project = projects.into_iter().find(|project| project.id == caller.project);
    let project = project.ok_or_else(|| {
        ApiError::NotFound(format!("project {} is not there any more", caller.project))
    })?;
    Ok(Json(Projects { data: vec![view(&app, project).await?] }))
}

/// `POST /api/public/projects`: creates a project.
#[utoipa::path(
    post,
    path = "/api/public/projects",
    tag = "Projects",
    request_body = NewProjectRequest,
    responses((status = 200, body = ProjectView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Administrator(caller): Administrator,
    JsonFields(request): JsonFields<NewProjectRequest>,
) -> ApiResult<Json<ProjectView>> {
    let retention_days = Some(request.retention).filter(|days| *days > 0);
    let asked = ProjectRequest { name: request.name, id: None, retention_days };
    let now = app.clock.now();
    let mut made = caller.catalog(&app).create_project(asked.check()?, now).await?;
    if let Some(metadata) = request.metadata {
        let change = ProjectChange { metadata: Some(noted(&metadata)?), ..Default::default() };
        made = caller.catalog(&app).change_project(made.id, change, now).await?;
    }
    Ok(Json(view(&app, made).await?))
}

/// `PUT /api/public/projects/{projectId}`: renames a project, and sets the other given fields.
#[utoipa::path(
    put,
    path = "/api/public/projects/{project}",
    tag = "Projects",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = ProjectChangeRequest,
    responses((status = 200, body = ProjectView))
)]
pub(super) async fn change(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathOf(id): PathOf<String>,
    JsonFields(request): JsonFields<ProjectChangeRequest>,
) -> ApiResult<Json<ProjectView>> {
    let id = project_at(&id)?;
    let asked = ProjectRequest { name: request.name, id: None, retention_days: None };
    let days = |days: u32| RetentionRequest { days: Some(days).filter(|days| *days > 0) }.check();
    let change = ProjectChange {
        name: Some(asked.check()?.name),
        retention_days: request.retention.map(days).transpose()?,
        metadata: request.metadata.as_ref().map(noted).transpose()?,
    };
    let changed = caller.catalog(&app).change_project(id, change, app.clock.now()).await?;
    Ok(Json(view(&app, changed).await?))
}

/// `DELETE /api/public/projects/{projectId}`: deletes a project with all its data.
///
/// A key cannot delete its own project, so that no client locks itself out.
#[utoipa::path(
    delete,
    path = "/api/public/projects/{project}",
    tag = "Projects",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 202, body = ProjectDeleted))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathOf(id): PathOf<String>,
) -> ApiResult<(StatusCode, Json<ProjectDeleted>)> {
    let id = project_at(&id)?;
    if id == caller.project {
        let message = "a key cannot delete its own project; use an owner's key of another one";
        return Err(ApiError::Conflict(message.to_owned()));
    }
    let catalog = caller.catalog(&app);
    retention_sweep::delete_project(&app.store, &catalog, id.clone(), app.clock.now()).await?;
    app.request_sweep();
    let message = format!("project {id} is deleted; its telemetry is being removed");
    Ok((StatusCode::ACCEPTED, Json(ProjectDeleted { success: true, message })))
}

/// The project of a path. A malformed id cannot exist.
pub(super) fn project_at(text: &str) -> ApiResult<ProjectId> {
    ProjectId::parse(text).map_err(|_| ApiError::NotFound(format!("project {text} not found")))
}

fn noted(metadata: &BTreeMap<String, Raw>) -> ApiResult<JsonText> {
    let text = serde_json::to_string(metadata).ok();
    let json = text.as_deref().and_then(JsonText::parse);
    json.ok_or_else(|| ApiError::Invalid("metadata: nests too deep".to_owned()))
}

async fn view(app: &App, project: Project) -> ApiResult<ProjectView> {
    let note = app.store.catalog.project_note(project.id.clone()).await?;
    let metadata = note.and_then(|note| serde_json::from_str(note.metadata.as_str()).ok());
    Ok(ProjectView {
        id: project.id.to_string(),
        name: project.name,
        // All projects of a server belong to one organization.
        organization: Organization { id: "ratchet".to_owned(), name: "Ratchet".to_owned() },
        metadata: metadata.unwrap_or_default(),
        retention_days: project.retention_days,
    })
}
