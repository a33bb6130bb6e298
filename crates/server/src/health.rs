use axum::Json;
use axum::extract::State;
use ratchet_core::id::TraceId;
use ratchet_store::{Store, StoreResult};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of Langfuse whose API this is. Clients choose their routes by it.
pub const LANGFUSE_VERSION: &str = "4.16.0";

/// Health of the server.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HealthView {
    /// `OK`.
    status: &'static str,
    /// The version of Langfuse whose API this is.
    version: &'static str,
    /// The server's own version.
    ratchet_version: &'static str,
}

const OK: HealthView =
    HealthView { status: "OK", version: LANGFUSE_VERSION, ratchet_version: VERSION };

/// `GET /api/public/health`: liveness check.
#[utoipa::path(
    get,
    path = "/api/public/health",
    tag = "Health",
    security(()),
    responses((status = 200, body = HealthView))
)]
pub(crate) async fn health() -> Json<HealthView> {
    Json(OK)
}

/// `GET /api/public/ready`: readiness check.
///
/// 503 gives the reason: the server is shutting down, a database cannot be read, or the disk is so
/// full that recording has stopped.
#[utoipa::path(
    get,
    path = "/api/public/ready",
    tag = "Health",
    security(()),
    responses((status = 200, body = HealthView))
)]
pub(crate) async fn ready(State(app): State<App>) -> ApiResult<Json<HealthView>> {
    if app.is_closing() {
        return Err(not_ready("the server is shutting down"));
    }
    if let Err(error) = read_both(&app.store).await {
        tracing::error!(error.cause = %error, "the store cannot be read");
        return Err(not_ready("the store cannot be read"));
    }
    // Takes a microsecond; pages and deletion still work.
    app.store.check_free_space()?;
    Ok(Json(OK))
}

fn not_ready(why: &str) -> ApiError {
    ApiError::Unavailable { why: why.to_owned(), retry_after: Duration::from_secs(5) }
}

/// Reads from each database.
async fn read_both(store: &Store) -> StoreResult<()> {
    let projects = store.catalog.projects().await?;
    let probe = projects.into_iter().next().zip(TraceId::parse("readiness").ok());
    if let Some((project, nobody)) = probe {
        store.telemetry.trace(project.id, nobody).await?;
    }
    Ok(())
}
