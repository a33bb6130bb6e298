use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::record::observation::ObservationKind;
use ratchet_store::catalog::{NewQueueItem, Queue, QueueId};
use ratchet_store::query::PageNumber;

use super::TracePath;
use super::forms::{self, ANNOTATE};
use super::run::{RecordDetail, Subject};
use crate::form::PageForm;
use crate::frame::menu;
use crate::page_error::PageResult;
use crate::pages::lists::Neighbours;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Queues that are offered, newest first.
const OFFERED: PageNumber = PageNumber { page: 1, limit: 100 };

/// Actions on the selected trace or observation.
pub(super) async fn bar(web: &Web, ctx: &RequestContext, subject: &Subject) -> PageResult<Markup> {
    if !ctx.viewer.can_change() {
        return Ok(Markup::default());
    }
    let queues = web.store.catalog.queues(ctx.project_id(), OFFERED).await?.rows;
    let dataset = forms::action(ctx, subject, "dataset");
    let dataset = subject.step_id().into_iter().fold(dataset, |to, id| to.with("observation", id));
    Ok(html! {
        div.subject-actions {
            a.button href=(dataset) { "Add to dataset" }
            (menu("Add to queue", "Add to queue", &queue_form(ctx, subject, &queues)))
            @if is_model_input(subject) { a.button href=(playground(ctx, subject)) { "Open in playground" } }
            a.button href={ "#" (ANNOTATE) } { "Annotate" }
        }
    })
}

/// Whether the playground can send it to a model again.
fn is_model_input(subject: &Subject) -> bool {
    match &subject.about {
        RecordDetail::Trace(..) => true,
        RecordDetail::Step(step) => step.kind == ObservationKind::Generation,
    }
}

fn playground(ctx: &RequestContext, subject: &Subject) -> crate::request_context::Link {
    let to = ctx.to(&["playground"]).with("trace", subject.trace.to_string());
    subject.step_id().into_iter().fold(to, |to, id| to.with("observation", id))
}

fn queue_form(ctx: &RequestContext, subject: &Subject, queues: &[Queue]) -> Markup {
    html! {
        @if queues.is_empty() {
            a href=(ctx.to(&["queues"])) { "No queues yet: create one" }
        } @else {
            form.queue-choice method="post" action=(forms::action(ctx, subject, "queue")) {
                (forms::hidden(ctx, subject))
                @for queue in queues {
                    button type="submit" name="queue" value=(queue.id) { bdi { (queue.name) } }
                }
            }
        }
    }
}

/// `POST …/traces/{trace}/queue`: adds the trace or observation to an annotation queue.
pub(super) async fn queue(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let subject = forms::subject(&web, &ctx, &trace, &form).await?;
    let (kind, object) = match &subject.about {
        RecordDetail::Trace(trace, _) => (ItemKind::Trace, trace.id.to_string()),
        RecordDetail::Step(step) => (ItemKind::Observation, step.id.to_string()),
    };
    let queue = form.get("queue").unwrap_or_default().to_owned();
    let to = QueueId { project: ctx.project_id(), queue };
    let item = NewQueueItem { kind, object, status: ItemStatus::Pending };
    ctx.viewer.catalog(&web).add_queue_items(to, vec![item], ctx.now).await?;
    Ok(forms::back(&ctx, &subject, "queued"))
}

/// Links to the newer and the older trace of the list that the page was opened from.
pub(super) fn neighbours(ctx: &RequestContext, found: &Neighbours) -> Markup {
    let step = |trace: &Option<_>, word: &str, key: &str, rel: &str| {
        html! {
            @match trace {
                Some(trace) => {
                    a.button rel=(rel) href=(super::link(ctx, trace)) data-key=(key)
                      aria-keyshortcuts=(key) title={ (word) " trace (" (key) ")" } { (word) }
                },
                None => { span.button.disabled aria-disabled="true" { (word) } },
            }
        }
    };
    html! {
        nav.neighbours aria-label="Other traces" {
            (step(&found.newer, "Newer", "[", "prev"))
            (step(&found.older, "Older", "]", "next"))
        }
    }
}
