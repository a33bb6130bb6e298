//! Menu that adds what a page shows to an annotation queue.

use maud::{Markup, html};
use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_store::catalog::{NewQueueItem, Queue, QueueId};
use ratchet_store::query::PageNumber;

use crate::frame;
use crate::page_error::PageResult;
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Queues that are offered, newest first.
const OFFERED: PageNumber = PageNumber { page: 1, limit: 100 };

pub(super) async fn offered(web: &Web, ctx: &RequestContext) -> PageResult<Vec<Queue>> {
    Ok(web.store.catalog.queues(ctx.project_id(), OFFERED).await?.rows)
}

/// A menu of queues; `hidden` has the form token and what else the handler needs.
pub(super) async fn menu(
    web: &Web,
    ctx: &RequestContext,
    action: &Link,
    hidden: &Markup,
) -> PageResult<Markup> {
    let queues = offered(web, ctx).await?;
    let choices = html! {
        @if queues.is_empty() {
            a href=(ctx.to(&["queues"])) { "No queues yet: create one" }
        } @else {
            form method="post" data-inline-errors action=(action) {
                (hidden)
                @for queue in &queues {
                    button type="submit" name="queue" value=(queue.id) { bdi { (queue.name) } }
                }
            }
        }
    };
    Ok(frame::menu("Add to queue", "Add to queue", &choices))
}

/// Adds items to the queue of a submitted form; returns how many.
pub(super) async fn add(
    web: &Web,
    ctx: &RequestContext,
    items: impl IntoIterator<Item = (ItemKind, String)>,
    form: &Params,
) -> PageResult<usize> {
    let queue = form.get("queue").unwrap_or_default().to_owned();
    let to = QueueId { project: ctx.project_id(), queue };
    let new = |(kind, object)| NewQueueItem { kind, object, status: ItemStatus::Pending };
    let items: Vec<NewQueueItem> = items.into_iter().map(new).collect();
    let count = items.len();
    ctx.viewer.catalog(web).add_queue_items(to, items, ctx.now).await?;
    Ok(count)
}
