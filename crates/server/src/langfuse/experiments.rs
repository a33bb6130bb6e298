//! Experiments, recorded by spans or by an older client.

/// The items of a page, however long.
mod item_writer;
/// Query parameters and field groups.
mod query;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ratchet_core::payload::Json as JsonText;
use ratchet_core::record::score::Score;
use ratchet_remote::langfuse::wire::experiment::{
    ExperimentItems, ExperimentView, Experiments, ExperimentsMeta,
};
use ratchet_remote::langfuse::wire::json::{Raw, raw};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::score::v3::TypedScore;
use ratchet_store::experiment::ExperimentSummary;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{PageNumber, Paging, ScoreQuery, ScoresOn, TimeRange};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::item_writer::{ExperimentItemRow, ExperimentItemWriter};
use self::query::{Group, SliceParams};
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
) -> ApiResult<Json<Experiments>> {
    let asked = query::experiments(caller.project.clone(), params)?;
    let found = app.store.telemetry.experiments(asked.query).await?;
    let mut data = Vec::with_capacity(found.rows.len());
    for summary in found.rows {
        let mut view = view(&summary, &asked.groups);
        if asked.groups.contains(&Group::Scores) {
            let on = ScoresOn::DatasetRun(summary.experiment.id);
            let scores = scores(&app, &caller.project, on, asked.score_limit).await?;
            view.scores = Some(scores.iter().map(|score| typed(score, &caller.project)).collect());
        }
        data.push(view);
    }
    Ok(Json(Experiments { data, meta: ExperimentsMeta { cursor: found.cursor } }))
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

async fn scores(app: &App, project: &ProjectId, on: ScoresOn, limit: u64) -> ApiResult<Vec<Score>> {
    let query = ScoreQuery {
        project: project.clone(),
        range: TimeRange::default(),
        on,
        conditions: Vec::new(),
        paging: Paging::Numbered(PageNumber { page: 1, limit }),
    };
    Ok(app.store.telemetry.scores(query).await?.rows)
}

fn typed(score: &Score, project: &ProjectId) -> TypedScore {
    TypedScore::new(score, project.as_str()).with_details(score).with_subject(score)
}

fn view(summary: &ExperimentSummary, groups: &[Group]) -> ExperimentView {
    let experiment = &summary.experiment;
    let metadata = || Maybe::or_null(experiment.metadata.as_ref().and_then(raw_object));
    ExperimentView {
        id: experiment.id.clone(),
        name: experiment.name.clone(),
        description: experiment.description.clone(),
        start_time: summary.start.into(),
        end_time: summary.end.into(),
        item_count: summary.items,
        dataset_id: experiment.dataset.clone(),
        metadata: if groups.contains(&Group::Metadata) { metadata() } else { Maybe::Absent },
        scores: None,
    }
}

/// Metadata that is an object; clients read nothing else here.
fn raw_object(json: &JsonText) -> Option<Raw> {
    json.as_str().trim_ascii_start().starts_with('{').then(|| raw(json))
}
