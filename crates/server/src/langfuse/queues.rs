use axum::Json;
use axum::extract::State;
use ratchet_core::catalog::annotation::ItemStatus;
use ratchet_core::id::TraceId;
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::queue::{
    AssignmentRequest, AssignmentView, ItemStatusName, QueueItemChange, QueueItemDeleted,
    QueueItemRequest, QueueItemView, QueueRequest, QueueView, Success,
};
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_stages::validation::{Checks, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use ratchet_store::catalog::{NewQueue, NewQueueItem, Queue, QueueId, QueueItem};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use super::params::{self, PageParams, Params};
use super::path::PathOf;
use super::review_scope;
use crate::app::App;
use crate::auth::{Caller, Member, QueueReader, QueueReviewer};
use crate::error::ApiResult;

const MAX_SCORE_CONFIGS: usize = 100;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show))
        .routes(routes!(items, add))
        .routes(routes!(item, change, remove))
        .routes(routes!(assign, unassign))
}

/// `GET /api/public/annotation-queues`: queues, newest first; with a reviewer's key its person's.
#[utoipa::path(
    get,
    path = "/api/public/annotation-queues",
    tag = "AnnotationQueues",
    params(PageParams),
    responses((status = 200, body = Paged<QueueView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    mut params: Params,
) -> ApiResult<Json<Paged<QueueView>>> {
    let page = params.page();
    params.finish()?;
    let (catalog, project) = (&app.store.catalog, caller.project.clone());
    let found = match caller.reviewed_person()? {
        Some(person) => catalog.queues_of_person(project, person.to_owned(), page).await?,
        None => catalog.queues(project, page).await?,
    };
    let data = found.rows.into_iter().map(queue_view).collect();
    Ok(Json(Paged { data, meta: params::meta(page, found.total) }))
}

/// `POST /api/public/annotation-queues`: creates a queue.
#[utoipa::path(
    post,
    path = "/api/public/annotation-queues",
    tag = "AnnotationQueues",
    request_body = QueueRequest,
    responses((status = 200, body = QueueView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(request): JsonFields<QueueRequest>,
) -> ApiResult<Json<QueueView>> {
    let mut checks = Checks::default();
    checks.text("name", &request.name, 1..=MAX_NAME_CHARS);
    let description = request.description.as_deref().unwrap_or_default();
    checks.text("description", description, 0..=MAX_DESCRIPTION_CHARS);
    checks.len("scoreConfigIds", request.score_config_ids.len(), 0..=MAX_SCORE_CONFIGS);
    checks.finish()?;
    let new = NewQueue {
        name: request.name,
        description: request.description,
        score_configs: request.score_config_ids,
    };
    let made = caller.catalog(&app).create_queue(caller.project, new, app.clock.now()).await?;
    Ok(Json(queue_view(made)))
}

/// `GET /api/public/annotation-queues/{queueId}`: one queue.
#[utoipa::path(
    get,
    path = "/api/public/annotation-queues/{queue}",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id.")),
    responses((status = 200, body = QueueView))
)]
pub(super) async fn show(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathOf(queue): PathOf<String>,
) -> ApiResult<Json<QueueView>> {
    review_scope::must_have_queue(&app, &caller, &queue).await?;
    Ok(Json(queue_view(app.store.catalog.queue(of(caller, queue)).await?)))
}

/// `GET /api/public/annotation-queues/{queueId}/items`: the items of a queue, newest first.
#[utoipa::path(
    get,
    path = "/api/public/annotation-queues/{queue}/items",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id."), PageParams, ("status" = Option<ItemStatusName>, Query, description = "Only items with this status.")),
    responses((status = 200, body = Paged<QueueItemView>))
)]
pub(super) async fn items(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathOf(queue): PathOf<String>,
    mut params: Params,
) -> ApiResult<Json<Paged<QueueItemView>>> {
    let page = params.page();
    let status = params.wire_enum::<ItemStatus>("status");
    params.finish()?;
    review_scope::must_have_queue(&app, &caller, &queue).await?;
    let found = app.store.catalog.queue_items(of(caller, queue), status, page).await?;
    let data = found.rows.into_iter().map(item_view).collect();
    Ok(Json(Paged { data, meta: params::meta(page, found.total) }))
}

/// `POST /api/public/annotation-queues/{queueId}/items`: adds an item to a queue; returns the
/// existing one if the object is already pending there.
#[utoipa::path(
    post,
    path = "/api/public/annotation-queues/{queue}/items",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id.")),
    request_body = QueueItemRequest,
    responses((status = 200, body = QueueItemView))
)]
pub(super) async fn add(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(queue): PathOf<String>,
    JsonFields(request): JsonFields<QueueItemRequest>,
) -> ApiResult<Json<QueueItemView>> {
    let mut checks = Checks::default();
    if let Err(why) = TraceId::parse(&request.object_id) {
        checks.report(Issue::at("objectId", why.to_string()));
    }
    checks.finish()?;
    let new = NewQueueItem {
        kind: request.object_type.0,
        object: request.object_id,
        status: request.status.map_or(ItemStatus::Pending, |status| status.0),
    };
    let now = app.clock.now();
    let item = caller.catalog(&app).add_queue_item(of(caller, queue), new, now).await?;
    Ok(Json(item_view(item)))
}

