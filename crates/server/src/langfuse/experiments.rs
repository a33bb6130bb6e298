//! Experiments, recorded by spans or by an older client.

/// The experiments of a page, however long their metadata.
mod experiment_writer;
/// The items of a page, however long.
mod item_writer;
/// Query parameters and field groups.
mod query;

use axum::extract::State;
use axum::response::Response;
use ratchet_core::payload::Json as JsonText;
use ratchet_core::record::score::Score;
use ratchet_remote::langfuse::wire::experiment::{ExperimentItems, Experiments, ExperimentsMeta};
use ratchet_remote::langfuse::wire::json::{Raw, raw};
use ratchet_remote::langfuse::wire::score::v3::TypedScore;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Page, Paging, ScoreQuery, ScoresOn, TimeRange};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::experiment_writer::{ExperimentRow, ExperimentWriter};
use self::item_writer::{ExperimentItemRow, ExperimentItemWriter};
use self::query::SliceParams;
use super::page_stream;
use super::params::Params;
use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiResult;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(items))
}

/// `GET /api/public/experiments`: experiments with items in a time range, latest first.
#[utoipa::path(
    get,
    path = "/api/public/experiments",
    tag = "Experiments",
    params(
        ("fields" = Option<String>, Query, description = "Groups of fields, with commas: core, \
          metadata, scores."),
        SliceParams,
        ("id" = Option<String>, Query, description = "Comma-separated ids."),
        ("name" = Option<String>, Query, description = "Comma-separated names."),
        ("datasetId" = Option<String>, Query, description = "Over one of these datasets, with \
          commas."),
        ("filter" = Option<String>, Query, description = "Conditions on id, name and datasetId, \
          as JSON."),
    ),
    responses((status = 200, body = Experiments))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Response> {
    let asked = query::experiments(caller.project.clone(), params)?;
    let found = app.store.telemetry.experiments(asked.query).await?;
    let rows = found.rows.into_iter().map(|summary| ExperimentRow { summary, scores: None });
    let meta = ExperimentsMeta { cursor: found.cursor };
    let writer = ExperimentWriter {
        app: app.clone(),
        project: caller.project,
        groups: asked.groups,
        score_limit: asked.score_limit,
    };
    page_stream::respond(app, writer, rows.collect(), Experiments { data: Vec::new(), meta }).await
}

/// `GET /api/public/experiment-items`: the items of experiments, newest first.
#[utoipa::path(
    get,
    path = "/api/public/experiment-items",
    tag = "Experiments",
    params(
        ("fields" = Option<String>, Query, description = "Groups of fields, with commas: core, \
          dataset, io, metadata, itemMetadata, experimentMetadata, scores."),
        SliceParams,
        ("experimentId" = Option<String>, Query, description = "Of one of these experiments, \
          with commas."),
        ("experimentName" = Option<String>, Query, description = "Of experiments with one of \
          these names, with commas."),
        ("experimentItemId" = Option<String>, Query, description = "One of these items, with \
          commas."),
        ("datasetId" = Option<String>, Query, description = "Over one of these datasets, with \
          commas."),
        ("filter" = Option<String>, Query, description = "Conditions on experimentId, \
          experimentName, experimentItemId and datasetId, as JSON."),
    ),
    responses((status = 200, body = ExperimentItems))
)]
pub(super) async fn items(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Response> {
    let asked = query::items(caller.project.clone(), params)?;
    let found = app.store.telemetry.experiment_items(asked.query).await?;
    let rows =
        found.rows.into_iter().map(|item| ExperimentItemRow { item, scores: None }).collect();
    let meta = ExperimentsMeta { cursor: found.cursor };
    let writer = ExperimentItemWriter {
        app: app.clone(),
        project: caller.project,
        groups: asked.groups,
        score_limit: asked.score_limit,
    };
    page_stream::respond(app, writer, rows, ExperimentItems { data: Vec::new(), meta }).await
}

/// A page of the scores of an experiment or of a trace, newest first.
async fn scores(
    app: &App,
    project: &ProjectId,
    on: ScoresOn,
    (cursor, limit): (Option<String>, u64),
) -> ApiResult<Page<Score>> {
    let query = ScoreQuery {
        project: project.clone(),
        range: TimeRange::default(),
        on,
        conditions: Vec::new(),
        paging: Paging::After { cursor, limit },
    };
    Ok(app.store.telemetry.scores(query).await?)
}

fn typed(score: &Score, project: &ProjectId) -> TypedScore {
    TypedScore::new(score, project.as_str()).with_details(score).with_subject(score)
}

/// Metadata that is an object; clients read nothing else here.
fn raw_object(json: &JsonText) -> Option<Raw> {
    json.as_str().trim_ascii_start().starts_with('{').then(|| raw(json))
}
