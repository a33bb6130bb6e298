use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::trace::Content;
use ratchet_stages::record;
use ratchet_store::catalog::{
    AuditObject, Collected, Dataset, NewDatasetItem, NewQueueItem, Queue, QueueId,
};
use ratchet_store::query::PageNumber;

use super::change::{Done, came_from};
use super::row::ListedRow;
use super::views::{action, back};
use crate::components::figure;
use crate::filter::ListKind;
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// The form that takes the rows one has chosen.
pub(super) const FORM: &str = "chosen";
/// Rows that one form may name.
const MOST_ROWS: usize = 1_000;
const MAX_TAG: usize = 200;
/// Bytes of a tag, whatever its characters.
const TAG_BYTES: usize = 4 * MAX_TAG;
/// Datasets and queues that are offered, newest first.
const OFFERED: PageNumber = PageNumber { page: 1, limit: 100 };
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
    let (catalog, project) = (&web.store.catalog, ctx.project_id());
    let datasets = catalog.datasets(project.clone(), OFFERED).await?.rows;
    let queues = catalog.queues(project, OFFERED).await?.rows;
    Ok(Targets { datasets, queues })
}

/// The bar at the bottom: what can be done with the chosen rows.
pub(super) fn bar(ctx: &RequestContext, on: ListKind, targets: &Targets) -> Markup {
    html! {
        form.chosen #(FORM) method="post" action=(action(ctx, on, "do")) data-selection hidden {
            (ctx.viewer.form_token.field())
            (back(ctx, on))
            p { strong data-selected { "0" } " selected" }
            span.chosen-group {
                label.sr for="chosen-tag" { "Tag" }
                input #chosen-tag type="text" name="tag" maxlength=(MAX_TAG) placeholder="tag";
                button.button type="submit" name="action" value="tag" { (of_traces(on, "Tag")) }
            }
            @if !targets.datasets.is_empty() {
                span.chosen-group {
                    label.sr for="chosen-dataset" { "Dataset" }
                    select #chosen-dataset name="dataset" {
                        @for dataset in &targets.datasets { option value=(dataset.name) { (dataset.name) } }
                    }
                    button.button type="submit" name="action" value="dataset" { "Add to dataset" }
                }
            }
            @if !targets.queues.is_empty() {
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
            @if on == ListKind::Observations {
                p.muted { "Tagging and deleting apply to the whole traces of the selected observations." }
            }
        }
    }
}

/// Label of an action; names traces where the rows are observations.
fn of_traces(on: ListKind, what: &str) -> String {
    match on {
        ListKind::Traces => what.to_owned(),
        ListKind::Observations => format!("{what} their traces"),
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
        ("dataset", on) => collect(&web, &ctx, &form, ids, on).await?,
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

/// The traces that rows are or belong to, each once.
async fn traces_of(
    web: &Web,
    ctx: &RequestContext,
    (ids, on): (&[String], ListKind),
) -> PageResult<Vec<TraceId>> {
    let bad = |why: ratchet_core::id::IdError| PageError::Bad(why.to_string());
    if on == ListKind::Traces {
        return ids.iter().map(|id| TraceId::parse(id).map_err(bad)).collect();
    }
    let mut traces = BTreeSet::new();
    for id in ids {
        let id = ObservationId::parse(id).map_err(bad)?;
        let seen = web.store.telemetry.observation(ctx.project_id(), id).await?;
        traces.extend(seen.map(|seen| seen.trace));
    }
    Ok(traces.into_iter().collect())
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
    };
    let queue = form.get("queue").unwrap_or_default().to_owned();
    let to = QueueId { project: ctx.project_id(), queue };
    let new = |object| NewQueueItem { kind, object, status: ItemStatus::Pending };
    let items: Vec<NewQueueItem> = ids.into_iter().map(new).collect();
    let count = items.len();
    ctx.viewer.catalog(web).add_queue_items(to, items, ctx.now).await?;
    Ok(Done::Queued(count))
}

/// What a row becomes as an item of a dataset.
struct Source {
    trace: String,
    observation: Option<String>,
    content: Content,
}

async fn collect(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    ids: Vec<String>,
    on: ListKind,
) -> PageResult<Done> {
    let dataset = form.get("dataset").unwrap_or_default().to_owned();
    let mut items = Vec::new();
    for id in ids {
        let Some(Source { trace, observation, content }) = source(web, ctx, &id, on).await? else {
            continue;
        };
        items.push(NewDatasetItem {
            dataset_name: dataset.clone(),
            input: content.input.as_ref().map(Payload::to_json),
            expected_output: content.output.as_ref().map(Payload::to_json),
            source_trace: Some(trace),
            source_observation: observation,
            ..NewDatasetItem::default()
        });
    }
    let count = items.len();
    let catalog = ctx.viewer.catalog(web);
    match catalog.save_dataset_items(ctx.project_id(), items, ctx.now).await? {
        Collected::Kept(_) => Ok(Done::Collected(count)),
        Collected::Unfit(unfit) => {
            let first = unfit.into_iter().next().map(|(_, problem)| problem).unwrap_or_default();
            Err(PageError::Bad(format!("nothing was added because a row is not valid: {first}")))
        }
    }
}

async fn source(
    web: &Web,
    ctx: &RequestContext,
    id: &str,
    on: ListKind,
) -> PageResult<Option<Source>> {
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    let bad = |why: ratchet_core::id::IdError| PageError::Bad(why.to_string());
    match on {
        ListKind::Traces => {
            let trace = telemetry.trace(project, TraceId::parse(id).map_err(bad)?).await?;
            Ok(trace.map(|trace| Source {
                trace: trace.id.to_string(),
                observation: None,
                content: trace.content.unwrap_or_default(),
            }))
        }
        ListKind::Observations => {
            let id = ObservationId::parse(id).map_err(bad)?;
            let seen = telemetry.observation(project, id).await?;
            Ok(seen.map(|seen| Source {
                trace: seen.trace.to_string(),
                observation: Some(seen.id.to_string()),
                content: seen.content.unwrap_or_default(),
            }))
        }
    }
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
