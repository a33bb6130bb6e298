//! Langfuse's public API, `/api/public/…`, one file per resource.
//!
//! Ids may hold slashes. Clients should encode them, but some do not, so a resource's id is the
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
/// From a body to the disk.
mod record;
/// From records to an answer.
mod response;
mod ingestion;
/// Traces and observations one at a time, as the oldest clients write them.
mod legacy_writes;
/// Scores: sent without a batch, read, deleted.
mod scores;
/// What scores must look like.
mod score_configs;
/// What users say about the product.
mod feedback;
/// The project a key opens.
mod projects;
mod traces;
mod observations;
/// Observations, a group of fields at a time.
mod observations_v2;
mod metrics;
mod sessions;
mod prompts;
/// Prompts in an older form.
mod prompts_v1;
mod skills;
/// Which prompt versions observations used.
mod prompt_ids;
mod media;
mod queues;
mod comments;
mod datasets;
mod dataset_items;
/// Datasets in an older form.
mod datasets_v1;
mod dataset_runs;
mod experiments;
/// Models and what they cost.
mod models;
mod llm_connections;
/// The keys of a project.
mod api_keys;
/// The server as a whole: projects, keys and people.
mod organizations;
/// Definitions that are kept whole.
mod documents;
mod widgets;
mod dashboards;
/// What both families of routes for evaluators and rules share.
mod evaluation;
/// How to score, with versions.
mod evaluators;
/// The same in an older form.
mod evaluators_v1;
/// What to score, and with what.
mod evaluation_rules;
/// The same in an older form.
mod evaluation_rules_v1;

/// The routes of this API.
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
