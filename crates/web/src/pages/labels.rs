//! Earlier addresses of labels, which redirect to the queues that sessions are labelled in.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::get;
use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::id::SessionId;
use ratchet_core::quality::label::DATASET;
use ratchet_stages::review::session_queue;
use ratchet_store::catalog::{Queue, QueueId};

use super::calibration::{by_rubric, rubric};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/labels", get(list))
        .route("/project/{project}/labels/session/{session}", get(one))
}

/// The queue of labels by the rubric that the address names.
async fn queue(web: &Web, ctx: &RequestContext) -> PageResult<Option<Queue>> {
    let name = session_queue::name(DATASET, &rubric(web, ctx)?.name);
    Ok(web.store.catalog.queue_named(ctx.project_id(), name).await?)
}

/// Goes to the queue, or to calibration, where a sample is drawn into it.
async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Redirect> {
    let to = match queue(&web, &ctx).await? {
        Some(queue) => ctx.to(&["queues", &queue.id]),
        None => by_rubric(&ctx, &["calibration"]),
    };
    Ok(Redirect::to(&to.to_string()))
}

/// Goes to the review of a session that waits, or to the session.
async fn one(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, session)): Path<(String, String)>,
) -> PageResult<Redirect> {
    let missing = || PageError::not_there("session");
    let id = SessionId::parse(&session).map_err(|_| missing())?;
    web.store.telemetry.session(ctx.project_id(), id).await?.ok_or_else(missing)?;
    let mut to = ctx.to(&["sessions", &session]);
    if let Some(queue) = queue(&web, &ctx).await? {
        let of = QueueId { project: ctx.project_id(), queue: queue.id.clone() };
        let items = web.store.catalog.queue_items_of(of, (ItemKind::Session, session)).await?;
        let waiting = items.into_iter().find(|item| item.status == ItemStatus::Pending);
        if let Some(item) = waiting.filter(|_| ctx.viewer.may_review().is_ok()) {
            to = ctx.to(&["queues", &queue.id, "review"]).with("item", item.id);
        }
    }
    Ok(Redirect::to(&to.to_string()))
}
