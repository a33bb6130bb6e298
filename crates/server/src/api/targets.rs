use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ratchet_remote::ratchet::experiments::{
    ServerTargetRequest, ServerTargetView, ServerTargetsView,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::experiments::{service, worker};
use super::path::{PathProject, ProjectParam};
use crate::app::App;
use crate::auth::{Owner, Reader};
use crate::body::JsonBody;
use crate::error::ApiResult;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(save, delete))
}

/// `GET /api/v1/projects/{project}/targets`: targets that the server can run by itself, by name.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/targets",
    tag = "Experiments",
    params(ProjectParam),
    responses((status = 200, body = ServerTargetsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
) -> ApiResult<Json<ServerTargetsView>> {
    let service = service(&app, &caller, project.as_str())?;
    let targets = worker(&app)?.targets().list(&service).await?;
    Ok(Json(targets.into()))
}

/// `PUT /api/v1/projects/{project}/targets/{target}`: stores a target. Secrets are sealed, and no
/// response has them.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/targets/{target}",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("target" = String, Path, description = "Name of the target."),
    ),
    request_body = ServerTargetRequest,
    responses((status = 200, body = ServerTargetView))
)]
pub(super) async fn save(
    State(app): State<App>,
    Owner(caller): Owner,
    Path((project, target)): Path<(String, String)>,
    JsonBody(request): JsonBody<ServerTargetRequest>,
) -> ApiResult<Json<ServerTargetView>> {
    let service = service(&app, &caller, &project)?;
    let targets = worker(&app)?.targets();
    Ok(Json(targets.save(&service, (&target, request.into()), app.clock.now()).await?.into()))
}

/// `DELETE /api/v1/projects/{project}/targets/{target}`: deletes a stored target.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/targets/{target}",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("target" = String, Path, description = "Name of the target."),
    ),
    responses((status = 204))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Owner(caller): Owner,
    Path((project, target)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let service = service(&app, &caller, &project)?;
    service.catalog.delete_target(service.project, target, app.clock.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
