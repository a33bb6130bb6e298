//! Ratchet's own API, `/api/v1/…`, one file per resource. Every route but those of media, reports,
//! suggestions, chats and notifications needs an owner's key.
//!
//! An owner's key opens the whole server, not only its project: whoever may make keys for other
//! projects could let themselves in anyway.

mod path;
mod query;
pub mod status;
/// Projects and how long they keep telemetry.
pub mod projects;
pub mod keys;
pub mod users;
/// What must not be kept.
pub mod redaction;
/// Whose web pages may call.
pub mod origins;
pub mod audit;
/// A consistent copy of all data, as a stream.
pub mod backup;
/// The container that copy comes in.
pub mod tar;
/// The bytes of media, behind signed links.
pub mod media;
/// What weeks of scored sessions say.
pub mod reports;
pub mod schedules;
/// Giving freed disk space back.
pub mod compact;
pub mod chats;
/// Who is told when a turn ends or a person is needed.
pub mod notifications;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// The routes of this API.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(status::show))
        .routes(routes!(status::confirm_clock))
        .routes(routes!(projects::list, projects::create))
        .routes(routes!(projects::set_retention))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::revoke))
        .routes(routes!(keys::permit))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::set_password))
        .routes(routes!(users::remove))
        // Not described: whoever may follow such a link is given it whole.
        .routes(routes!(media::upload, media::download))
        .routes(routes!(origins::show, origins::set))
        .routes(routes!(redaction::list, redaction::add))
        .routes(routes!(redaction::test))
        .routes(routes!(redaction::remove))
        .routes(routes!(redaction::presets))
        .routes(routes!(audit::of_project))
        .routes(routes!(audit::of_server))
        .routes(routes!(backup::create))
        .routes(routes!(reports::list))
        .routes(routes!(reports::show, reports::keep))
        .routes(routes!(reports::suggestions))
        .routes(routes!(reports::decide))
        .routes(routes!(schedules::list))
        .routes(routes!(schedules::save, schedules::remove))
        .routes(routes!(schedules::switch))
        .routes(routes!(schedules::runs, schedules::run))
        .routes(routes!(compact::run))
        .merge(chats::routes())
        .merge(notifications::routes())
}
