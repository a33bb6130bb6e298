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
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_stages::review::reviewer_scope::ReviewerScope;
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
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let (catalog, project) = (&web.store.catalog, ctx.project_id());
    let queues = match reviewer(ctx) {
        Some(person) => catalog.queues_of_person(project, person.to_owned(), at).await?,
        None => catalog.queues(project, at).await?,
    };
    let mut progress = catalog.queue_progress(ctx.project_id()).await?;
    if let Some(scope) = reviewer_scope(web, ctx).await? {
        progress.retain(|queue, _| scope.has_queue(queue));
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
    match reviewer_scope(web, ctx).await? {
        Some(scope) if !scope.has_queue(&of.queue) => Err(PageError::not_there("queue")),
        Some(_) | None => Ok(()),
    }
}

/// The person whose queues a reviewer sees; `None` for those who see all.
fn reviewer(ctx: &RequestContext) -> Option<&str> {
    (!ctx.viewer.can_read()).then(|| ctx.viewer.person().unwrap_or_default())
}

/// What a reviewer sees; `None` for those who see all.
async fn reviewer_scope<'a>(
    web: &'a Web,
    ctx: &RequestContext,
) -> PageResult<Option<ReviewerScope<'a>>> {
    let Some(person) = reviewer(ctx) else { return Ok(None) };
    Ok(Some(ReviewerScope::of(&web.store, ctx.project_id(), person).await?))
}

/// Whether a viewer sees a media file: a reviewer only if it is part of a record in a queue of theirs.
pub(super) async fn reaches_media(
    web: &Web,
    ctx: &RequestContext,
    media: &str,
) -> PageResult<bool> {
    match reviewer_scope(web, ctx).await? {
        Some(scope) => Ok(scope.has_media(media).await?),
        None => Ok(true),
    }
}

/// Whether a viewer sees the pictures of a trace or of one of its observations: a reviewer only if
/// the record, its trace or its session is in a queue of theirs.
pub(super) async fn reaches_pictures(
    web: &Web,
    ctx: &RequestContext,
    trace: &TraceId,
    observation: Option<&ObservationId>,
) -> PageResult<bool> {
    let Some(scope) = reviewer_scope(web, ctx).await? else { return Ok(true) };
    Ok(match observation {
        Some(id) => scope.has_observation_of(trace, id).await?,
        None => scope.has_trace(trace).await?,
    })
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
