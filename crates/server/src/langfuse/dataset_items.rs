/// Items of a page, however long.
mod page;

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ratchet_core::catalog::dataset::{DatasetStatus, check_item_id};
use ratchet_core::id::Id;
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json as JsonText;
use ratchet_core::record::media::reference::{FoundReference, references};
use ratchet_remote::langfuse::wire::dataset::{
    CreateDatasetItem, DatasetItemView, MediaReference, ReferencedMedia,
};
use ratchet_remote::langfuse::wire::json::raw;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::trace::Deleted;
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_store::catalog::{DatasetItem, DatasetItemQuery, NewDatasetItem};
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::page::{DatasetItemWriter, ListedView, PAGE_BYTES};
use super::json_fields::{LongJsonFields, kept};
use super::page_stream;
use super::params::{PageParams, Params, meta};
use super::path::PathOf;
use super::{datasets, response};
use crate::api::media::{Grant, Link};
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::{ApiError, ApiResult};
use crate::origin::Origin;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create)).routes(routes!(show, remove))
}

/// `GET /api/public/dataset-items`: items that are not archived, newest first, now or at a past
/// time.
#[utoipa::path(
    get,
    path = "/api/public/dataset-items",
    tag = "DatasetItems",
    params(
        PageParams,
        ("datasetName" = Option<String>, Query, description = "Name of the dataset."),
        ("sourceTraceId" = Option<String>, Query, description = "Created from this trace."),
        ("sourceObservationId" = Option<String>, Query, description = "Created from this observation."),
        ("version" = Option<Time>, Query, description = "State at this time; requires datasetName."),
    ),
    responses((status = 200, body = Paged<DatasetItemView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    origin: Origin,
    mut params: Params,
) -> ApiResult<Response> {
    let (page, project) = (params.page(), caller.project.clone());
    let mut query = DatasetItemQuery {
        project: caller.project,
        dataset_name: params.text("datasetName"),
        source_trace: params.text("sourceTraceId"),
        source_observation: params.text("sourceObservationId"),
        status: DatasetStatus::Active,
        as_of: params.time("version"),
        page,
    };
    if query.as_of.is_some() && query.dataset_name.is_none() {
        params.report([Issue::at("datasetName", "required where version is given")]);
    }
    params.finish()?;
    if let Some(name) = query.dataset_name.take() {
        query.dataset_name = Some(datasets::find(&app, &query.project, name).await?.name);
    }
    let as_of = query.as_of;
    let found = app.store.catalog.bounded_dataset_items(query, PAGE_BYTES).await?;
    let empty = Paged { data: Vec::<()>::new(), meta: meta(page, found.total) };
    let (cut, whole): (Vec<_>, Vec<_>) = found.rows.into_iter().partition(|one| one.is_cut);
    let whole = whole.into_iter().map(|listed| listed.item).collect();
    let seen = Seen::of(&app, &origin, project.clone(), whole).await?;
    let views = app.workers.run_sized(seen.bytes, move || seen.views()).await?;
    let whole = views.into_iter().map(|view| ListedView::Whole(Box::new(view)));
    let rows = whole.chain(cut.into_iter().map(|listed| ListedView::Cut(listed.item.id)));
    let rows = rows.collect();
    let writer = DatasetItemWriter { app: app.clone(), origin, project, as_of };
    page_stream::respond(app, writer, rows, empty).await
}

/// `GET /api/public/dataset-items/{id}`: one item, archived or not.
#[utoipa::path(
    get,
    path = "/api/public/dataset-items/{id}",
    tag = "DatasetItems",
    params(("id" = String, Path, description = "The item's id.")),
    responses((status = 200, body = DatasetItemView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    origin: Origin,
    PathOf(id): PathOf<String>,
) -> ApiResult<Response> {
    let project = caller.project.clone();
    let found = app.store.catalog.dataset_item(caller.project, id.clone(), None).await?;
    one_view(&app, &origin, project, found.ok_or_else(|| missing(&id))?).await
}

/// `POST /api/public/dataset-items`: creates an item, or a new version of the one with its id.
#[utoipa::path(
    post,
    path = "/api/public/dataset-items",
    tag = "DatasetItems",
    request_body = CreateDatasetItem,
    responses((status = 200, body = DatasetItemView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    origin: Origin,
    sent: LongJsonFields<CreateDatasetItem>,
) -> ApiResult<Response> {
    let new = sent.read(&app, read_new).await?;
    let project = caller.project.clone();
    let item = caller.catalog(&app).save_dataset_item(caller.project, new, app.clock.now()).await?;
    one_view(&app, &origin, project, item).await
}

/// `DELETE /api/public/dataset-items/{id}`: deletes an item and its experiment items.
#[utoipa::path(
    delete,
    path = "/api/public/dataset-items/{id}",
    tag = "DatasetItems",
    params(("id" = String, Path, description = "The item's id.")),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Deleted>> {
    let now = app.clock.now();
    caller.catalog(&app).delete_dataset_item(caller.project.clone(), id.clone(), now).await?;
    app.store.telemetry.forget_item(caller.project, id).await?;
    Ok(Json(Deleted { message: "Dataset item successfully deleted".to_owned() }))
}

/// The error for an unknown item.
pub(super) fn missing(id: &str) -> ApiError {
    ApiError::NotFound(format!("Dataset item {id} not found"))
}

fn read_new(sent: CreateDatasetItem) -> ApiResult<NewDatasetItem> {
    let mut issues = Vec::new();
    let id = sent.id.as_deref().map(check_item_id);
    issues.extend(id.and_then(Result::err).map(|why| Issue::at("id", why.to_string())));
    for (field, id) in [
        ("sourceTraceId", &sent.source_trace_id),
        ("sourceObservationId", &sent.source_observation_id),
    ] {
        let read = id.as_deref().map(Id::<DatasetItem>::parse);
        issues.extend(read.and_then(Result::err).map(|why| Issue::at(field, why.to_string())));
    }
    if !issues.is_empty() {
        return Err(ApiError::InvalidFields(issues));
    }
    Ok(NewDatasetItem {
        dataset_name: sent.dataset_name,
        id: sent.id,
        status: sent.status.map(|WireName(status)| status),
        input: kept("input", sent.input)?,
        expected_output: kept("expectedOutput", sent.expected_output)?,
        metadata: kept("metadata", sent.metadata)?,
        source_trace: sent.source_trace_id,
        source_observation: sent.source_observation_id,
    })
}

async fn one_view(
    app: &App,
    origin: &Origin,
    project: ProjectId,
    item: DatasetItem,
) -> ApiResult<Response> {
    let seen = Seen::of(app, origin, project, vec![item]).await?;
    response::json(app, seen.bytes, move || seen.views().pop()).await
}

/// Items with links to the media that they reference.
struct Seen {
    items: Vec<(DatasetItem, References)>,
    links: BTreeMap<String, ReferencedMedia>,
    /// Approximate bytes.
    bytes: usize,
}

/// The media references in an item's fields.
type References = Vec<(&'static str, FoundReference)>;

impl Seen {
    async fn of(
        app: &App,
        origin: &Origin,
        project: ProjectId,
        items: Vec<DatasetItem>,
    ) -> ApiResult<Self> {
        let bytes = items.iter().flat_map(fields).map(|(_, json)| json.as_str().len()).sum();
        let with_references = move || {
            let found = |item: DatasetItem| (references_of(&item), item);
            items.into_iter().map(found).map(|(found, item)| (item, found)).collect()
        };
        let items: Vec<(DatasetItem, References)> =
            app.workers.run_sized(bytes, with_references).await?;
        let found = items.iter().flat_map(|(_, found)| found);
        let ids = found.map(|(_, reference)| reference.media.clone()).collect();
        let media = app.store.catalog.stored_media(project.clone(), ids).await?;
        let mut links = BTreeMap::new();
        for (id, media) in media {
            let link = Link::new(project.clone(), id.clone(), Grant::Download, app.clock.now());
            let linked = ReferencedMedia {
                media_id: id.clone(),
                content_type: media.content_type.name().to_owned(),
                content_length: media.content_length,
                url: link.url(app, origin)?,
                url_expiry: link.until().into(),
            };
            links.insert(id, linked);
        }
        Ok(Self { items, links, bytes })
    }

    fn views(self) -> Vec<DatasetItemView> {
        let links = self.links;
        let resolved = |(field, reference): (&str, FoundReference)| {
            let media = links.get(&reference.media)?.clone();
            let (reference_string, json_path) = (reference.text, reference.path);
            Some(MediaReference { field: field.to_owned(), reference_string, json_path, media })
        };
        let show = |(item, found): (DatasetItem, References)| {
            view(item, found.into_iter().filter_map(resolved).collect())
        };
        self.items.into_iter().map(show).collect()
    }
}

/// An item's content, by field.
fn fields(item: &DatasetItem) -> impl Iterator<Item = (&'static str, &JsonText)> {
    let fields = [
        ("input", &item.input),
        ("expectedOutput", &item.expected_output),
        ("metadata", &item.metadata),
    ];
    fields.into_iter().filter_map(|(field, json)| Some((field, json.as_ref()?)))
}

fn references_of(item: &DatasetItem) -> References {
    let of_field = |(field, json): (&'static str, &JsonText)| {
        references(json).into_iter().map(move |reference| (field, reference))
    };
    fields(item).flat_map(of_field).collect()
}

fn view(item: DatasetItem, media_references: Vec<MediaReference>) -> DatasetItemView {
    DatasetItemView {
        id: item.id,
        status: WireName(item.status),
        input: item.input.as_ref().map(raw),
        expected_output: item.expected_output.as_ref().map(raw),
        metadata: item.metadata.as_ref().map(raw),
        source_trace_id: item.source_trace,
        source_observation_id: item.source_observation,
        dataset_id: item.dataset,
        dataset_name: item.dataset_name,
        created_at: item.created_at.into(),
        updated_at: item.valid_from.into(),
        media_references,
    }
}
