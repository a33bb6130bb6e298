//! Langfuse's public API, `/api/public/…`, one file per resource.
//!
//! Ids may contain slashes. Clients should encode them, but some do not, so a resource's id is the
//! rest of its path.

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

/// Query strings, with errors that name the parameter.
mod params;
/// The `filter` parameter.
mod filter;
mod path;
/// JSON objects in bodies.
mod json_fields;
mod client;
/// Recording of request bodies.
mod record;
/// What keys with the role reviewer reach.
mod review_scope;
/// JSON responses, which may be long.
mod response;
/// Pages of records whose content may be long.
mod page_stream;
mod ingestion;
/// Single traces and observations, as the oldest clients write them.
mod legacy_writes;
/// Scores: create, read and delete.
mod scores;
mod score_configs;
/// User feedback on the product.
mod feedback;
mod projects;
mod traces;
mod observations;
/// Observations with selected field groups.
mod observations_v2;
pub(crate) mod metrics;
mod sessions;
mod prompts;
/// Prompts, first version of the API.
mod prompts_v1;
mod skills;
/// Prompt versions that observations used.
mod prompt_ids;
mod media;
mod queues;
mod comments;
mod datasets;
mod dataset_items;
/// Datasets, first version of the API.
mod datasets_v1;
mod dataset_runs;
mod experiments;
/// Model definitions and prices.
mod models;
mod llm_connections;
/// The keys of a project.
mod api_keys;
/// The organization: projects, keys and users of the server.
mod organizations;
/// What dashboards, widgets, evaluators and rules share: storage as whole documents.
mod documents;
mod widgets;
mod dashboards;
/// What both versions of the routes for evaluators and rules share.
mod evaluation;
/// Evaluators with versions.
mod evaluators;
/// Evaluators, first version of the API.
mod evaluators_v1;
/// Evaluation rules.
mod evaluation_rules;
/// Evaluation rules, first version of the API.
mod evaluation_rules_v1;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .merge(ingestion::routes())
        .merge(legacy_writes::routes())
        .merge(scores::routes())
        .merge(projects::routes())
        .merge(traces::routes())
        .merge(observations::routes())
        .merge(observations_v2::routes())
        .merge(metrics::routes())
        .merge(sessions::routes())
        .merge(media::routes())
        .merge(queues::routes())
        .merge(comments::routes())
        .merge(models::routes())
        .merge(llm_connections::routes())
        .merge(api_keys::routes())
        .merge(organizations::routes())
        .merge(widgets::routes())
        .merge(dashboards::routes())
        .merge(evaluators::routes())
        .merge(evaluators_v1::routes())
        .merge(evaluation_rules::routes())
        .merge(evaluation_rules_v1::routes())
        .merge(score_configs::routes())
        .merge(feedback::routes())
        .merge(prompts::routes())
        .merge(prompts_v1::routes())
        .merge(skills::routes())
        .merge(datasets::routes())
        .merge(datasets_v1::routes())
        .merge(dataset_items::routes())
        .merge(dataset_runs::routes())
        .merge(experiments::routes())
}
