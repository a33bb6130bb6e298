use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ratchet_core::catalog::validation;
use ratchet_store::catalog::{NewProject, Project};
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathProject, ProjectParam};
use crate::app::App;
use crate::auth::{Administrator, Caller};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectEntry {
    /// The project's id.
    pub id: String,
    /// The project's name.
    pub name: String,
    /// Retention in days; forever when null.
    pub retention_days: Option<u32>,
    /// Time of creation, RFC 3339.
    pub created_at: String,
}

impl From<Project> for ProjectEntry {
    fn from(project: Project) -> Self {
        Self {
            id: project.id.to_string(),
            name: project.name,
            retention_days: project.retention_days,
            created_at: project.created_at.to_string(),
        }
    }
}

/// A project to create.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectRequest {
    /// The project's name.
    pub name: String,
    /// The project's id; random by default.
    pub id: Option<String>,
    /// Retention in days; forever by default.
    pub retention_days: Option<u32>,
}

/// The retention of a project.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetentionRequest {
    /// Days, at least one; forever when null.
    pub days: Option<u32>,
}

impl ProjectRequest {
    /// Validates the request and fills in defaults.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self) -> ApiResult<NewProject> {
        let name = validation::project_name(&self.name)?;
        let id = self.id.map_or_else(|| Ok(ProjectId::random()), |id| project_id(&id))?;
        let retention_days = RetentionRequest { days: self.retention_days }.check()?;
        Ok(NewProject { id, name, retention_days })
    }
}

impl RetentionRequest {
    /// Validates the days.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self) -> ApiResult<Option<u32>> {
        Ok(validation::retention(self.days)?)
    }
}

/// Requires the caller's own project. A role covers the key's project only; another one looks like none
/// at all.
pub(super) fn own_project(caller: &Caller, project: &ProjectId) -> ApiResult<()> {
    if caller.project == *project {
        return Ok(());
    }
    Err(ApiError::NotFound(format!("project {project} not found")))
}

/// Parses a project id.
pub(super) fn project_id(text: &str) -> ApiResult<ProjectId> {
    ProjectId::parse(text).map_err(|error| ApiError::Invalid(format!("project: {error}")))
}

/// `GET /api/v1/projects`: all projects.
#[utoipa::path(
    get,
    path = "/api/v1/projects",
    tag = "Administration",
    responses((status = 200, body = Vec<ProjectEntry>))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
) -> ApiResult<Json<Vec<ProjectEntry>>> {
    let projects = app.store.catalog.projects().await?;
    Ok(Json(projects.into_iter().map(ProjectEntry::from).collect()))
}

/// `POST /api/v1/projects`: creates a project.
#[utoipa::path(
    post,
    path = "/api/v1/projects",
    tag = "Administration",
    request_body = ProjectRequest,
    responses((status = 201, body = ProjectEntry))
)]
pub(super) async fn create(
    State(app): State<App>,
    Administrator(caller): Administrator,
    JsonBody(request): JsonBody<ProjectRequest>,
) -> ApiResult<(StatusCode, Json<ProjectEntry>)> {
    let project = caller.catalog(&app).create_project(request.check()?, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(project.into())))
}

/// `PUT /api/v1/projects/{project}/retention`: sets the retention of a project's telemetry.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/retention",
    tag = "Administration",
    params(ProjectParam),
    request_body = RetentionRequest,
    responses((status = 200, body = ProjectEntry))
)]
pub(super) async fn set_retention(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<RetentionRequest>,
) -> ApiResult<Json<ProjectEntry>> {
    let days = request.check()?;
    Ok(Json(caller.catalog(&app).set_retention(project, days, app.clock.now()).await?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Result<(&str, Option<u32>), &str>) {
        let request: ProjectRequest = serde_json::from_str(body).unwrap();
        let checked = request.check().map(|new| (new.name, new.retention_days));
        let expected = expected.map(|(name, days)| (name.to_owned(), days));
        assert_eq!(checked.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn names_are_short_and_printable() {
        check(r#"{"name": " shop "}"#, Ok(("shop", None)));
        check(r#"{"name": " "}"#, Err("name: 1 to 100 printable characters"));
        check(r#"{"name": "a\nb"}"#, Err("name: 1 to 100 printable characters"));
    }

    #[test]
    fn nothing_is_kept_for_zero_days() {
        let refused = Err("days: 1 to 36500, or null to keep telemetry forever");
        check(r#"{"name": "shop", "retentionDays": 30}"#, Ok(("shop", Some(30))));
        check(r#"{"name": "shop", "retentionDays": 0}"#, refused);
        check(r#"{"name": "shop", "retentionDays": 40000}"#, refused);
    }

    #[test]
    fn ids_fit_into_a_url() {
        let refused = Err("project: a project id is 1 to 64 of a-z A-Z 0-9 - _");
        check(r#"{"name": "shop", "id": "a/b"}"#, refused);
    }
}
