//! Queues: what waits for people, and how far they are.

/// Creating a queue.
mod new_queue;

use std::collections::HashMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::id::TraceId;
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::{Queue, QueueId, QueueItem, QueueProgress};
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, PageNumber, Paging, Test,
    TimeRange,
};

use crate::components::badge::{self, Decider};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

const ROWS: u64 = 50;
/// Characters of a name, and of an id beside one.
const NAME: usize = 80;
const SHORT: usize = 8;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/queues", get(list).post(new_queue::create))
        .route("/project/{project}/queues/{queue}", get(show))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let queues = web.store.catalog.queues(ctx.project_id(), at).await?;
    let progress = web.store.catalog.queue_progress(ctx.project_id()).await?;
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
        page.action = new_queue::form(&web, &ctx).await?;
    }
    page.body = if total == 0 {
        nothing()
    } else {
        html! { (table::table(&table)) (table::numbers(&ctx.here(), at, total)) }
    };
    Ok(page.show(&ctx))
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

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let of = QueueId { project: ctx.project_id(), queue: id };
    let queue = web.store.catalog.queue(of.clone()).await?;
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let status = ctx.params.get("status").and_then(ItemStatus::parse);
    let items = web.store.catalog.queue_items(of, status, at).await?;
    let total = items.total.unwrap_or_default();
    let mut page = Page::new(Section::Queues, queue.name.clone());
    page.crumbs = vec![("Queues".to_owned(), Section::Queues.link(&ctx))];
    page.summary = html! {
        (figure::grouped(total)) " items. " (queue.description.as_deref().unwrap_or_default())
    };
    page.action = choices(&ctx, status);
    let names = names(&web, &ctx, &items.rows).await?;
    let rows = items.rows.iter().map(|item| row(item, &names, &ctx)).collect();
    let columns = vec![
        Column::text("Item"),
        Column::text("Type"),
        Column::text("Status"),
        Column::text("Added"),
    ];
    let caption = format!("Items of {}", queue.name);
    page.body = if total == 0 {
        empty::empty(
            "No items with this status",
            &html! {
                p { "Select traces in a list and add them to the queue." }
            },
        )
    } else {
        html! {
            (table::table(&Table { caption, columns, rows, select_for: None }))
            (table::numbers(&ctx.here(), at, total))
        }
    };
    Ok(page.show(&ctx))
}

fn choices(ctx: &RequestContext, chosen: Option<ItemStatus>) -> Markup {
    let here = ctx.here().without("page");
    html! {
        nav.segments aria-label="Status" {
            a href=(here.clone().without("status"))
              aria-current=[chosen.is_none().then_some("true")] { "all" }
            @for (status, word) in [(ItemStatus::Pending, "waiting"), (ItemStatus::Completed, "done")] {
                a href=(here.clone().with("status", status.as_str()))
                  aria-current=[(chosen == Some(status)).then_some("true")] { (word) }
            }
        }
    }
}

/// What the traces and steps among some items are called.
async fn names(web: &Web, ctx: &RequestContext, items: &[QueueItem]) -> PageResult<Names> {
    let of = |kind: ItemKind| items.iter().filter(move |item| item.kind == kind);
    let traces = of(ItemKind::Trace).filter_map(|item| TraceId::parse(&item.object).ok()).collect();
    let traces = web.store.telemetry.find_traces(ctx.project_id(), traces).await?;
    let steps = of(ItemKind::Observation).map(|item| item.object.clone()).collect();
    let question = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        trace: None,
        conditions: vec![Condition { column: ObservationColumn::Id, test: Test::AnyOf(steps) }],
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: ROWS },
        detail: Detail::Row,
    };
    let steps = match of(ItemKind::Observation).next() {
        Some(_) => web.store.telemetry.observations(question).await?.rows,
        None => Vec::new(),
    };
    let traces =
        traces.into_iter().map(|trace| ((ItemKind::Trace, trace.id.to_string()), trace.name));
    let steps =
        steps.into_iter().map(|step| ((ItemKind::Observation, step.id.to_string()), step.name));
    Ok(traces.chain(steps).filter_map(|(of, name)| Some((of, name?))).collect())
}

/// The names of what items are about.
type Names = HashMap<(ItemKind, String), String>;

fn row(item: &QueueItem, names: &Names, ctx: &RequestContext) -> Row {
    let name = names.get(&(item.kind, item.object.clone())).filter(|name| !name.is_empty());
    let state = match item.status {
        ItemStatus::Pending => badge::tag("waiting"),
        ItemStatus::Completed => badge::decided(Decider::Human, "done"),
    };
    Row {
        id: item.id.clone(),
        link: Some(object(item, ctx)),
        cells: vec![
            html! {
                @match name {
                    Some(name) => {
                        bdi title=(item.object) { (elide(name, NAME)) }
                        " " code.muted { bdi { (item.object.chars().take(SHORT).collect::<String>()) } "…" }
                    },
                    None => { code { bdi { (item.object) } } },
                }
            },
            html! { (item.kind.as_str().to_lowercase()) },
            state,
            figure::ago(item.created_at, &ctx.time),
        ],
        failed: false,
    }
}

/// Where to look at what an item is about.
fn object(item: &QueueItem, ctx: &RequestContext) -> Link {
    match item.kind {
        ItemKind::Trace => ctx.to(&["traces", &item.object]),
        ItemKind::Session => ctx.to(&["sessions", &item.object]),
        ItemKind::Observation => ctx.to(&["find"]).with("q", &item.object),
    }
}

fn nothing() -> Markup {
    let how = html! {
        p { "A queue holds traces, observations or sessions for people to score with its score configs. "
            "Create one above, then add traces to it from their page or from a list." }
    };
    empty::empty("No queues yet", &how)
}
