//! A prompt tried on several models side by side, before anybody relies on it.

/// What is to be tried, as the fields of a form.
mod fields;
mod form;
/// The form filled in from a recorded model call.
mod recorded_call;
/// Asking, all at once and within bounds.
mod model_calls;
/// What came back, and how it is kept.
mod outcome;
/// Keeping it: as an item of a dataset, or as a version of the prompt.
mod save;
/// Tools and the schema of the answer.
mod tools;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::prompt::{PRODUCTION, Pick};
use ratchet_store::catalog::{LlmConnection, Prompt, PromptReferences};
use ratchet_store::query::PageNumber;

use crate::components::{empty, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

use fields::PlaygroundForm;

pub(super) use model_calls::{ModelResult, test_connection};
pub(super) use outcome::facts;

/// Maximum number of connections to choose from.
const CONNECTIONS: PageNumber = PageNumber { page: 1, limit: 200 };

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/playground", get(show).post(run))
        .route("/project/{project}/playground/item", post(save::item))
        .route("/project/{project}/playground/version", post(save::version))
}

/// Data of the page.
struct PlaygroundState {
    request: PlaygroundForm,
    connections: Vec<LlmConnection>,
    datasets: Vec<String>,
    results: Vec<ModelResult>,
}

impl PlaygroundState {
    async fn set_up(web: &Web, ctx: &RequestContext, request: PlaygroundForm) -> PageResult<Self> {
        let (catalog, project) = (&web.store.catalog, ctx.project_id());
        let connections = catalog.llm_connections(project.clone(), CONNECTIONS).await?.rows;
        let datasets = catalog.datasets(project, CONNECTIONS).await?.rows;
        let datasets = datasets.into_iter().map(|dataset| dataset.name).collect();
        Ok(Self { request, connections, datasets, results: Vec::new() })
    }
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let request = match (ctx.params.get("prompt"), ctx.params.get("trace")) {
        (None, None) => PlaygroundForm::example(),
        (None, Some(trace)) => recorded_call::form(&web, &ctx, trace).await?,
        (Some(name), _) => {
            let number = ctx.params.get("version").and_then(|number| number.parse().ok());
            let live = || Pick::Label(PRODUCTION.to_owned());
            let pick = number.map_or_else(live, Pick::Version);
            let form = PlaygroundForm::of(&version(&web, &ctx, (name, pick)).await?);
            match ctx.params.get("against").and_then(|number| number.parse().ok()) {
                Some(other) => {
                    let other = version(&web, &ctx, (name, Pick::Version(other))).await?;
                    form.against(&other)
                }
                None => form,
            }
        }
    };
    let state = PlaygroundState::set_up(&web, &ctx, request).await?;
    Ok(drawn(&ctx, &state).await)
}

/// A version of a prompt. References to other prompts are filled in: that is what an agent gets.
async fn version(
    web: &Web,
    ctx: &RequestContext,
    (name, pick): (&str, Pick),
) -> PageResult<Prompt> {
    let (project, composed) = (ctx.project_id(), PromptReferences::Composed);
    let found = web.store.catalog.prompt(project, name.to_owned(), pick, composed).await?;
    found.map(|(prompt, _)| prompt).ok_or_else(|| PageError::not_there("prompt version"))
}

async fn run(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    let request = PlaygroundForm::read(&form);
    let mut state = PlaygroundState::set_up(&web, &ctx, request).await?;
    if state.request.check(&state.connections) {
        state.results = model_calls::ask(&web, &ctx, &state).await?;
    }
    Ok(drawn(&ctx, &state).await.into_response())
}

async fn drawn(ctx: &RequestContext, state: &PlaygroundState) -> Markup {
    let answers = outcome::all(ctx, state).await;
    let mut page = Page::new(Section::Prompts, "Playground");
    page.crumbs = vec![("Prompts".to_owned(), Section::Prompts.link(ctx))];
    if let Some(name) = &state.request.name {
        page.crumbs.push((name.clone(), ctx.to(&["prompts", name])));
    }
    page.summary = html! {
        "Run prompts on several models side by side. Model calls are billed by your providers."
    };
    page.body = html! {
        @if let Some(words) = save::done_message(ctx) { (toast::toast(words)) }
        @if state.connections.is_empty() { (nothing(ctx)) } @else {
            (form::form(ctx, state))
            (answers)
        }
    };
    page.show(ctx)
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "The playground uses the project's LLM connections: Anthropic, OpenAI or any compatible "
            "server. An owner adds them once; secrets are never shown again." }
        p { a.button.primary href=(ctx.to(&["settings", "connections"])) { "Manage LLM connections" } }
    };
    empty::empty("No LLM connections yet", &how)
}
