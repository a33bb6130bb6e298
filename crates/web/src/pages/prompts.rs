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
/// What people say of a version.
mod comments;
/// Model calls of a version.
mod uses;
/// Search and filters of the list.
mod search;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_store::catalog::{NameFolder, PromptQuery, PromptSummary};
use ratchet_store::query::{PageNumber, TimeRange};

use super::folders;
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
        .route("/project/{project}/prompts/{name}/comments", post(comments::comment))
        .route(
            "/project/{project}/prompts/{name}/delete",
            get(deletion::ask).post(deletion::delete),
        )
        .route("/project/{project}/prompt-editor", get(editor::show).post(editor::save))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let text = |name: &str| ctx.params.get(name).map(str::to_owned);
    let folder = folders::open(&ctx);
    // A search goes through all folders.
    let is_narrowed = search::is_narrowed(&ctx);
    let query = PromptQuery {
        project: ctx.project_id(),
        name: text("name"),
        text: text("text"),
        folder: Some(folder.to_owned()).filter(|_| !is_narrowed),
        label: text("label"),
        tag: text("tag"),
        updated: TimeRange::default(),
        page: at,
    };
    let prompts = web.store.catalog.prompts(query).await?;
    let total = prompts.total.unwrap_or_default();
    let inner = match is_narrowed {
        true => Vec::new(),
        false => web.store.catalog.prompt_folders(ctx.project_id(), folder.to_owned()).await?,
    };
    let all = total + inner.iter().map(|one| one.names).sum::<u64>();
    let is_inside = !folder.is_empty() && !is_narrowed;
    let title = if is_inside { folders::last(folder) } else { "Prompts" };
    let mut page = Page::new(Section::Prompts, title);
    if is_inside {
        page.crumbs = folders::crumbs((Section::Prompts, "Prompts"), folder, &ctx);
    }
    page.summary = html! {
        (figure::counted(all, "prompt")) "."
    };
    if ctx.viewer.can_change() {
        page.action = html! {
            a.button href=(ctx.to(&["ab-tests"])) { "A/B tests" } " "
            a.button href=(ctx.to(&["playground"])) { "Playground" } " "
            a.button.primary href=(editor::new_link(&ctx, folder)) { "New prompt" }
        };
    }
    let shown_in = if is_narrowed { "" } else { folder };
    let first = if at.page == 1 { inner.as_slice() } else { &[] };
    page.body = html! {
        @if ctx.params.get("done") == Some("deleted") { (toast::toast("Prompt deleted")) }
        @if all > 0 || is_narrowed || is_inside { (search::bar(&ctx)) }
        @if all > 0 {
            (table::table(&rows(&prompts.rows, (first, shown_in), &ctx)))
            (table::numbers(&ctx.here().without("done"), at, total))
        } @else if is_narrowed { (search::nothing(&ctx)) }
        @else if is_inside { (folders::nothing(Section::Prompts, folder, &ctx)) }
        @else { (nothing(&ctx)) }
    };
    Ok(page.show(&ctx))
}

fn rows(
    prompts: &[PromptSummary],
    (inner, folder): (&[NameFolder], &str),
    ctx: &RequestContext,
) -> Table {
    let row = |prompt: &PromptSummary| Row {
        id: prompt.name.clone(),
        link: Some(ctx.to(&["prompts", &prompt.name])),
        cells: vec![
            html! { bdi title=(prompt.name) { (folders::name_in(folder, &prompt.name)) } },
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
    let of_folder =
        |one: &NameFolder| folders::row((Section::Prompts, "prompt"), one, columns.len(), ctx);
    let rows = inner.iter().map(of_folder).chain(prompts.iter().map(row)).collect();
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
