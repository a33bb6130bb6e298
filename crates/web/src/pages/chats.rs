//! Pages of chats with agents, the same that `ratchet chat` opens.

mod conversation;
/// The page of one chat.
mod one;
/// Menus of a chat.
mod menu;
mod turns;
/// Questions and permission prompts, and their forms.
mod permission_prompts;
/// Which types of events are shown.
mod toggles;
mod new_chat;
mod multipart_form;
mod actions;
/// Results of form posts.
mod outcome;
mod thumbs;
/// The event stream.
mod follow;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::chat::state::ChatStateName;
use ratchet_core::chat::workspace::WorkspaceSource;
use ratchet_core::id::SessionId;
use ratchet_core::record::limit::elide;
use ratchet_stages::chat::Chats;
use ratchet_store::catalog::Chat;
use ratchet_store::query::{PageNumber, SessionEnds};

use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::message_preview;
use crate::page_error::{PageError, PageResult};
use crate::pages::target_chats;
use crate::request_context::RequestContext;
use crate::viewer::Identity;
use crate::web::Web;

const ROWS: u64 = 50;

pub(super) fn routes() -> Router<Web> {
    let of = |what: &str| format!("/project/{{project}}/chats/{{chat}}{what}");
    Router::new()
        .route("/project/{project}/chats", get(list))
        .route("/project/{project}/chats/new", get(new_chat::form).post(new_chat::begin))
        .route(&of(""), get(one::show))
        .route(&of("/since"), get(one::since))
        .route(&of("/events"), get(follow::events))
        .route(&of("/picture"), get(follow::picture))
        .route(&of("/messages"), post(actions::send))
        .route(&of("/stop"), post(actions::stop))
        .route(&of("/answers"), post(actions::answer))
        .route(&of("/title"), post(actions::rename))
        .route(&of("/mode"), post(actions::set_mode))
        .route(&of("/fork"), post(actions::fork))
        .route(&of("/rewind"), post(actions::rewind))
        .route(&of("/close"), post(actions::close))
        .route(&of("/thumbs"), post(thumbs::keep))
}

/// The chats of this server.
fn agents(web: &Web) -> PageResult<&Arc<Chats>> {
    let none = || PageError::NotFound("this server runs no agents".to_owned());
    web.chats().ok_or_else(none)
}

/// The same for the viewer, if the role permits chatting: members of the project and owners. The
/// viewer is named in the audit log.
fn hands(web: &Web, ctx: &RequestContext) -> PageResult<Chats> {
    ctx.viewer.may_change()?;
    Ok(agents(web)?.by(ctx.viewer.actor()))
}

/// Who named a folder: the local user, if there is no sign-in.
fn workspace_source(ctx: &RequestContext) -> WorkspaceSource {
    match ctx.viewer.who {
        Identity::Anyone => WorkspaceSource::OwnMachine,
        Identity::Person(_) => WorkspaceSource::Network,
    }
}

/// Returns a chat of the project; one of another project is not found.
async fn find(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<Chat> {
    let id = SessionId::parse(id).map_err(|_| PageError::not_there("chat"))?;
    agents(web)?.service.chat(ctx.project_id(), id).await.map_err(outcome::refusal)
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let mut page = Page::new(Section::Chats, "Chat");
    let targets = target_chats::section(&web, &ctx).await?;
    let Some(chats) = web.chats() else {
        page.body = html! { (empty::empty("This server runs no agents.", &html! {})) (targets) };
        return Ok(page.show(&ctx));
    };
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let found = chats.service.chats(ctx.project_id(), at).await;
    let found = found.map_err(outcome::refusal)?;
    let ids = found.rows.iter().map(|chat| chat.id.clone()).collect();
    let ends = web.store.telemetry.session_ends(ctx.project_id(), ids).await?;
    let total = found.total.unwrap_or_default();
    page.summary = html! {
        "Conversations with agents that run on this server. "
        (figure::grouped(total)) @if total == 1 { " chat." } @else { " chats." }
    };
    if ctx.viewer.can_change() {
        let new = ctx.to(&["chats", "new"]);
        page.action = html! { a.button.primary href=(new) { "New chat" } };
    }
    page.body = html! {
        @if total == 0 { (nothing(&ctx)) } @else {
            (table::table(&rows(&found.rows, &ends, &ctx)))
            (table::numbers(&ctx.here(), at, total))
        }
        (targets)
    };
    Ok(page.show(&ctx))
}

fn rows(chats: &[Chat], ends: &[SessionEnds], ctx: &RequestContext) -> Table {
    let row = |(chat, ends): (&Chat, &SessionEnds)| {
        let input = ends.first.as_ref().and_then(|trace| trace.content.as_ref()?.input.as_ref());
        let opening =
            input.map(|input| message_preview::opening(input.as_str())).unwrap_or_default();
        let id = chat.id.to_string();
        Row {
            link: Some(ctx.to(&["chats", &id])),
            cells: vec![
                html! { bdi { (title(chat)) } },
                state(chat.status.state),
                html! { span title=(opening) { bdi { (opening) } } },
                html! { code title=(chat.workspace) { bdi { (folder_name(&chat.workspace)) } } },
                html! { (figure::grouped(chat.status.turns)) },
                figure::cost(Some(chat.status.cost)),
                figure::ago(chat.updated_at, &ctx.time),
            ],
            failed: chat.status.state == ChatStateName::Failed,
            id,
        }
    };
    let columns = vec![
        Column::text("Chat"),
        Column::text("State"),
        Column::wide("First message"),
        Column::text("Workspace"),
        Column::number("Turns"),
        Column::number("Cost"),
        Column::number("Changed"),
    ];
    let rows = chats.iter().zip(ends).map(row).collect();
    Table { caption: "Conversations".to_owned(), columns, rows, select_for: None }
}

/// Title of a chat, or the start of its id.
fn title(chat: &Chat) -> String {
    let short: String = chat.id.to_string().chars().take(8).collect();
    match &chat.title {
        Some(title) => elide(title, 120).into_owned(),
        None => format!("Chat {short}"),
    }
}

fn folder_name(path: &str) -> &str {
    path.rsplit('/').find(|name| !name.is_empty()).unwrap_or("/")
}

/// State of a chat as a badge.
fn state(state: ChatStateName) -> Markup {
    let (class, word) = match state {
        ChatStateName::Starting => ("code", "starting"),
        ChatStateName::Idle => ("good", "ready"),
        ChatStateName::Running => ("code", "working"),
        ChatStateName::Waiting => ("warn", "waiting for you"),
        ChatStateName::Parked => ("", "parked"),
        ChatStateName::Failed => ("bad", "stopped"),
        ChatStateName::Closed => ("", "closed"),
    };
    html! { span class={ "badge " (class) } { (word) } }
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "Start one here with " strong { "New chat" } ", or in a terminal; both show the same \
             chat, and either can answer:" }
        (copy::snippet(&ctx.command("chat --workspace ~/project")))
        @if ctx.viewer.can_change() {
            p { a.button href=(ctx.to(&["chats", "new"])) { "New chat" } }
        }
        p.muted { "The agent is the " code { "claude" } " program of the machine that runs the \
             server. Set the folders in which it may work in " code { "ratchet.toml" } ":" }
        (copy::snippet("[chat]\nroots = [\"/srv/projects\"]"))
    };
    empty::empty("No chats yet.", &how)
}
