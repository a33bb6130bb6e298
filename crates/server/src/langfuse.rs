//! Langfuse's public API, `/api/public/…`, one file per resource.

use axum::Router;

use crate::app::App;

/// The routes of this API.
pub fn routes() -> Router<App> {
    Router::new()
}
