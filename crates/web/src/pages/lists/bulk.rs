/// Rows as traces and as dataset items.
pub(in crate::pages) mod sources;
mod matching;
/// The question before deleting.
mod question;

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::id::TraceId;
use ratchet_stages::record::{self, TraceMark};
use ratchet_store::catalog::{AuditObject, Dataset, Queue};

use self::sources::{ExpectedOutput, traces_of};
use super::change::Done;
use super::row::ListedRow;
use super::views::{action, back};
use crate::filter::ListKind;
use crate::form::PageForm;
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
            label.check-label {
                input type="checkbox" name="matching" value="yes" autocomplete="off" data-matching;
                "all that match the filter"
            }
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

/// Does something with the chosen rows, or with all that match the filter.
pub(super) async fn act<R: ListedRow>(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let ids = match matching::is_chosen(&form) {
        true => matching::ids::<R>(&web, &ctx, &form).await?,
        false => chosen(&form)?,
    };
    if ids.is_empty() {
        return Err(PageError::Bad("no rows selected".to_owned()));
    }
    if form.get("action") == Some("delete") && !question::is_answered(&form, ids.len()) {
        return Ok(question::ask(&web, &ctx, &form, (ids, R::ON)).await?.into_response());
    }
    let mut done: Option<Done> = None;
    // Slices, so that payloads of all rows are never held together.
    for slice in ids.chunks(MOST_ROWS) {
        let more = act_on(&web, &ctx, &form, (slice, R::ON)).await?;
        done = Some(done.map_or(more, |done| done.and(more)));
    }
    let done = done.ok_or_else(|| PageError::Bad("no rows selected".to_owned()))?;
    Ok(done.back(&ctx, R::ON, &form).into_response())
}

fn chosen(form: &Params) -> PageResult<Vec<String>> {
    let ids: BTreeSet<&str> = form.all("id").filter(|id| !id.is_empty()).collect();
    if ids.len() > MOST_ROWS {
        return Err(PageError::Bad(format!("select at most {MOST_ROWS} rows at a time")));
    }
    Ok(ids.into_iter().map(str::to_owned).collect())
}

async fn act_on(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    (ids, on): (&[String], ListKind),
) -> PageResult<Done> {
    match form.get("action").unwrap_or_default() {
        "tag" => tag(web, ctx, form, traces_of(web, ctx, (ids, on)).await?).await,
        "bookmark" => Ok(Done::Bookmarked(bookmark(web, ctx, (ids.to_vec(), on), true).await?)),
        "unbookmark" => {
            Ok(Done::Unbookmarked(bookmark(web, ctx, (ids.to_vec(), on), false).await?))
        }
        "dataset" => collect(web, ctx, form, ids, on).await,
        "queue" => queue(web, ctx, form, ids.to_vec(), on).await,
        "delete" => {
            let traces = traces_of(web, ctx, (ids, on)).await?;
            let count = traces.len();
            let named = traces.iter().map(ToString::to_string).collect();
            let catalog = ctx.viewer.catalog(web);
            catalog.note_deletion(ctx.project_id(), AuditObject::Traces, named, ctx.now).await?;
            web.store.telemetry.delete_traces(ctx.project_id(), traces).await?;
            Ok(Done::Deleted(count))
        }
        other => {
            let other = ratchet_core::record::limit::elide(other, 40);
            Err(PageError::Bad(format!("unknown action {other}")))
        }
    }
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
