//! Trace detail: tree, content and details side by side.

/// The trace with its observations and scores.
mod run;
/// Which agent version it ran.
mod agent_version;
/// Models and arguments in the tree.
mod arguments;
/// Observation tree and timeline strip.
mod outline;
/// Content views: conversation, raw, changes, graph.
mod content;
/// Input diff against the previous model call.
mod changes;
/// Timing, tokens, cost, metadata, scores and comments.
mod facts;
/// Tokens and cost by usage type.
mod kinds;
/// Comment and annotation forms.
pub(super) mod forms;
/// Adding to queues, opening in the playground, going to other traces.
mod actions;
/// Adding to a dataset with an expected output.
mod to_dataset;
mod correction;
mod deletion;
/// Payloads and media, loaded on demand.
pub(super) mod payload;
/// HTTP range requests for media.
mod byte_range;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::id::TraceId;
use ratchet_core::record::trace::Trace;

use crate::assets;
use crate::components::{badge, copy, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::lists;
use crate::request_context::{Link, RequestContext};
use crate::viewer::Viewer;
use crate::web::Web;

use content::View;
use run::{Subject, TraceRun};

pub(super) fn routes() -> Router<Web> {
    const TRACE: &str = "/project/{project}/traces/{trace}";
    let of_trace = |rest: &str| format!("{TRACE}{rest}");
    let of_step = |rest: &str| format!("{TRACE}/observations/{{observation}}{rest}");
    Router::new()
        .route(TRACE, get(show))
        .route(&of_trace("/rows"), get(rows))
        .route(&of_trace("/matching-rows"), get(matching_rows))
        .route(&of_trace("/content"), get(trace_content))
        .route(&of_trace("/comments"), post(forms::comment))
        .route(&of_trace("/scores"), post(forms::score))
        .route(&of_trace("/queue"), post(actions::queue))
        .route(&of_trace("/bookmark"), post(actions::bookmark))
        .route(&of_trace("/publish"), post(actions::publish))
        .route(&of_trace("/dataset"), get(to_dataset::show).post(to_dataset::add))
        .route(&of_trace("/correction"), get(correction::show).post(correction::save))
        .route(&of_trace("/delete"), get(deletion::ask).post(deletion::delete))
        .route(&of_trace("/download"), get(lists::download))
        .route(&of_trace("/payload"), get(payload::of_trace))
        .route(&of_trace("/picture"), get(payload::picture_of_trace))
        .route(&of_step("/content"), get(step_content))
        .route(&of_step("/payload"), get(payload::of_step))
        .route(&of_step("/picture"), get(payload::picture_of_step))
        .route("/project/{project}/media/{media}", get(payload::media))
        .route("/trace/{trace}", get(find))
}

/// Path parameters of a trace.
type TracePath = Path<(String, String)>;
/// Path parameters of an observation.
type StepPath = Path<(String, String, String)>;

fn trace_id(text: &str) -> PageResult<TraceId> {
    TraceId::parse(text).map_err(|_| PageError::not_there("trace"))
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<Markup> {
    let run = TraceRun::load(&web, &ctx, trace_id(&trace)?).await?;
    let wanted = ctx.params.get("observation");
    let selected = run.step_named(wanted);
    // Looked up by its id: the tree of a very long trace does not hold all of its steps.
    let step = match wanted.map(run::step_id) {
        Some(Ok(id)) => match Subject::step(&web, &ctx, &run.trace.id, &id).await {
            Err(PageError::NotFound(_)) => None,
            found => Some(found?),
        },
        Some(Err(_)) | None => None,
    };
    let is_found = step.is_some();
    let subject = match step {
        Some(step) => step,
        None => Subject::trace(&web, &ctx, &run).await?,
    };
    let view = View::asked(&ctx);
    let mut page = Page::new(Section::Traces, name(&run.trace));
    page.crumbs = vec![("Traces".to_owned(), Section::Traces.link(&ctx))];
    page.crumbs.extend(run.trace.session.as_ref().map(|session| {
        let session = session.to_string();
        (format!("Session {session}"), ctx.to(&["sessions", &session]))
    }));
    page.summary = summary(&run, &ctx);
    let neighbours = lists::neighbours(&web, &ctx, &run.trace).await?;
    page.action = html! {
        (actions::agents(&ctx, &run.trace)) (kinds::menu_of(&run.spent())) (copy::id(&run.trace.id.to_string()))
        (actions::marks(&web, &ctx, &run.trace).await?)
        (deletion::more(&ctx, &run.trace))
        (actions::neighbours(&ctx, &neighbours))
    };
    let content = content::content(&web, &ctx, &subject, view).await?;
    let tree = outline::tree(&web, &ctx, &run, selected).await?;
    page.body = html! {
        @if let (Some(wanted), None) = (wanted, selected) {
            p.notice role="status" {
                @if is_found {
                    "Only the first " (figure::grouped(run.tree.steps.len() as u64))
                    " observations are shown; " code { (wanted) } " is not among them."
                } @else {
                    "Observation " code { (wanted) } " not found in this trace."
                }
            }
        }
        div.trace-page data-trace=(link(&ctx, &run.trace.id).path()) {
            (outline::strip(&ctx, &run, selected))
            div.panes {
                section.pane.tree-pane aria-label="Observations" { (tree) }
                div.split data-split="tree" role="separator" aria-orientation="vertical" aria-label="Resize tree" {}
                section.pane.content-pane #content aria-label="Content" tabindex="-1" { (content) }
                div.split data-split="facts" role="separator" aria-orientation="vertical" aria-label="Resize details" {}
                aside.pane.facts-pane #facts aria-label="Details" { (facts::facts(&web, &ctx, &subject).await?) }
            }
        }
        @if let Some(words) = forms::done(&ctx) { (toast::toast(words)) }
        script type="module" src=(assets::address("trace.js")) {}
    };
    Ok(page.show(&ctx))
}

fn name(trace: &Trace) -> String {
    let name = trace.name.clone().filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "Unnamed trace".to_owned())
}

/// Link to a trace. The filter of the list that the page was opened from is kept.
fn link(ctx: &RequestContext, trace: &TraceId) -> Link {
    lists::trace_link(ctx, &trace.to_string())
}

/// One-line summary.
fn summary(run: &TraceRun, ctx: &RequestContext) -> Markup {
    let sums = &run.trace.summary;
    let models = run.tree.steps.iter().filter(|step| step.model.is_some()).count() as u64;
    let lasted = sums.start.zip(sums.end).map(|(start, end)| end.since(start));
    let errors = sums.levels.error;
    html! {
        (figure::when(run.trace.timestamp, &ctx.time)) ", "
        @if let Some(nanos) = lasted { (figure::duration(nanos)) ", " }
        (figure::counted(sums.levels.total(), "observation")) ", " (figure::counted(models, "model call")) ", "
        @if is_at_least(&run.trace) { "at least " }
        (figure::tokens_in_part(sums.total_tokens, sums.approximate_cost)) " tokens, "
        @match sums.cost {
            Some(_) => {
                @if is_at_least(&run.trace) { "at least " }
                (figure::cost_in_part(sums.cost, sums.approximate_cost))
                @if let Some(share) = figure::of_which(sums.approximate_cost) { " (" (share) ")" }
            },
            None => { "cost unknown" },
        }
        @if errors > 0 { ", " span.bad { (figure::counted(errors, "error")) } }
        " " span.badges { @for tag in &run.trace.tags { (badge::tag(tag)) } }
    }
}

/// Whether the cost is a lower bound: a model call of a chat was interrupted or retried.
fn is_at_least(trace: &Trace) -> bool {
    let metadata = trace.content.iter().flat_map(|content| &content.metadata);
    metadata.into_iter().any(|(key, value)| key == "at_least" && value.as_str() == "true")
}

/// A range of tree lines, fetched by a script.
async fn rows(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<Markup> {
    let run = TraceRun::load_bare(&web, &ctx, trace_id(&trace)?).await?;
    let from = ctx.params.get("from").and_then(|from| from.parse().ok()).unwrap_or_default();
    let to = ctx.params.get("to").and_then(|to| to.parse().ok()).unwrap_or(usize::MAX);
    outline::some_lines(&web, &ctx, &run, (from, to)).await
}

/// Numbers of the tree lines that match a search, fetched by a script.
async fn matching_rows(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<String> {
    let run = TraceRun::load_bare(&web, &ctx, trace_id(&trace)?).await?;
    let text = ctx.params.get("text").unwrap_or_default();
    if text.is_empty() {
        return Ok(String::new());
    }
    outline::matching_lines(&web, &ctx, &run, text).await
}

async fn trace_content(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<Markup> {
    let run = TraceRun::load(&web, &ctx, trace_id(&trace)?).await?;
    fragment(&web, &ctx, &Subject::trace(&web, &ctx, &run).await?).await
}

async fn step_content(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace, step)): StepPath,
) -> PageResult<Markup> {
    let step = run::step_id(&step)?;
    fragment(&web, &ctx, &Subject::step(&web, &ctx, &trace_id(&trace)?, &step).await?).await
}

/// Content and details panes as a fragment.
async fn fragment(web: &Web, ctx: &RequestContext, subject: &Subject) -> PageResult<Markup> {
    let content = content::content(web, ctx, subject, View::asked(ctx)).await?;
    let facts = facts::facts(web, ctx, subject).await?;
    Ok(html! { div data-part="content" { (content) } div data-part="facts" { (facts) } })
}

/// Redirect for trace URLs of older SDKs, which have no project.
async fn find(
    State(web): State<Web>,
    viewer: Viewer,
    Path(trace): Path<String>,
) -> PageResult<Redirect> {
    let id = trace_id(&trace)?;
    for (project, _) in viewer.projects(&web).await? {
        let found = web.store.telemetry.find_traces(project.id.clone(), vec![id.clone()]).await?;
        if !found.is_empty() {
            let link = Link::to_project(&project.id, &["traces", &trace]);
            return Ok(Redirect::to(&link.to_string()));
        }
    }
    Err(PageError::not_there("trace"))
}
