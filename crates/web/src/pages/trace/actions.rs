use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::trace::Trace;
use ratchet_stages::record::TraceMark;
use ratchet_store::catalog::PublishedKind;

use super::TracePath;
use super::correction;
use super::forms;
use super::run::{RecordDetail, Subject};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::annotation::ANNOTATE;
use crate::pages::lists::Neighbours;
use crate::pages::{marks, queue_menu};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Actions on the selected trace or observation.
pub(super) async fn bar(web: &Web, ctx: &RequestContext, subject: &Subject) -> PageResult<Markup> {
    if !ctx.viewer.can_change() {
        return Ok(Markup::default());
    }
    let queue = forms::action(ctx, subject, "queue");
    let queue = queue_menu::menu(web, ctx, &queue, &forms::hidden(ctx, subject)).await?;
    let dataset = forms::action(ctx, subject, "dataset");
    let dataset = subject.step_id().into_iter().fold(dataset, |to, id| to.with("observation", id));
    Ok(html! {
        div.subject-actions {
            a.button href=(dataset) { "Add to dataset" }
            (queue)
            @if is_model_input(subject) { a.button href=(playground(ctx, subject)) { "Playground" } }
            a.button href={ "#" (ANNOTATE) } { "Annotate" }
            a.button href=(correction::link(ctx, subject)) { "Correct output" }
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

fn playground(ctx: &RequestContext, subject: &Subject) -> Link {
    let to = ctx.to(&["playground"]).with("trace", subject.trace.to_string());
    subject.step_id().into_iter().fold(to, |to, id| to.with("observation", id))
}

/// `POST …/traces/{trace}/queue`: adds the trace or observation to an annotation queue.
pub(super) async fn queue(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let subject = forms::subject(&web, &ctx, &trace, &form).await?;
    queue_menu::add(&web, &ctx, [subject.queued()], &form).await?;
    Ok(forms::back(&ctx, &subject, "queued"))
}

/// The way to who called whom.
pub(super) fn agents(ctx: &RequestContext, trace: &Trace) -> Markup {
    html! { a.button href=(ctx.to(&["traces", &trace.id.to_string(), "agents"])) { "Agents" } }
}

/// Bookmark and public link of the whole trace.
pub(super) async fn marks(web: &Web, ctx: &RequestContext, trace: &Trace) -> PageResult<Markup> {
    let id = trace.id.to_string();
    let object = (PublishedKind::Trace, id.clone());
    let publication = web.store.catalog.publication(ctx.project_id(), object).await?;
    // What the client calls private is not open, whatever was published.
    let publication = publication.filter(|_| trace.public);
    let published = (PublishedKind::Trace, publication.as_ref());
    let action = |what| ctx.to(&["traces", &id, what]);
    Ok(html! {
        (marks::star(ctx, &action("bookmark"), trace.bookmarked))
        (marks::publishing(ctx, &action("publish"), published, trace.public))
    })
}

/// `POST …/traces/{trace}/bookmark`: sets or removes the bookmark.
pub(super) async fn bookmark(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = super::trace_id(&trace)?;
    let is_set = marks::is_set(&form);
    mark(&web, &ctx, &id, (TraceMark::Bookmarked, is_set)).await?;
    Ok(back(&ctx, &id, if is_set { "bookmarked" } else { "unbookmarked" }))
}

/// `POST …/traces/{trace}/publish`: creates or revokes the public link.
pub(super) async fn publish(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = super::trace_id(&trace)?;
    let is_set = marks::is_set(&form);
    // The trace first: without its mark the link opens nothing.
    mark(&web, &ctx, &id, (TraceMark::Public, is_set)).await?;
    marks::publish(&web, &ctx, (PublishedKind::Trace, id.to_string()), is_set).await?;
    Ok(back(&ctx, &id, if is_set { "published" } else { "unpublished" }))
}

async fn mark(
    web: &Web,
    ctx: &RequestContext,
    id: &TraceId,
    mark: (TraceMark, bool),
) -> PageResult<()> {
    match marks::mark_traces(web, ctx, vec![id.clone()], mark).await? {
        0 => Err(PageError::not_there("trace")),
        _ => Ok(()),
    }
}

fn back(ctx: &RequestContext, id: &TraceId, done: &str) -> Redirect {
    Redirect::to(&super::link(ctx, id).with("done", done).to_string())
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
                None => { a.button.disabled role="link" aria-disabled="true" { (word) } },
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
