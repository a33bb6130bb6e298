use axum::Json;
use axum::extract::State;
use ratchet_store::CompactReport;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::auth::Administrator;
use crate::error::ApiResult;

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactView {
    /// Bytes on disk before.
    pub bytes_before: u64,
    /// Bytes on disk after.
    pub bytes_after: u64,
}

impl From<CompactReport> for CompactView {
    fn from(report: CompactReport) -> Self {
        Self { bytes_before: report.bytes_before, bytes_after: report.bytes_after }
    }
}

/// `POST /api/v1/compact`: reclaims disk space.
#[utoipa::path(
    post,
    path = "/api/v1/compact",
    tag = "Server",
    responses((status = 200, body = CompactView))
)]
pub(super) async fn run(State(app): State<App>, _: Administrator) -> ApiResult<Json<CompactView>> {
    Ok(Json(app.store.compact().await?.into()))
}
