use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::auth::Administrator;
use crate::error::ApiResult;
use crate::health::VERSION;

/// How the server is, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The server's version.
    pub version: String,
    /// The server's clock, RFC 3339.
    pub now: String,
    /// How many projects it holds.
    pub projects: usize,
    /// Batches waiting to be written.
    pub queue_depth: u64,
    /// Observations written since it started.
    pub observations_since_start: u64,
    /// Bytes of telemetry on disk.
    pub telemetry_bytes: u64,
}

/// `GET /api/v1/status`: how the server is.
#[utoipa::path(
    get,
    path = "/api/v1/status",
    tag = "Server",
    responses((status = 200, body = StatusView))
)]
pub(super) async fn show(State(app): State<App>, _: Administrator) -> ApiResult<Json<StatusView>> {
    let projects = app.store.catalog.projects().await?.len();
    let stats = app.store.stats();
    Ok(Json(StatusView {
        version: VERSION.to_owned(),
        now: app.clock.now().to_string(),
        projects,
        queue_depth: stats.queue_depth,
        observations_since_start: stats.observations,
        telemetry_bytes: stats.telemetry_bytes,
    }))
}
