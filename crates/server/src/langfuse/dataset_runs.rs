/// The runs of a page.
mod run_writer;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ratchet_core::catalog::dataset::{DatasetStatus, check_name, run_id};
use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata};
use ratchet_core::id::{Id, ObservationId, TraceId};
use ratchet_core::issue::Issue;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dataset_run::{
    CreateDatasetRunItem, DatasetRunItemView, DatasetRunItems, DatasetRunView, DatasetRunWithItems,
};
use ratchet_remote::langfuse::wire::json::raw;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::trace::Deleted;
use ratchet_stages::record;
use ratchet_store::catalog::{Dataset, DatasetItem};
use ratchet_store::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, RunQuery, StoredExperimentItem,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Detail, PageNumber, Paging, TimeRange};
use ratchet_store::telemetry::Batch;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::run_writer::RunWriter;
use super::json_fields::{JsonFields, kept};
use super::params::{PageParams, Params, meta};
use super::path::PathOf;
use super::{dataset_items, datasets, page_stream, response};
use crate::app::App;
use crate::auth::{Member, Reader, Recorder};
use crate::error::{ApiError, ApiResult};

/// Rows fetched at a time for a whole list.
const SLICE: u64 = 1_000;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(show, remove))
        .routes(routes!(items, create))
}

/// `GET /api/public/datasets/{name}/runs`: the runs of a dataset, newest first.
#[utoipa::path(
    get,
    path = "/api/public/datasets/{name}/runs",
    tag = "Datasets",
    params(("name" = String, Path, description = "The dataset's name."), PageParams),
    responses((status = 200, body = Paged<DatasetRunView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(name): PathOf<String>,
    mut params: Params,
) -> ApiResult<Response> {
    let page = params.page();
    params.finish()?;
    let dataset = datasets::find(&app, &caller.project, name).await?;
    let query = RunQuery {
        project: caller.project.clone(),
        dataset: dataset.id.clone(),
        name: None,
        paging: Paging::Numbered(page),
    };
    let found = app.store.telemetry.runs(query).await?;
    let empty = Paged::<DatasetRunView> { data: Vec::new(), meta: meta(page, found.total) };
    let writer = RunWriter { app: app.clone(), project: caller.project, dataset };
    page_stream::respond(app, writer, found.rows, empty).await
}

/// `GET /api/public/datasets/{name}/runs/{run}`: one run with all its items, newest first.
#[utoipa::path(
    get,
    path = "/api/public/datasets/{name}/runs/{run}",
    tag = "Datasets",
    params(
        ("name" = String, Path, description = "The dataset's name."),
        ("run" = String, Path, description = "The run's name."),
    ),
    responses((status = 200, body = DatasetRunWithItems))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf((name, run)): PathOf<(String, String)>,
) -> ApiResult<Json<DatasetRunWithItems>> {
    let dataset = datasets::find(&app, &caller.project, name).await?;
    let run = find(&app, &caller.project, &dataset.id, run).await?;
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let paging = Paging::After { cursor, limit: SLICE };
        let query = items_of(&caller.project, &run.id, paging);
        let slice = app.store.telemetry.experiment_items(query).await?;
        items.extend(slice.rows.into_iter().map(item_view));
        cursor = slice.cursor;
        if cursor.is_none() {
            break;
        }
    }
    let content = DatasetRunItems { dataset_run_items: items };
    Ok(Json(DatasetRunWithItems { run: view(run, &dataset), content }))
}

/// `DELETE /api/public/datasets/{name}/runs/{run}`: deletes a run. The traces stay.
#[utoipa::path(
    delete,
    path = "/api/public/datasets/{name}/runs/{run}",
    tag = "Datasets",
    params(
        ("name" = String, Path, description = "The dataset's name."),
        ("run" = String, Path, description = "The run's name."),
    ),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Member(caller): Member,
    PathOf((name, run)): PathOf<(String, String)>,
) -> ApiResult<Json<Deleted>> {
    let dataset = datasets::find(&app, &caller.project, name).await?;
    let run = find(&app, &caller.project, &dataset.id, run).await?;
    let (project, now) = (caller.project.clone(), app.clock.now());
    let named = (run.id.clone(), run.name.clone());
    caller.catalog(&app).delete_experiment_run(project, named, now).await?;
    app.store.telemetry.delete_experiment(caller.project, run.id).await?;
    Ok(Json(Deleted { message: "Dataset run successfully deleted".to_owned() }))
}