/// `GET /api/public/annotation-queues/{queueId}/items/{itemId}`: one item.
#[utoipa::path(
    get,
    path = "/api/public/annotation-queues/{queue}/items/{item}",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id."), ("item" = String, Path, description = "The item's id.")),
    responses((status = 200, body = QueueItemView))
)]
pub(super) async fn item(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathOf((queue, item)): PathOf<(String, String)>,
) -> ApiResult<Json<QueueItemView>> {
    review_scope::must_have_queue(&app, &caller, &queue).await?;
    Ok(Json(item_view(app.store.catalog.queue_item(of(caller, queue), item).await?)))
}

/// `PATCH /api/public/annotation-queues/{queueId}/items/{itemId}`: sets the status of an item.
#[utoipa::path(
    patch,
    path = "/api/public/annotation-queues/{queue}/items/{item}",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id."), ("item" = String, Path, description = "The item's id.")),
    request_body = QueueItemChange,
    responses((status = 200, body = QueueItemView))
)]
pub(super) async fn change(
    State(app): State<App>,
    QueueReviewer(caller): QueueReviewer,
    PathOf((queue, item)): PathOf<(String, String)>,
    JsonFields(change): JsonFields<QueueItemChange>,
) -> ApiResult<Json<QueueItemView>> {
    review_scope::must_have_queue(&app, &caller, &queue).await?;
    let (status, now) = (change.status.map(|status| status.0), app.clock.now());
    let changed = caller.catalog(&app).set_queue_item(of(caller, queue), item, status, now).await?;
    Ok(Json(item_view(changed)))
}

/// `DELETE /api/public/annotation-queues/{queueId}/items/{itemId}`: removes an item.
#[utoipa::path(
    delete,
    path = "/api/public/annotation-queues/{queue}/items/{item}",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id."), ("item" = String, Path, description = "The item's id.")),
    responses((status = 200, body = QueueItemDeleted))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Member(caller): Member,
    PathOf((queue, item)): PathOf<(String, String)>,
) -> ApiResult<Json<QueueItemDeleted>> {
    caller.catalog(&app).remove_queue_item(of(caller, queue), item, app.clock.now()).await?;
    let message = "Annotation queue item deleted successfully".to_owned();
    Ok(Json(QueueItemDeleted { success: true, message }))
}

/// `POST /api/public/annotation-queues/{queueId}/assignments`: assigns a reviewer to a queue.
#[utoipa::path(
    post,
    path = "/api/public/annotation-queues/{queue}/assignments",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id.")),
    request_body = AssignmentRequest,
    responses((status = 200, body = AssignmentView))
)]
pub(super) async fn assign(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(queue): PathOf<String>,
    JsonFields(request): JsonFields<AssignmentRequest>,
) -> ApiResult<Json<AssignmentView>> {
    let project_id = caller.project.to_string();
    let user_id = request.user_id;
    caller
        .catalog(&app)
        .assign_queue(of(caller, queue.clone()), user_id.clone(), app.clock.now())
        .await?;
    Ok(Json(AssignmentView { user_id, queue_id: queue, project_id }))
}

/// `DELETE /api/public/annotation-queues/{queueId}/assignments`: unassigns a reviewer.
#[utoipa::path(
    delete,
    path = "/api/public/annotation-queues/{queue}/assignments",
    tag = "AnnotationQueues",
    params(("queue" = String, Path, description = "The queue's id.")),
    request_body = AssignmentRequest,
    responses((status = 200, body = Success))
)]
pub(super) async fn unassign(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(queue): PathOf<String>,
    JsonFields(request): JsonFields<AssignmentRequest>,
) -> ApiResult<Json<Success>> {
    caller
        .catalog(&app)
        .unassign_queue(of(caller, queue), request.user_id, app.clock.now())
        .await?;
    Ok(Json(Success { success: true }))
}

fn of(caller: Caller, queue: String) -> QueueId {
    QueueId { project: caller.project, queue }
}

fn queue_view(queue: Queue) -> QueueView {
    QueueView {
        id: queue.id,
        name: queue.name,
        description: queue.description,
        score_config_ids: queue.score_configs,
        created_at: queue.created_at.into(),
        updated_at: queue.updated_at.into(),
    }
}

fn item_view(item: QueueItem) -> QueueItemView {
    QueueItemView {
        id: item.id,
        queue_id: item.queue,
        object_id: item.object,
        object_type: WireName(item.kind),
        status: WireName(item.status),
        completed_at: item.completed_at.map(Into::into),
        created_at: item.created_at.into(),
        updated_at: item.updated_at.into(),
    }
}
