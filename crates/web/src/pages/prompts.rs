//! Prompts: what is live, how it changed, and one click back.

/// One prompt: its versions, what changed, who uses it.
mod one;
/// Who changed what of it.
mod changes;
/// Calls, cost, latency and scores per version.
mod metrics;
/// New versions and new prompts.
pub(super) mod editor;
mod labels;
/// Two versions side by side.
mod compare;
mod deletion;
/// Model calls of a version.
mod uses;
/// Search and filters of the list.
mod search;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_store::catalog::{PromptQuery, PromptSummary};
use ratchet_store::query::{PageNumber, TimeRange};

use crate::components::badge;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

const ROWS: u64 = 50;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/prompts", get(list))
        .route("/project/{project}/prompts/{name}", get(one::show))
        .route("/project/{project}/prompts/{name}/label", post(labels::set))
        .route("/project/{project}/prompts/{name}/tags", post(labels::set_tags))
        .route(
            "/project/{project}/prompts/{name}/delete",
            get(deletion::ask).post(deletion::delete),
        )
        .route("/project/{project}/prompt-editor", get(editor::show).post(editor::save))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let text = |name: &str| ctx.params.get(name).map(str::to_owned);
    let query = PromptQuery {
        project: ctx.project_id(),
        name: text("name"),
        text: text("text"),
        label: text("label"),
        tag: text("tag"),
        updated: TimeRange::default(),
        page: at,
    };
    let prompts = web.store.catalog.prompts(query).await?;
    let total = prompts.total.unwrap_or_default();
    let mut page = Page::new(Section::Prompts, "Prompts");
    page.summary = html! {
        (figure::counted(total, "prompt")) "."
    };
    if ctx.viewer.can_change() {
        page.action = html! {
            a.button href=(ctx.to(&["ab-tests"])) { "A/B tests" } " "
            a.button href=(ctx.to(&["playground"])) { "Playground" } " "
            a.button.primary href=(editor::link(&ctx, None)) { "New prompt" }
        };
    }
    page.body = html! {
        @if ctx.params.get("done") == Some("deleted") { (toast::toast("Prompt deleted")) }
        @if total > 0 || search::is_narrowed(&ctx) { (search::bar(&ctx)) }
        @if total > 0 {
            (table::table(&rows(&prompts.rows, &ctx)))
            (table::numbers(&ctx.here().without("done"), at, total))
        } @else if search::is_narrowed(&ctx) { (search::nothing(&ctx)) } @else { (nothing(&ctx)) }
    };
    Ok(page.show(&ctx))
}

fn rows(prompts: &[PromptSummary], ctx: &RequestContext) -> Table {
    let row = |prompt: &PromptSummary| Row {
        id: prompt.name.clone(),
        link: Some(ctx.to(&["prompts", &prompt.name])),
        cells: vec![
            html! { bdi { (prompt.name) } },
            html! { (prompt.kind.as_str()) },
            html! { (prompt.versions.len()) },
            labels::labels(&prompt.labels),
            html! { span.badges { @for tag in &prompt.tags {
                a href=(ctx.to(&["prompts"]).with("tag", tag)) { (badge::tag(tag)) }
            } } },
            figure::ago(prompt.last_updated_at, &ctx.time),
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Name"),
        Column::text("Type"),
        Column::number("Versions"),
        Column::text("Labels"),
        Column::wide("Tags"),
        Column::text("Updated"),
    ];
    let rows = prompts.iter().map(row).collect();
    Table { caption: "Prompts".to_owned(), columns, rows, select_for: None }
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A prompt has versions; the label " code { "production" } " selects the one agents get." }
        (copy::snippet(&ctx.sdk_code("from langfuse import get_client\n\nget_client().create_prompt(name=\"greeting\", prompt=\"Hello {{name}}\", labels=[\"production\"])")))
        @if ctx.viewer.can_change() {
            p { a.button href=(editor::link(ctx, None)) { "New prompt" } }
        }
    };
    empty::empty("No prompts yet", &how)
}
