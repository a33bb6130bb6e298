use axum::Json;
use axum::extract::State;
use ratchet_core::catalog::cors_origin::PageOrigin;
use ratchet_core::catalog::validation;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathProject, ProjectParam};
use crate::app::App;
use crate::auth::Administrator;
use crate::body::JsonBody;
use crate::error::ApiResult;

/// CORS origins that may use a project's keys; any when empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OriginsView {
    /// Origins such as `https://app.example.com`.
    pub origins: Vec<String>,
}

impl From<Vec<PageOrigin>> for OriginsView {
    fn from(origins: Vec<PageOrigin>) -> Self {
        Self { origins: origins.iter().map(ToString::to_string).collect() }
    }
}

impl OriginsView {
    /// Validates the origins.
    ///
    /// # Errors
    /// 400, naming the first invalid one.
    pub fn check(self) -> ApiResult<Vec<PageOrigin>> {
        Ok(validation::origins(&self.origins)?)
    }
}

/// `GET /api/v1/projects/{project}/origins`: the CORS origins that may use the project's keys.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/origins",
    tag = "Administration",
    params(ProjectParam),
    responses((status = 200, body = OriginsView))
)]
pub(super) async fn show(
    State(app): State<App>,
    _: Administrator,
    PathProject(project): PathProject,
) -> ApiResult<Json<OriginsView>> {
    Ok(Json(app.store.catalog.page_origins(project).await?.into()))
}

/// `PUT /api/v1/projects/{project}/origins`: sets the CORS origins; an empty list allows any.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/origins",
    tag = "Administration",
    params(ProjectParam),
    request_body = OriginsView,
    responses((status = 200, body = OriginsView))
)]
pub(super) async fn set(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<OriginsView>,
) -> ApiResult<Json<OriginsView>> {
    let origins = request.check()?;
    Ok(Json(caller.catalog(&app).set_page_origins(project, origins, app.clock.now()).await?.into()))
}
