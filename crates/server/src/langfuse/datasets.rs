use axum::Json;
use axum::extract::{Query, State};
use ratchet_core::catalog::dataset::check_name;
use ratchet_core::issue::Issue;
use ratchet_core::json_schema::Schema;
use ratchet_core::payload::Json as JsonText;
use ratchet_remote::langfuse::wire::dataset::{CreateDataset, DatasetView};
use ratchet_remote::langfuse::wire::json::{Raw, raw};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_store::catalog::{Dataset, FieldUpdate, NewDataset};
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::{LongJsonFields, kept};
use super::params::{PageParams, Params, meta};
use super::path::PathOf;
use crate::app::App;
use crate::auth::{Caller, Member, Reader};
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create)).routes(routes!(show))
}

/// `GET /api/public/v2/datasets`: datasets, newest first.
#[utoipa::path(
    get,
    path = "/api/public/v2/datasets",
    tag = "Datasets",
    params(PageParams),
    responses((status = 200, body = Paged<DatasetView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<DatasetView>>> {
    let page = params.page();
    params.finish()?;
    let found = app.store.catalog.datasets(caller.project.clone(), page).await?;
    let data = found.rows.into_iter().map(|dataset| view(dataset, &caller.project)).collect();
    Ok(Json(Paged { data, meta: meta(page, found.total) }))
}

/// `GET /api/public/v2/datasets/{name}`: one dataset, without its items.
#[utoipa::path(
    get,
    path = "/api/public/v2/datasets/{name}",
    tag = "Datasets",
    params(("name" = String, Path, description = "The dataset's name; slashes are encoded.")),
    responses((status = 200, body = DatasetView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(name): PathOf<String>,
) -> ApiResult<Json<DatasetView>> {
    Ok(Json(view(find(&app, &caller.project, name).await?, &caller.project)))
}

/// `POST /api/public/v2/datasets`: creates a dataset, or changes the one of this name.
#[utoipa::path(
    post,
    path = "/api/public/v2/datasets",
    tag = "Datasets",
    request_body = CreateDataset,
    responses((status = 200, body = DatasetView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    sent: LongJsonFields<CreateDataset>,
) -> ApiResult<Json<DatasetView>> {
    Ok(Json(save(&app, &caller, sent).await?))
}

/// Creates a dataset, or changes the one of its name.
///
/// # Errors
/// Fails if the request is invalid, or if existing items do not match a new schema.
pub(super) async fn save(
    app: &App,
    caller: &Caller,
    sent: LongJsonFields<CreateDataset>,
) -> ApiResult<DatasetView> {
    let (new, project) = (sent.read(app, read_new).await?, caller.project.clone());
    let dataset = caller.catalog(app).save_dataset(project, new, app.clock.now()).await?;
    Ok(view(dataset, &caller.project))
}

/// The dataset of a name.
///
/// # Errors
/// 404 if there is none.
pub(super) async fn find(app: &App, project: &ProjectId, name: String) -> ApiResult<Dataset> {
    let catalog = &app.store.catalog;
    let mut found = catalog.dataset(project.clone(), name.clone()).await?;
    if found.is_none()
        && let Some(decoded) = decoded(&name)
    {
        found = catalog.dataset(project.clone(), decoded).await?;
    }
    found.ok_or_else(|| ApiError::NotFound(format!("Dataset {name} not found")))
}

/// A name that was URL-encoded twice, as version 2 of the Python SDK does in query strings.
fn decoded(name: &str) -> Option<String> {
    let uri = format!("/?name={name}").parse().ok().filter(|_| name.contains('%'))?;
    let Query(pairs): Query<Vec<(String, String)>> = Query::try_from_uri(&uri).ok()?;
    pairs.into_iter().next().map(|(_, decoded)| decoded)
}

fn read_new(sent: CreateDataset) -> ApiResult<NewDataset> {
    check_name(&sent.name).map_err(|why| refused("name", why.to_string()))?;
    Ok(NewDataset {
        name: sent.name,
        description: sent.description,
        metadata: kept("metadata", sent.metadata)?,
        input_schema: read_schema("inputSchema", sent.input_schema)?,
        expected_output_schema: read_schema("expectedOutputSchema", sent.expected_output_schema)?,
    })
}

fn read_schema(field: &str, sent: Maybe<Raw>) -> ApiResult<FieldUpdate<JsonText>> {
    let sent = match sent {
        Maybe::Absent => return Ok(FieldUpdate::Keep),
        Maybe::Null => return Ok(FieldUpdate::Clear),
        Maybe::Value(sent) => sent,
    };
    let Some(json) = kept(field, Some(sent))? else { return Ok(FieldUpdate::Clear) };
    Schema::read(&json).map_err(|why| refused(field, why.to_string()))?;
    Ok(FieldUpdate::Set(json))
}

fn refused(field: &str, why: String) -> ApiError {
    ApiError::InvalidFields(vec![Issue::at(field, why)])
}

/// The response form of a dataset.
pub(super) fn view(dataset: Dataset, project: &ProjectId) -> DatasetView {
    DatasetView {
        id: dataset.id,
        name: dataset.name,
        description: dataset.description,
        metadata: dataset.metadata.as_ref().map(raw),
        input_schema: dataset.schemas.input.as_ref().map(raw),
        expected_output_schema: dataset.schemas.expected_output.as_ref().map(raw),
        project_id: project.to_string(),
        created_at: dataset.created_at.into(),
        updated_at: dataset.updated_at.into(),
    }
}
