//! Ratchet's own API, `/api/v1/…`, one file per resource. Every route but those of media needs
//! an owner's key.
//!
//! An owner's key opens the whole server, not only its project: whoever may make keys for other
//! projects could let themselves in anyway.

/// How the server is.
pub mod status;
/// Projects and how long they keep telemetry.
pub mod projects;
/// API keys.
pub mod keys;
/// A consistent copy of all data, as a stream.
pub mod backup;
/// The container that copy comes in.
pub mod tar;
/// The bytes of media, behind signed links.
pub mod media;
/// Giving freed disk space back.
pub mod compact;

use axum::Router;
use axum::routing::{delete, get, post, put};

use crate::app::App;

/// The routes of this API.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/status", get(status::show))
        .route("/api/v1/projects", get(projects::list).post(projects::create))
        .route("/api/v1/projects/{project}/retention", put(projects::set_retention))
        .route("/api/v1/projects/{project}/keys", get(keys::list).post(keys::create))
        .route("/api/v1/projects/{project}/keys/{key}", delete(keys::revoke))
        .route("/api/v1/media/{project}/{media}", put(media::upload).get(media::download))
        .route("/api/v1/backup", post(backup::create))
        .route("/api/v1/compact", post(compact::run))
}
