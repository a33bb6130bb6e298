//! Datasets in the first version of the API, with their items and runs by name. Version 3 of the
//! JavaScript SDK still uses it.

use axum::Json;
use axum::extract::State;
use ratchet_remote::langfuse::wire::dataset::{
    CreateDataset, DatasetNames, DatasetView, DatasetWithNames,
};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_store::experiment::RunQuery;
use ratchet_store::project::ProjectId;
use ratchet_store::query::Paging;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::datasets;
use super::json_fields::LongJsonFields;
use super::params::{PageParams, Params, meta};
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// Runs fetched at a time.
const SLICE: u64 = 1_000;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create))
}

/// `GET /api/public/datasets`: datasets, newest first, each with the ids of its items and the names
/// of its runs.
#[utoipa::path(
    get,
    path = "/api/public/datasets",
    tag = "Datasets",
    params(PageParams),
    responses((status = 200, body = Paged<DatasetWithNames>))
)]
async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<DatasetWithNames>>> {
    let page = params.page();
    params.finish()?;
    let found = app.store.catalog.datasets(caller.project.clone(), page).await?;
    let mut data = Vec::with_capacity(found.rows.len());
    for dataset in found.rows {
        let dataset = datasets::view(dataset, &caller.project);
        data.push(with_names(&app, &caller.project, dataset).await?);
    }
    Ok(Json(Paged { data, meta: meta(page, found.total) }))
}

/// `POST /api/public/datasets`: creates a dataset, or changes the one of this name.
#[utoipa::path(
    post,
    path = "/api/public/datasets",
    tag = "Datasets",
    request_body = CreateDataset,
    responses((status = 200, body = DatasetWithNames))
)]
async fn create(
    State(app): State<App>,
    Member(caller): Member,
    sent: LongJsonFields<CreateDataset>,
) -> ApiResult<Json<DatasetWithNames>> {
    let dataset = datasets::save(&app, &caller, sent).await?;
    Ok(Json(with_names(&app, &caller.project, dataset).await?))
}

async fn with_names(
    app: &App,
    project: &ProjectId,
    dataset: DatasetView,
) -> ApiResult<DatasetWithNames> {
    let items = app.store.catalog.dataset_item_ids(project.clone(), dataset.id.clone()).await?;
    let mut runs = Vec::new();
    let mut cursor = None;
    loop {
        let query = RunQuery {
            project: project.clone(),
            dataset: dataset.id.clone(),
            name: None,
            paging: Paging::After { cursor, limit: SLICE },
        };
        let slice = app.store.telemetry.runs(query).await?;
        runs.extend(slice.rows.into_iter().map(|run| run.name));
        cursor = slice.cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(DatasetWithNames { dataset, content: DatasetNames { items, runs } })
}
