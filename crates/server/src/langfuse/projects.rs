use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ratchet_remote::langfuse::wire::project::{Organization, ProjectView, Projects};
use ratchet_store::catalog::Project;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list))
}

/// `GET /api/public/projects`: the project that the caller's key opens.
///
/// Any key may ask, as SDKs do to check their keys and to print links.
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
    Ok(Json(Projects { data: vec![view(project)] }))
}

fn view(project: Project) -> ProjectView {
    ProjectView {
        id: project.id.to_string(),
        name: project.name,
        // Every project of one server belongs to whoever runs it.
        organization: Organization { id: "ratchet".to_owned(), name: "Ratchet".to_owned() },
        metadata: BTreeMap::new(),
        retention_days: project.retention_days,
    }
}
