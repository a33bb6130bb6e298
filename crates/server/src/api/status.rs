use axum::Json;
use axum::extract::State;
use ratchet_stages::record::clock;
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
    /// Bytes that are free on the disk of the data folder; null where it does not say.
    pub disk_free: Option<u64>,
    /// Bytes that are kept free there: recording stops when fewer are left.
    pub disk_reserve: Option<u64>,
    /// Why nothing is deleted by its age, and what to do; null as long as it is.
    pub retention_paused: Option<String>,
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

/// A time that a person vouches for, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfirmedClockView {
    /// The server's clock, RFC 3339.
    pub now: String,
}

/// `POST /api/v1/confirm-clock`: the server's clock is right, and what is too old by it may go.
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
    app.sweep_soon();
    Ok(Json(ConfirmedClockView { now: now.to_string() }))
}
