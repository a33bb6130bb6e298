use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use ratchet_store::project::ProjectId;
use serde::Deserialize;
use utoipa::IntoParams;

use super::projects::project_id;
use crate::app::App;
use crate::error::{ApiError, ApiResult};

pub(super) struct PathProject(pub(super) ProjectId);

/// The path parameter that [`PathProject`] reads, for the API description.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ProjectParam {
    /// The project's id.
    project: String,
}

impl FromRequestParts<App> for PathProject {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let held = Path::<ProjectParam>::from_request_parts(parts, app).await;
        let Path(held) = held.map_err(|why| ApiError::Invalid(format!("path: {why}")))?;
        project_id(&held.project).map(Self)
    }
}
