//! Experiments, recorded by spans or by an older client.

/// Query parameters and field groups.
mod query;

use axum::Json;
use axum::extract::State;
use ratchet_core::catalog::experiment::TimeSpan;
use ratchet_core::payload::Json as JsonText;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_core::record::trace::Content;
use ratchet_remote::langfuse::wire::experiment::{
    ExperimentItemView, ExperimentItems, ExperimentView, Experiments, ExperimentsMeta,
};
use ratchet_remote::langfuse::wire::json::{Raw, object, payload, raw};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::score::v3::TypedScore;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_store::experiment::{ExperimentSummary, Outcome, StoredExperimentItem};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{PageNumber, Paging, ScoreQuery, ScoresOn, TimeRange};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::query::{Group, ItemGroup, SliceParams};
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
) -> ApiResult<Json<ExperimentItems>> {
    let asked = query::items(caller.project.clone(), params)?;
    let found = app.store.telemetry.experiment_items(asked.query).await?;
    let mut data = Vec::with_capacity(found.rows.len());
    for item in &found.rows {
        let mut view = item_view(item, &asked.groups);
        if asked.groups.contains(&ItemGroup::Scores) {
            let on = ScoresOn::Trace(item.trace.clone());
            let scores = scores(&app, &caller.project, on, MAX_SCORES_OF_TRACE).await?;
            let ours = scores.iter().filter(|score| is_on(score, item));
            let limit = usize::try_from(asked.score_limit).unwrap_or(usize::MAX);
            view.scores =
                Some(ours.take(limit).map(|score| typed(score, &caller.project)).collect());
        }
        data.push(view);
    }
    Ok(Json(ExperimentItems { data, meta: ExperimentsMeta { cursor: found.cursor } }))
}

/// Maximum number of a trace's scores that are searched for those of one item.
const MAX_SCORES_OF_TRACE: u64 = 1_000;

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

/// Whether a score is on the item's observation or on its whole trace.
fn is_on(score: &Score, item: &StoredExperimentItem) -> bool {
    match &score.target {
        ScoreTarget::Trace(_) => true,
        ScoreTarget::Observation(_, observation) => item.observation.as_ref() == Some(observation),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => false,
    }
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

fn item_view(item: &StoredExperimentItem, groups: &[ItemGroup]) -> ExperimentItemView {
    let target = ItemTarget::of(item);
    let experiment = &item.experiment;
    let content = target.content;
    let with = |group: ItemGroup, json: Option<Raw>| {
        if groups.contains(&group) { Maybe::or_null(json) } else { Maybe::Absent }
    };
    let with_dataset = groups.contains(&ItemGroup::Dataset);
    let with_experiment = groups.contains(&ItemGroup::ExperimentMetadata);
    let input = content.and_then(|content| content.input.as_ref()).map(payload);
    let output = content.and_then(|content| content.output.as_ref()).map(payload);
    ExperimentItemView {
        id: item.observation.as_ref().map_or_else(|| item.trace.to_string(), ToString::to_string),
        trace_id: item.trace.to_string(),
        start_time: target.ran.map_or(item.created_at, |ran| ran.start).into(),
        end_time: target.ran.map(|ran| ran.end.into()),
        level: WireName(target.level),
        environment: target.environment,
        experiment_id: experiment.id.clone(),
        experiment_name: experiment.name.clone(),
        experiment_item_id: item.item.clone(),
        experiment_dataset_id: maybe(with_dataset, experiment.dataset.clone()),
        experiment_item_version: maybe(with_dataset, item.version.map(Time)),
        input: with(ItemGroup::Io, input),
        output: with(ItemGroup::Io, output),
        expected_output: with(ItemGroup::Io, item.expected_output.as_ref().map(raw)),
        metadata: with(ItemGroup::Metadata, content.map(|content| object(&content.metadata))),
        experiment_item_metadata: with(
            ItemGroup::ItemMetadata,
            item.metadata.as_ref().and_then(raw_object),
        ),
        experiment_metadata: with(
            ItemGroup::ExperimentMetadata,
            experiment.metadata.as_ref().and_then(raw_object),
        ),
        experiment_description: maybe(with_experiment, experiment.description.clone()),
        scores: None,
    }
}

fn maybe<T>(is_asked: bool, value: Option<T>) -> Maybe<T> {
    if is_asked { Maybe::or_null(value) } else { Maybe::Absent }
}

/// Metadata that is an object; clients read nothing else here.
fn raw_object(json: &JsonText) -> Option<Raw> {
    json.as_str().trim_ascii_start().starts_with('{').then(|| raw(json))
}

/// The trace or observation of an item, with its level.
struct ItemTarget<'a> {
    ran: Option<TimeSpan>,
    level: Level,
    environment: String,
    content: Option<&'a Content>,
}

impl<'a> ItemTarget<'a> {
    fn of(item: &'a StoredExperimentItem) -> Self {
        match &item.outcome {
            Some(Outcome::Step(step)) => {
                let end = step.end.unwrap_or(step.start);
                Self {
                    ran: item.ran.or(Some(TimeSpan { start: step.start, end })),
                    level: step.level,
                    environment: step.environment.to_string(),
                    content: step.content.as_ref(),
                }
            }
            Some(Outcome::Run(run)) => Self {
                ran: item.ran,
                level: Level::default(),
                environment: run.environment.to_string(),
                content: run.content.as_ref(),
            },
            None => Self {
                ran: item.ran,
                level: Level::default(),
                environment: ratchet_core::environment::Environment::default().to_string(),
                content: None,
            },
        }
    }
}
