//! Menu that adds what a page shows to an annotation queue.

use maud::{Markup, html};
use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_store::catalog::{NewQueueItem, QueueId};
use ratchet_store::query::PageNumber;

use crate::frame;
use crate::page_error::PageResult;
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Queues that are offered, newest first.
const OFFERED: PageNumber = PageNumber { page: 1, limit: 100 };

/// A menu of queues; `hidden` has the form token and what else the handler needs.
pub(super) async fn menu(
    web: &Web,
    ctx: &RequestContext,
    action: &Link,
    hidden: &Markup,
) -> PageResult<Markup> {
    let queues = web.store.catalog.queues(ctx.project_id(), OFFERED).await?.rows;
    let choices = html! {
        @if queues.is_empty() {
            a href=(ctx.to(&["queues"])) { "No queues yet: create one" }
        } @else {
            form method="post" action=(action) {
                (hidden)
                @for queue in &queues {
                    button type="submit" name="queue" value=(queue.id) { bdi { (queue.name) } }
                }
            }
        }
    };
    Ok(frame::menu("Add to queue", "Add to queue", &choices))
}

/// Adds an item to the queue of a submitted form.
pub(super) async fn add(
    web: &Web,
    ctx: &RequestContext,
    (kind, object): (ItemKind, String),
    form: &Params,
) -> PageResult<()> {
    let queue = form.get("queue").unwrap_or_default().to_owned();
    let to = QueueId { project: ctx.project_id(), queue };
    let item = NewQueueItem { kind, object, status: ItemStatus::Pending };
    ctx.viewer.catalog(web).add_queue_items(to, vec![item], ctx.now).await?;
    Ok(())
}
