//! Targets that the server runs by itself, and its runs of them.

/// The form that starts a run.
mod start;

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::experiment::plan::{ServerTarget, TargetDefinition};
use ratchet_core::time::Timestamp;
use ratchet_stages::experiment::service::ExperimentError;
use ratchet_stages::experiment::worker::ExperimentWorker;

use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::experiments::{failed, service};
use crate::request_context::RequestContext;
use crate::web::Web;

const NAME: FormField<'_> = FormField {
    name: "name",
    label: "Name",
    hint: "Used by runs. A target with the same name is replaced.",
};
const DEFINITION: FormField<'_> = FormField {
    name: "definition",
    label: "Definition",
    hint: "A target file in TOML, of the kind http, agentcore, agentcore-arn or prompt. Refer to secrets \
           as { env = \"NAME\" }.",
};
const SECRETS: FormField<'_> = FormField {
    name: "secrets",
    label: "Secrets",
    hint: "One per line, such as “TOKEN=…”. Encrypted at rest and never shown again. Leave out those that \
           stay; all are required again when an address changes.",
};

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/targets", get(show).post(keep))
        .route("/project/{project}/targets/{target}", get(edit))
        .route("/project/{project}/targets/{target}/remove", post(remove))
        .route("/project/{project}/experiments/start", get(start::show).post(start::start))
}

pub(super) fn worker(web: &Web) -> PageResult<&ExperimentWorker> {
    let none = || PageError::Bad("this server runs no experiments by itself".to_owned());
    web.experiments().map(AsRef::as_ref).ok_or_else(none)
}

/// Targets of this server that the project can run, by name.
pub(super) async fn targets(web: &Web, ctx: &RequestContext) -> PageResult<Vec<ServerTarget>> {
    let Some(worker) = web.experiments() else { return Ok(Vec::new()) };
    worker.targets().list(&service(web, ctx)).await.map_err(failed)
}

/// Puts an error beside the field that it is about.
fn refused(entered: Entered, error: ExperimentError, other: &str) -> PageResult<Entered> {
    match error {
        ExperimentError::Store(error) => Err(PageError::Store(error)),
        ExperimentError::Invalid { field, problem } => {
            let field = if entered.has(field) { field } else { other };
            Ok(entered.and_wrong(field, problem))
        }
        error => Ok(entered.and_wrong(other, error.to_string())),
    }
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    drawn(&web, &ctx, &Entered::preset(&[])).await
}

async fn drawn(web: &Web, ctx: &RequestContext, entered: &Entered) -> PageResult<Markup> {
    let known = targets(web, ctx).await?;
    let done = match ctx.params.get("done") {
        Some("saved") => Some("Target saved"),
        Some("removed") => Some("Target removed"),
        _ => None,
    };
    let mut page = Page::new(Section::Targets, "Targets");
    page.summary = html! { "Agents that this server can run on a dataset: " (known.len()) "." };
    page.body = html! {
        @if let Some(done) = done { (toast::toast(done)) }
        @if known.is_empty() { (nothing(ctx)) } @else { (list(&known, ctx)) }
        @if ctx.viewer.can_change() && !known.is_empty() {
            p {
                a.button.primary href=(ctx.to(&["experiments", "start"])) { "Start run" } " "
                a href=(ctx.to(&["experiments"])) { "Runs" }
            }
        }
        @if ctx.viewer.can_own() {
            section.settings #add { h2 { "Add target" } (form(ctx, entered)) }
        }
    };
    Ok(page.show(ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A target is an agent: an HTTP endpoint, an AgentCore agent, or a prompt and a model. Owners "
            "can add one below. The operator of the server can add commands in ratchet.toml." }
        p.muted { "From your own machine, no target on the server is needed:" }
        (copy::snippet(&ctx.command("experiment run --dataset NAME --target agent.toml")))
        p {
            @if ctx.viewer.can_own() { a.button href="#add" { "Add target" } " " }
            a.button href=(ctx.to(&["datasets"])) { "Datasets" }
        }
    };
    empty::empty("No targets yet", &how)
}

