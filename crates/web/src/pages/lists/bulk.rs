/// Rows as traces and as dataset items.
pub(in crate::pages) mod sources;

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::id::TraceId;
use ratchet_stages::record::{self, TraceMark};
use ratchet_store::catalog::{AuditObject, Dataset, Queue};

use self::sources::{ExpectedOutput, traces_of};
use super::change::{Done, came_from};
use super::row::ListedRow;
use super::views::{action, back};
use crate::components::figure;
use crate::filter::ListKind;
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::dataset_target::{self, Refusal};
use crate::pages::{marks, queue_menu};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// The form that takes the rows one has chosen.
pub(super) const FORM: &str = "chosen";
/// Rows that one form may name.
const MOST_ROWS: usize = 1_000;
const MAX_TAG: usize = 200;
/// Bytes of a tag, whatever its characters.
const TAG_BYTES: usize = 4 * MAX_TAG;
/// Names that the page before deleting shows.
const NAMED: usize = 10;

/// Where chosen rows can go.
#[derive(Debug, Default)]
pub(super) struct Targets {
    datasets: Vec<Dataset>,
    queues: Vec<Queue>,
}

/// Where chosen rows can go; nowhere for those who may only look.
pub(super) async fn targets(web: &Web, ctx: &RequestContext) -> PageResult<Targets> {
    if !ctx.viewer.can_change() {
        return Ok(Targets::default());
    }
    let datasets = dataset_target::offered(web, ctx).await?;
    let queues = queue_menu::offered(web, ctx).await?;
    Ok(Targets { datasets, queues })
}

/// The bar at the bottom: what can be done with the chosen rows.
pub(super) fn bar(ctx: &RequestContext, on: ListKind, targets: &Targets) -> Markup {
    html! {
        form.chosen #(FORM) method="post" data-inline-errors action=(action(ctx, on, "do")) data-selection hidden {
            (ctx.viewer.form_token.field())
            (back(ctx, on))
            p { strong data-selected { "0" } " selected" }
            span.chosen-group {
                label.sr for="chosen-tag" { "Tag" }
                input #chosen-tag type="text" name="tag" maxlength=(MAX_TAG) placeholder="tag";
                button.button type="submit" name="action" value="tag" { (of_traces(on, "Tag")) }
            }
            span.chosen-group {
                button.button type="submit" name="action" value="bookmark" { "Bookmark" }
                button.button type="submit" name="action" value="unbookmark" { "Remove bookmark" }
            }
            @if targets.datasets.is_empty() {
                a.button href=(ctx.to(&["datasets"])) { "Create a dataset" }
            } @else {
                span.chosen-group {
                    label.sr for="chosen-dataset" { "Dataset" }
                    select #chosen-dataset name="dataset" {
                        @for dataset in &targets.datasets { option value=(dataset.name) { (dataset.name) } }
                    }
                    label.check-label {
                        input type="checkbox" name="expected" value="recorded" checked;
                        "output as expected output"
                    }
                    button.button type="submit" name="action" value="dataset" { "Add to dataset" }
                }
            }
            @if targets.queues.is_empty() {
                a.button href=(ctx.to(&["queues"])) { "Create a queue" }
            } @else {
                span.chosen-group {
                    label.sr for="chosen-queue" { "Queue" }
                    select #chosen-queue name="queue" {
                        @for queue in &targets.queues { option value=(queue.id) { (queue.name) } }
                    }
                    button.button type="submit" name="action" value="queue" { "Add to queue" }
                }
            }
            button.button.danger type="submit" name="action" value="delete" data-confirm {
                (of_traces(on, "Delete")) "…"
            }
            @match on {
                ListKind::Traces => {},
                ListKind::Observations => {
                    p.muted { "Tagging and deleting apply to the whole traces of the selected observations." }
                },
                ListKind::Sessions => {
                    p.muted { "Tagging and deleting apply to all traces of the selected sessions." }
                },
            }
        }
    }
}

/// Label of an action; names traces where the rows are observations.
fn of_traces(on: ListKind, what: &str) -> String {
    match on {
        ListKind::Traces => what.to_owned(),
        ListKind::Observations | ListKind::Sessions => format!("{what} their traces"),
    }
}