/// `GET /api/public/dataset-run-items`: the items of a run, newest first.
#[utoipa::path(
    get,
    path = "/api/public/dataset-run-items",
    tag = "DatasetRunItems",
    params(
        ("datasetId" = String, Query, description = "The dataset's id."),
        ("runName" = String, Query, description = "The run's name."),
        PageParams,
    ),
    responses((status = 200, body = Paged<DatasetRunItemView>))
)]
pub(super) async fn items(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<DatasetRunItemView>>> {
    let page = params.page();
    let (dataset, run) = (params.required("datasetId"), params.required("runName"));
    params.finish()?;
    let run = find(&app, &caller.project, &dataset, run).await?;
    let query = items_of(&caller.project, &run.id, Paging::Numbered(page));
    let found = app.store.telemetry.experiment_items(query).await?;
    let data = found.rows.into_iter().map(item_view).collect();
    Ok(Json(Paged { data, meta: meta(page, found.total) }))
}

/// `POST /api/public/dataset-run-items`: links an item of a dataset to a trace in a run. Another
/// trace adds another run item; the same request again changes nothing.
#[utoipa::path(
    post,
    path = "/api/public/dataset-run-items",
    tag = "DatasetRunItems",
    request_body = CreateDatasetRunItem,
    responses((status = 200, body = DatasetRunItemView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Recorder(caller): Recorder,
    JsonFields(sent): JsonFields<CreateDatasetRunItem>,
) -> ApiResult<Json<DatasetRunItemView>> {
    check_name(&sent.run_name).map_err(|why| refused("runName", why.to_string()))?;
    let (project, item) = (caller.project.clone(), sent.dataset_item_id.clone());
    let as_of = sent.dataset_version.map(|Time(as_of)| as_of);
    let item = app.store.catalog.dataset_item(project, item, as_of).await?;
    let item = item.filter(|item| item.status == DatasetStatus::Active);
    let item = item.ok_or_else(|| dataset_items::missing(&sent.dataset_item_id))?;
    let (trace, observation) = place(&app, &caller.project, &sent).await?;
    let now = app.clock.now();
    let tried = tried(&caller.project, (sent, item), (trace, observation), now)?;
    let (experiment, trace) = (tried.experiment.id.clone(), tried.trace.clone());
    let wanted = tried.clone();
    let batch = Batch { experiment_items: vec![tried], ..Batch::new(caller.project.clone(), now) };
    let (telemetry, catalog) = (&app.store.telemetry, &app.store.catalog);
    record::write(telemetry, catalog, batch, app.settings.limits.text_bytes).await?;
    let first = PageNumber { page: 1, limit: SLICE };
    let mut query = items_of(&caller.project, &experiment, Paging::Numbered(first));
    query.items = vec![wanted.item.clone()];
    let kept = app.store.telemetry.experiment_items(query).await?.rows.into_iter();
    let is_it = |kept: &StoredExperimentItem| {
        kept.trace == trace && wanted.is_same_try(&kept.item, kept.observation.as_ref())
    };
    let kept = kept.filter(is_it).map(item_view).next();
    kept.map(Json).ok_or_else(|| ApiError::internal("a run item is missing after it was written"))
}

/// The run of a dataset by name.
async fn find(
    app: &App,
    project: &ProjectId,
    dataset: &str,
    name: String,
) -> ApiResult<Experiment> {
    let missing = ApiError::NotFound(format!("Dataset run {name} not found"));
    let query = RunQuery {
        project: project.clone(),
        dataset: dataset.to_owned(),
        name: Some(name),
        paging: Paging::After { cursor: None, limit: 1 },
    };
    app.store.telemetry.runs(query).await?.rows.pop().ok_or(missing)
}

fn items_of(project: &ProjectId, experiment: &str, paging: Paging) -> ExperimentItemQuery {
    let of = ExperimentQuery {
        project: project.clone(),
        range: TimeRange::default(),
        ids: vec![experiment.to_owned()],
        names: Vec::new(),
        datasets: Vec::new(),
        paging,
    };
    ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Row }
}

/// The trace and the observation; old clients send only the observation.
async fn place(
    app: &App,
    project: &ProjectId,
    sent: &CreateDatasetRunItem,
) -> ApiResult<(TraceId, Option<ObservationId>)> {
    let observation = read_id("observationId", sent.observation_id.as_deref())?;
    if let Some(trace) = read_id("traceId", sent.trace_id.as_deref())? {
        return Ok((trace, observation));
    }
    let Some(observation) = observation else {
        return Err(refused("traceId", "traceId or observationId is required".to_owned()));
    };
    let found = app.store.telemetry.observation(project.clone(), observation.clone()).await?;
    let found = found.ok_or_else(|| response::not_found(&format!("Observation {observation}")))?;
    Ok((found.trace, Some(observation)))
}

fn read_id<Of>(field: &str, text: Option<&str>) -> ApiResult<Option<Id<Of>>> {
    let read = text.map(Id::parse).transpose();
    read.map_err(|why| refused(field, why.to_string()))
}

fn tried(
    project: &ProjectId,
    (sent, item): (CreateDatasetRunItem, DatasetItem),
    (trace, observation): (TraceId, Option<ObservationId>),
    now: Timestamp,
) -> ApiResult<ExperimentItem> {
    Ok(ExperimentItem {
        experiment: ExperimentMetadata {
            id: run_id(project.as_str(), &item.dataset, &sent.run_name),
            name: Some(sent.run_name),
            description: sent.run_description,
            metadata: kept("metadata", sent.metadata)?,
            dataset: Some(item.dataset),
        },
        item: item.id,
        version: Some(item.valid_from),
        expected_output: item.expected_output,
        metadata: item.metadata,
        trace,
        observation,
        ran: None,
        recorded_at: sent.created_at.map_or(now, |Time(at)| at),
    })
}

fn refused(field: &str, why: String) -> ApiError {
    ApiError::InvalidFields(vec![Issue::at(field, why)])
}

fn view(run: Experiment, dataset: &Dataset) -> DatasetRunView {
    DatasetRunView {
        id: run.id,
        name: run.name,
        description: run.description,
        metadata: run.metadata.as_ref().map(raw),
        dataset_id: dataset.id.clone(),
        dataset_name: dataset.name.clone(),
        created_at: run.created_at.into(),
        updated_at: run.updated_at.into(),
    }
}

fn item_view(item: StoredExperimentItem) -> DatasetRunItemView {
    DatasetRunItemView {
        id: item.id,
        dataset_run_id: item.experiment.id,
        dataset_run_name: item.experiment.name,
        dataset_item_id: item.item,
        trace_id: item.trace.to_string(),
        observation_id: item.observation.as_ref().map(ToString::to_string),
        created_at: item.created_at.into(),
        updated_at: item.updated_at.into(),
    }
}
