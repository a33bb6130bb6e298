//! Ratchet's own API, `/api/v1/…`, one file per resource. Every route but those of media, reports,
//! suggestions, proposals, agents, gates, promotions, review metrics, experiments, chats and notifications needs an owner's
//! key with the permission for it.
//!
//! An administrator's key has access to the whole server, not only to its project: it may create
//! keys for every project anyway.

mod path;
mod query;
pub mod status;
/// Projects and retention.
pub mod projects;
pub mod keys;
pub mod users;
/// Redaction rules.
pub mod redaction;
/// CORS origins.
pub mod origins;
pub mod audit;
/// Streamed backups.
pub mod backup;
/// The tar format of backups.
pub mod tar;
/// Media upload and download by signed URL.
pub mod media;
/// Weekly reports and suggestions.
pub mod reports;
pub mod schedules;
/// Weekly review metrics.
pub mod rebalancing;
pub mod review_metrics;
/// Jobs of the queue, and dead letters.
pub mod jobs;
/// Agents of a project.
pub mod agents;
/// Decisions of gates on runs.
pub mod gates;
/// Promotions of agent versions.
pub mod promotions;
/// The backlog of proposals.
pub mod proposals;
/// Weekly documents of agents.
pub mod feedback_reports;
/// Online evaluators: state, tests and backfills.
pub mod evaluators;
/// Runs of experiments, and their trials for runners.
pub mod experiments;
/// Targets of experiments that the server runs by itself.
mod targets;
/// Messages to targets of the server.
mod target_turns;
/// Reclaims disk space.
pub mod compact;
/// Chats with agents that the server runs.
pub mod chats;
/// Webhooks and browser push.
pub mod notifications;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

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
        // Not in the API description: clients get the whole URL.
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
        .routes(routes!(review_metrics::week))
        .routes(routes!(review_metrics::months))
        .routes(routes!(rebalancing::propose))
        .routes(routes!(schedules::list))
        .routes(routes!(schedules::save, schedules::remove))
        .routes(routes!(schedules::switch))
        .routes(routes!(schedules::runs, schedules::run))
        .routes(routes!(evaluators::list))
        .routes(routes!(evaluators::show))
        .routes(routes!(evaluators::switch))
        .routes(routes!(evaluators::test))
        .routes(routes!(evaluators::backfill))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::discard))
        .routes(routes!(jobs::retry))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show, agents::save, agents::delete))
        .routes(routes!(gates::list, gates::create))
        .routes(routes!(gates::plan))
        .routes(routes!(gates::answers))
        .routes(routes!(gates::show))
        .routes(routes!(compact::run))
        .merge(promotions::routes())
        .merge(proposals::routes())
        .merge(feedback_reports::routes())
        .merge(experiments::routes())
        .merge(targets::routes())
        .merge(target_turns::routes())
        .merge(chats::routes())
        .merge(notifications::routes())
}
