//! Conversations with agents that run here: the same sessions that `ratchet chat` talks to.

/// One conversation.
mod one;
/// What can be set in it, and done with it.
mod menu;
/// Its turns, drawn.
mod told;
/// What the agent asks, and the forms that answer.
mod asks;
/// Which kinds of events are shown.
mod toggles;
/// A new conversation.
mod begin;
/// Forms that carry files.
mod sent;
/// What people do in a conversation.
mod deeds;
/// How what they did went.
mod outcome;
/// Thumbs, up or down.
mod thumbs;
/// What happens, as it happens.
mod follow;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::limit::elide;
use ratchet_core::major::state::StateWord;
use ratchet_core::major::workspace::Exposure;
use ratchet_stages::major::Chats;
use ratchet_store::catalog::Chat;
use ratchet_store::query::{PageNumber, SessionEnds};

use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::place::Place;
use crate::refusal::{PageResult, Refusal};
use crate::said;
use crate::visitor::Who;
use crate::web::Web;

/// Conversations on a page.
const ROWS: u64 = 50;

pub(super) fn routes() -> Router<Web> {
    let of = |what: &str| format!("/project/{{project}}/chats/{{chat}}{what}");
    Router::new()
        .route("/project/{project}/chats", get(list))
        .route("/project/{project}/chats/new", get(begin::form).post(begin::begin))
        .route(&of(""), get(one::show))
        .route(&of("/since"), get(one::since))
        .route(&of("/events"), get(follow::events))
        .route(&of("/picture"), get(follow::picture))
        .route(&of("/messages"), post(deeds::send))
        .route(&of("/stop"), post(deeds::stop))
        .route(&of("/answers"), post(deeds::answer))
        .route(&of("/title"), post(deeds::rename))
        .route(&of("/mode"), post(deeds::set_mode))
        .route(&of("/fork"), post(deeds::fork))
        .route(&of("/rewind"), post(deeds::rewind))
        .route(&of("/close"), post(deeds::close))
        .route(&of("/thumbs"), post(thumbs::keep))
}

/// The agents that the server runs.
fn agents(web: &Web) -> PageResult<&Arc<Chats>> {
    let none = || Refusal::NotFound("this server runs no agents".to_owned());
    web.talking.get().map(|talking| &talking.chats).ok_or_else(none)
}

/// The same in the hands of whoever looks, if they may have agents run: members of the project and
/// owners. What they do is noted as theirs.
fn hands(web: &Web, place: &Place) -> PageResult<Chats> {
    place.visitor.may_change()?;
    Ok(agents(web)?.by(place.visitor.actor()))
}

/// Who counts as naming a folder: whoever sits at this machine, if nobody signs in.
fn exposure(place: &Place) -> Exposure {
    match place.visitor.who {
        Who::Anyone => Exposure::OwnMachine,
        Who::Person(_) => Exposure::Network,
    }
}

/// A conversation of the project; one of another project is not there.
async fn find(web: &Web, place: &Place, id: &str) -> PageResult<Chat> {
    let id = SessionId::parse(id).map_err(|_| Refusal::not_there("chat"))?;
    agents(web)?.major.chat(place.project_id(), id).await.map_err(outcome::refusal)
}

async fn list(State(web): State<Web>, place: Place) -> PageResult<Markup> {
    let mut page = Page::new(Section::Chats, "Chat");
    let Some(talking) = web.talking.get() else {
        page.body = empty::empty("This server runs no agents.", &html! {});
        return Ok(page.show(&place));
    };
    let at = PageNumber { page: place.params.page(), limit: ROWS };
    let found = talking.chats.major.chats(place.project_id(), at).await;
    let found = found.map_err(outcome::refusal)?;
    let ids = found.rows.iter().map(|chat| chat.id.clone()).collect();
    let ends = web.store.telemetry.session_ends(place.project_id(), ids).await?;
    let total = found.total.unwrap_or_default();
    page.summary = html! {
        "Agents that work here, and whoever talks to them. "
        (figure::grouped(total)) @if total == 1 { " conversation." } @else { " conversations." }
    };
    if place.visitor.can_change() {
        let new = place.to(&["chats", "new"]);
        page.action = html! { a.button.primary href=(new) { "New chat" } };
    }
    page.body = if total == 0 {
        nothing()
    } else {
        html! {
            (table::table(&rows(&found.rows, &ends, &place)))
            (table::numbers(&place.here(), at, total))
        }
    };
    Ok(page.show(&place))
}

fn rows(chats: &[Chat], ends: &[SessionEnds], place: &Place) -> Table {
    let row = |(chat, ends): (&Chat, &SessionEnds)| {
        let input = ends.first.as_ref().and_then(|trace| trace.content.as_ref()?.input.as_ref());
        let opening = input.map(|input| said::opening(input.as_str())).unwrap_or_default();
        let id = chat.id.to_string();
        Row {
            link: Some(place.to(&["chats", &id])),
            cells: vec![
                html! { bdi { (title(chat)) } },
                state(chat.standing.state),
                html! { span title=(opening) { bdi { (opening) } } },
                html! { code title=(chat.workspace) { bdi { (folder_name(&chat.workspace)) } } },
                html! { (figure::grouped(chat.standing.turns)) },
                figure::cost(Some(chat.standing.cost)),
                figure::ago(chat.updated_at, place.now),
            ],
            failed: chat.standing.state == StateWord::Failed,
            id,
        }
    };
    let columns = vec![
        Column::text("Chat"),
        Column::text("State"),
        Column::wide("Begins with"),
        Column::text("Workspace"),
        Column::number("Turns"),
        Column::number("Cost"),
        Column::number("Changed"),
    ];
    let rows = chats.iter().zip(ends).map(row).collect();
    Table { caption: "Conversations".to_owned(), columns, rows, select_for: None }
}

/// What a conversation is called; the beginning of its id if nobody named it.
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

/// What a conversation does, in a word of its own.
fn state(state: StateWord) -> Markup {
    let (class, word) = match state {
        StateWord::Starting => ("code", "starting"),
        StateWord::Idle => ("good", "ready"),
        StateWord::Running => ("code", "working"),
        StateWord::Waiting => ("warn", "waiting for you"),
        StateWord::Parked => ("", "parked"),
        StateWord::Failed => ("bad", "stopped"),
        StateWord::Closed => ("", "closed"),
    };
    html! { span class={ "badge " (class) } { (word) } }
}

fn nothing() -> Markup {
    let how = html! {
        p { "Begin one here with " strong { "New chat" } ", or in a terminal; both see every word, \
             and either may answer:" }
        (copy::snippet("ratchet chat --workspace ~/project"))
        p.muted { "The agent is the " code { "claude" } " program of the machine that runs the \
             server. Name the folders in which it may work in " code { "ratchet.toml" } ":" }
        (copy::snippet("[chat]\nroots = [\"/srv/projects\"]"))
    };
    empty::empty("Nobody has talked to an agent here yet.", &how)
}
