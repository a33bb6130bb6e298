use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::time::Duration;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// The version of this server, as clients see it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
pub(crate) struct HealthView {
    status: &'static str,
    version: &'static str,
}

const OK: HealthView = HealthView { status: "OK", version: VERSION };

/// `GET /api/public/health`: the process answers.
pub(crate) async fn health() -> Json<HealthView> {
    Json(OK)
}

/// `GET /api/public/ready`: requests will be served, not only answered.
pub(crate) async fn ready(State(app): State<App>) -> ApiResult<Json<HealthView>> {
    if app.is_closing() {
        return Err(ApiError::Unavailable {
            why: "the server is shutting down".to_owned(),
            retry_after: Duration::from_secs(5),
        });
    }
    app.store.catalog.projects().await?;
    Ok(Json(OK))
}
