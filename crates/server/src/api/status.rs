use axum::Json;
use axum::extract::State;
use ratchet_stages::record::clock;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::auth::Administrator;
use crate::error::ApiResult;
use crate::health::VERSION;

/// Status of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The server's version.
    pub version: String,
    /// The server's clock, RFC 3339.
    pub now: String,
    /// Number of projects.
    pub projects: usize,
    /// Batches in the write queue.
    pub queue_depth: u64,
    /// Observations written since the start of the server.
    pub observations_since_start: u64,
    /// Bytes of telemetry on disk.
    pub telemetry_bytes: u64,
    /// Free bytes on the disk of the data folder; null if unknown.
    pub disk_free: Option<u64>,
    /// The disk reserve in bytes: recording stops when less is free.
    pub disk_reserve: Option<u64>,
    /// Why retention is paused, and what to do; null while it is not.
    pub retention_paused: Option<String>,
}

/// `GET /api/v1/status`: the status of the server.
#[utoipa::path(
    get,
    path = "/api/v1/status",
    tag = "Server",
    responses((status = 200, body = StatusView))
)]
pub(super) async fn show(State(app): State<App>, _: Administrator) -> ApiResult<Json<StatusView>> {
    let projects = app.store.catalog.projects().await?.len();
    let stats = app.store.stats();
    let space = app.store.space();
    let hold = clock::held(&app.store, app.clock.now()).await?;
    Ok(Json(StatusView {
        version: VERSION.to_owned(),
        now: app.clock.now().to_string(),
        projects,
        queue_depth: stats.queue_depth,
        observations_since_start: stats.observations,
        telemetry_bytes: stats.telemetry_bytes,
        disk_free: space.map(|space| space.free),
        disk_reserve: space.map(|space| space.reserve),
        retention_paused: hold.map(|hold| hold.to_string()),
    }))
}

/// A confirmation of the server's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfirmedClockView {
    /// The server's clock, RFC 3339.
    pub now: String,
}

/// `POST /api/v1/confirm-clock`: confirms that the server's clock is right, which resumes
/// retention.
#[utoipa::path(
    post,
    path = "/api/v1/confirm-clock",
    tag = "Server",
    responses((status = 200, body = ConfirmedClockView))
)]
pub(super) async fn confirm_clock(
    State(app): State<App>,
    _: Administrator,
) -> ApiResult<Json<ConfirmedClockView>> {
    let now = app.clock.now();
    clock::confirm(&app.store, now).await?;
    app.request_sweep();
    Ok(Json(ConfirmedClockView { now: now.to_string() }))
}