fn list(known: &[ServerTarget], ctx: &RequestContext) -> Markup {
    let mut columns = vec![
        Column::wide("Target"),
        Column::text("Kind"),
        Column::text("Defined by"),
        Column::text("Environments"),
        Column::text("Secrets"),
        Column::text("Updated"),
    ];
    if ctx.viewer.can_own() {
        columns.push(Column::text("Actions"));
    }
    let rows = known.iter().map(|one| row(one, ctx)).collect();
    table::table(&Table { caption: "Targets".to_owned(), columns, rows, select_for: None })
}

fn row(one: &ServerTarget, ctx: &RequestContext) -> Row {
    let is_stored = one.definition.is_some();
    let updated = one.updated_at.as_deref().and_then(|at| Timestamp::parse(at).ok());
    let mut cells = vec![
        html! { bdi { (one.name) } },
        html! { (one.kind) },
        html! { @if is_stored { "project" } @else { "server operator" } },
        html! { bdi { (one.environments.join(", ")) } },
        html! { bdi { (one.secrets.join(", ")) } },
        html! { @match updated {
            Some(at) => (figure::ago(at, &ctx.time)),
            None => "–",
        } },
    ];
    if ctx.viewer.can_own() {
        cells.push(html! { @if is_stored {
            form.inline method="post" action=(ctx.to(&["targets", &one.name, "remove"])) {
                (ctx.viewer.form_token.field())
                button.quiet type="submit" { "Remove" span.sr { " " (one.name) } }
            }
        } });
    }
    let can_edit = is_stored && ctx.viewer.can_own();
    let link = can_edit.then(|| ctx.to(&["targets", &one.name]));
    Row { id: one.name.clone(), link, cells, failed: false }
}

fn form(ctx: &RequestContext, entered: &Entered) -> Markup {
    html! {
        form method="post" action=(ctx.to(&["targets"])) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            (field::line(NAME, entered))
            (field::area(DEFINITION, 10, entered))
            (field::area(SECRETS, 3, entered))
            button.button.primary type="submit" { "Save target" }
        }
    }
}

async fn edit(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_own()?;
    let known = targets(&web, &ctx).await?.into_iter().find(|one| one.name == name);
    let definition = known.and_then(|one| one.definition);
    let definition = definition.ok_or_else(|| PageError::not_there("target"))?;
    let entered = Entered::preset(&[("name", &name), ("definition", &definition)]);
    let mut page = Page::new(Section::Targets, &name);
    page.crumbs = vec![("Targets".to_owned(), ctx.to(&["targets"]))];
    page.body = html! { section.settings { h2 { "Definition" } (form(&ctx, &entered)) } };
    Ok(page.show(&ctx))
}

async fn keep(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let mut entered = Entered::new(form);
    let mut secrets = BTreeMap::new();
    for line in entered.lines("secrets") {
        match line.split_once('=') {
            Some((name, value)) => {
                secrets.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            None => entered.wrong("secrets", "each line must be “NAME=value”"),
        }
    }
    if entered.is_fine() {
        let definition = entered.raw("definition").replace("\r\n", "\n");
        let request = TargetDefinition { definition, secrets };
        let name = entered.text("name").to_owned();
        let saved = worker(&web)?.targets();
        match saved.save(&service(&web, &ctx), (&name, request), ctx.now).await {
            Ok(_) => return Ok(back(&ctx, "saved")),
            Err(error) => entered = refused(entered, error, "name")?,
        }
    }
    let shown = drawn(&web, &ctx, &entered).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

async fn remove(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    ctx.viewer.catalog(&web).delete_target(ctx.project_id(), name, ctx.now).await?;
    Ok(back(&ctx, "removed"))
}

fn back(ctx: &RequestContext, done: &str) -> Response {
    Redirect::to(&ctx.to(&["targets"]).with("done", done).to_string()).into_response()
}