/// Does something with the chosen rows.
pub(super) async fn act<R: ListedRow>(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let ids: BTreeSet<&str> = form.all("id").filter(|id| !id.is_empty()).collect();
    let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    if ids.is_empty() {
        return Err(PageError::Bad("no rows selected".to_owned()));
    }
    if ids.len() > MOST_ROWS {
        return Err(PageError::Bad(format!("select at most {MOST_ROWS} rows at a time")));
    }
    let done = match (form.get("action").unwrap_or_default(), R::ON) {
        ("tag", on) => {
            let traces = traces_of(&web, &ctx, (&ids, on)).await?;
            tag(&web, &ctx, &form, traces).await?
        }
        ("bookmark", on) => Done::Bookmarked(bookmark(&web, &ctx, (ids, on), true).await?),
        ("unbookmark", on) => Done::Unbookmarked(bookmark(&web, &ctx, (ids, on), false).await?),
        ("dataset", on) => collect(&web, &ctx, &form, &ids, on).await?,
        ("queue", on) => queue(&web, &ctx, &form, ids, on).await?,
        ("delete", on) if form.get("sure") == Some("yes") => {
            let traces = traces_of(&web, &ctx, (&ids, on)).await?;
            let count = traces.len();
            let catalog = ctx.viewer.catalog(&web);
            let named = traces.iter().map(ToString::to_string).collect();
            catalog.note_deletion(ctx.project_id(), AuditObject::Traces, named, ctx.now).await?;
            web.store.telemetry.delete_traces(ctx.project_id(), traces).await?;
            Done::Deleted(count)
        }
        ("delete", on) => {
            return Ok(confirm(&web, &ctx, &form, (ids, on)).await?.into_response());
        }
        (other, _) => {
            let other = ratchet_core::record::limit::elide(other, 40);
            return Err(PageError::Bad(format!("unknown action {other}")));
        }
    };
    Ok(done.back(&ctx, R::ON, &form).into_response())
}

async fn tag(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    ids: Vec<TraceId>,
) -> PageResult<Done> {
    let tag = form.get("tag").unwrap_or_default().trim().to_owned();
    if tag.is_empty() || tag.chars().count() > MAX_TAG {
        return Err(PageError::Bad(format!("a tag has 1 to {MAX_TAG} characters")));
    }
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    // Only traces that are there: a tag must not make one.
    let known = telemetry.find_traces(project.clone(), ids).await?;
    let traces: Vec<TraceId> = known.into_iter().map(|trace| trace.id).collect();
    let count = traces.len();
    let batch = record::tags(project, traces, &tag, ctx.now);
    record::write(telemetry, &web.store.catalog, batch, TAG_BYTES).await?;
    Ok(Done::Tagged(count))
}

/// Bookmarks sessions, or the traces that rows are or belong to; returns how many.
async fn bookmark(
    web: &Web,
    ctx: &RequestContext,
    (ids, on): (Vec<String>, ListKind),
    is_set: bool,
) -> PageResult<usize> {
    if on == ListKind::Sessions {
        let count = ids.len();
        web.store.catalog.bookmark_sessions(ctx.project_id(), ids, is_set, ctx.now).await?;
        return Ok(count);
    }
    let traces = traces_of(web, ctx, (&ids, on)).await?;
    marks::mark_traces(web, ctx, traces, (TraceMark::Bookmarked, is_set)).await
}

async fn queue(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    ids: Vec<String>,
    on: ListKind,
) -> PageResult<Done> {
    let kind = match on {
        ListKind::Traces => ItemKind::Trace,
        ListKind::Observations => ItemKind::Observation,
        ListKind::Sessions => ItemKind::Session,
    };
    let items = ids.into_iter().map(|object| (kind, object));
    Ok(Done::Queued(queue_menu::add(web, ctx, items, form).await?))
}

async fn collect(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    ids: &[String],
    on: ListKind,
) -> PageResult<Done> {
    let expected = ExpectedOutput::of(form);
    let items = sources::items(web, ctx, (ids, on), expected).await?;
    let added = dataset_target::add(web, ctx, form, items).await?;
    added.map(Done::Collected).map_err(|Refusal { field, reason }| {
        PageError::Bad(format!("nothing was added: {field}: {reason}"))
    })
}

/// The question before deleting: what goes, and that it does not come back.
async fn confirm(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    (chosen, on): (Vec<String>, ListKind),
) -> PageResult<Markup> {
    let telemetry = &web.store.telemetry;
    let ids = traces_of(web, ctx, (&chosen, on)).await?;
    let traces = telemetry.find_traces(ctx.project_id(), ids.clone()).await?;
    let attached = telemetry.count_attached(ctx.project_id(), ids).await?;
    let count = |count: usize| figure::grouped(count as u64);
    let title = match traces.len() {
        1 => "Delete 1 trace?".to_owned(),
        many => format!("Delete {} traces?", count(many)),
    };
    let mut page = Page::new(Section::Traces, title.clone());
    page.body = html! {
        section data-question=(title) {
            p {
                "This also deletes " (figure::grouped(attached.observations)) " observations and " (figure::grouped(attached.scores))
                " scores. This cannot be undone."
            }
            ul {
                @for trace in traces.iter().take(NAMED) {
                    li { bdi { (trace.name.as_deref().unwrap_or("unnamed")) } " "
                        code { (trace.id) } " " (figure::when(trace.timestamp, &ctx.time)) }
                }
                @if traces.len() > NAMED { li { "and " (count(traces.len() - NAMED)) " more" } }
            }
            form method="post" action=(action(ctx, on, "do")) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="back" value=(form.get("back").unwrap_or_default());
                input type="hidden" name="action" value="delete";
                input type="hidden" name="sure" value="yes";
                @for id in &chosen { input type="hidden" name="id" value=(id); }
                button.button.danger type="submit" { "Delete" } " "
                a.button href=(came_from(ctx, on, form)) data-keep { "Cancel" }
            }
        }
    };
    Ok(page.show(ctx))
}
