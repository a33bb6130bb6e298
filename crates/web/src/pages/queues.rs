//! Queues: what waits for people, and how far they are.

/// Creating a queue.
mod new_queue;
/// What forms of queues share.
mod fields;
mod change;
/// One item per screen.
mod review;
/// The items of a queue.
mod items;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::id::TraceId;
use ratchet_store::catalog::{Queue, QueueId, QueueProgress};
use ratchet_store::query::PageNumber;

use crate::components::field::Entered;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

const ROWS: u64 = 50;
/// Queues that a reviewer sees: those of all pages that are theirs.
const REVIEWERS_ROWS: u64 = 1_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/queues", get(list).post(new_queue::create))
        .route("/project/{project}/queues/{queue}", get(items::show))
        .route("/project/{project}/queues/{queue}/edit", get(change::show).post(change::save))
        .route("/project/{project}/queues/{queue}/delete", get(change::ask).post(change::delete))
        .route("/project/{project}/queues/{queue}/items/{item}/remove", post(items::remove))
        .merge(review::routes())
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    listed(&web, &ctx, None).await
}

/// The list, with the form of a new queue as it was refused.
async fn listed(
    web: &Web,
    ctx: &RequestContext,
    refused: Option<(&Entered, &[String])>,
) -> PageResult<Markup> {
    let limit = if ctx.viewer.can_read() { ROWS } else { REVIEWERS_ROWS };
    let at = PageNumber { page: ctx.params.page(), limit };
    let mut queues = web.store.catalog.queues(ctx.project_id(), at).await?;
    let mut progress = web.store.catalog.queue_progress(ctx.project_id()).await?;
    if let Some(assigned) = assigned(web, ctx).await? {
        queues.rows.retain(|queue| assigned.contains(&queue.id));
        queues.total = Some(queues.rows.len() as u64);
        progress.retain(|queue, _| assigned.contains(queue));
    }
    let waiting: u64 = progress.values().map(|progress| progress.waiting).sum();
    let mut page = Page::new(Section::Queues, "Queues");
    page.summary = html! { (figure::grouped(waiting)) " waiting for review." };
    let total = queues.total.unwrap_or_default();
    let row = |queue: &Queue| {
        let progress = progress.get(&queue.id).copied().unwrap_or_default();
        Row {
            id: queue.id.clone(),
            link: Some(ctx.to(&["queues", &queue.id])),
            cells: vec![
                html! { bdi { (queue.name) } },
                html! { (queue.description.as_deref().unwrap_or_default()) },
                html! { (figure::grouped(progress.waiting)) },
                html! { (figure::grouped(progress.done)) },
                bar(progress),
                figure::ago(queue.created_at, &ctx.time),
            ],
            failed: false,
        }
    };
    let columns = vec![
        Column::text("Queue"),
        Column::wide("Description"),
        Column::number("Waiting"),
        Column::number("Done"),
        Column::text("Progress"),
        Column::text("Created"),
    ];
    let rows = queues.rows.iter().map(row).collect();
    let table = Table { caption: "Queues".to_owned(), columns, rows, select_for: None };
    if ctx.viewer.can_change() {
        page.action = new_queue::form(web, ctx, refused).await?;
    }
    page.body = html! {
        @if ctx.params.get("done") == Some("deleted") { (toast::toast("Queue deleted")) }
        @if total == 0 { (nothing(ctx)) } @else {
            (table::table(&table)) (table::numbers(&ctx.here().without("done"), at, total))
        }
    };
    Ok(page.show(ctx))
}

/// How far a queue is, drawn; the numbers stand beside it.
fn bar(progress: QueueProgress) -> Markup {
    let total = progress.waiting + progress.done;
    let done = (progress.done * 100).checked_div(total).unwrap_or_default();
    html! {
        svg.progress viewBox="0 0 100 6" preserveAspectRatio="none" role="img"
            aria-label={ (done) "% done" } {
            rect.track width="100" height="6" rx="3" {}
            rect.done width=(done) height="6" rx="3" {}
        }
    }
}

/// A reviewer sees the queues they are assigned to; another one looks like none at all.
async fn must_be_assigned(web: &Web, ctx: &RequestContext, of: &QueueId) -> PageResult<()> {
    match assigned(web, ctx).await? {
        Some(queues) if !queues.contains(&of.queue) => Err(PageError::not_there("queue")),
        Some(_) | None => Ok(()),
    }
}

/// The queues that a reviewer is assigned to; `None` for those who see all.
async fn assigned(web: &Web, ctx: &RequestContext) -> PageResult<Option<Vec<String>>> {
    if ctx.viewer.can_read() {
        return Ok(None);
    }
    let person = ctx.viewer.person().unwrap_or_default().to_owned();
    Ok(Some(web.store.catalog.assigned_queues(ctx.project_id(), person).await?))
}

/// Whether a viewer may see a media file: a reviewer only if a trace that uses it, or its session, is
/// in a queue of theirs.
pub(super) async fn reaches_media(
    web: &Web,
    ctx: &RequestContext,
    media: &str,
) -> PageResult<bool> {
    let Some(theirs) = assigned(web, ctx).await? else { return Ok(true) };
    for trace in web.store.catalog.traces_of_media(ctx.project_id(), media.to_owned()).await? {
        let objects = trace_and_session(web, ctx, &trace).await?;
        if is_any_queued(web, ctx, &theirs, objects).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a viewer may see the pictures of a trace or of one of its observations: a reviewer only if
/// the record, its trace or its session is in a queue of theirs.
pub(super) async fn reaches_pictures(
    web: &Web,
    ctx: &RequestContext,
    trace: &str,
    observation: Option<&str>,
) -> PageResult<bool> {
    let Some(theirs) = assigned(web, ctx).await? else { return Ok(true) };
    let mut objects = trace_and_session(web, ctx, trace).await?;
    objects.extend(observation.map(|id| (ItemKind::Observation, id.to_owned())));
    is_any_queued(web, ctx, &theirs, objects).await
}

/// What a queue item about a trace may be: the trace, or its session.
async fn trace_and_session(
    web: &Web,
    ctx: &RequestContext,
    trace: &str,
) -> PageResult<Vec<(ItemKind, String)>> {
    let mut objects = vec![(ItemKind::Trace, trace.to_owned())];
    if let Ok(id) = TraceId::parse(trace) {
        let found = web.store.telemetry.trace(ctx.project_id(), id).await?;
        let session = found.and_then(|trace| trace.session);
        objects.extend(session.map(|session| (ItemKind::Session, session.to_string())));
    }
    Ok(objects)
}

async fn is_any_queued(
    web: &Web,
    ctx: &RequestContext,
    theirs: &[String],
    objects: Vec<(ItemKind, String)>,
) -> PageResult<bool> {
    for object in objects {
        let queues = web.store.catalog.queues_of_object(ctx.project_id(), object).await?;
        if queues.iter().any(|queue| theirs.contains(queue)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A queue holds traces, observations or sessions for people to score with its score configs. "
            "Create one above, then add traces to it from their page or from a list." }
        @if ctx.viewer.can_read() {
            p {
                a.button href=(ctx.to(&["traces"])) { "Select traces" } " "
                a.button href=(ctx.to(&["settings", "score-configs"])) { "Score configs" }
            }
        }
    };
    empty::empty("No queues yet", &how)
}
