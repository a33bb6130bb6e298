//! Chats with targets: one page, one form, and each turn goes to a dataset with the right answer.

/// Messages, and answers as they come.
mod stream;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::experiment::conversation::MAX_MESSAGE_BYTES;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::limit::elide;
use ratchet_stages::experiment::target_chat::{self, TargetTurn, TurnError};
use ratchet_store::catalog::{Dataset, TargetChat};
use ratchet_store::query::PageNumber;
use uuid::Uuid;

use super::{dataset_target, targets};
use crate::assets;
use crate::components::markdown::markdown;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;
use stream::Message;

/// Chats in the list.
const ROWS: u64 = 20;
/// Characters of a name.
const NAME: usize = 60;
/// Bytes of an answer that are drawn.
const ANSWER: usize = 24_000;

pub(super) fn routes() -> Router<Web> {
    let of = |what: &str| format!("/project/{{project}}/chats/with/{{target}}{what}");
    Router::new()
        .route(&of(""), get(new))
        .route(&of("/{chat}"), get(show).post(send))
        .route(&of("/{chat}/stream"), post(stream::stream))
        .route(&of("/{chat}/dataset"), post(add))
}

/// Whether there is a target of this name.
/// The environments of a target.
async fn environments(web: &Web, ctx: &RequestContext, target: &str) -> PageResult<Vec<String>> {
    let known = targets::targets(web, ctx).await?;
    let found = known.into_iter().find(|one| one.name == target);
    found.map(|one| one.environments).ok_or_else(|| PageError::not_there("target"))
}

/// The targets of this server and the last chats with them, for the list of chats.
pub(super) async fn section(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let page = PageNumber { page: 1, limit: ROWS };
    let chats = web.store.catalog.target_chats(ctx.project_id(), page).await?;
    let known = targets::targets(web, ctx).await?;
    Ok(html! {
        h2 { "Targets" }
        @if known.is_empty() {
            p.muted { "A target is an agent that can be called: a command, an HTTP endpoint, an agent in AgentCore. "
                "Add one under " a href=(ctx.to(&["targets"])) { "Targets" } ", or name one in " code { "ratchet.toml" }
                " of the server, and talk to it here:" }
            (copy::snippet("[targets.support]\nkind = \"command\"\ncommand = [\"python3\", \"agent.py\"]"))
            p.muted { "In a terminal, a file is enough:" }
            (copy::snippet(&ctx.command("chat --target target.toml")))
        } @else {
            ul.target-names {
                @for one in &known {
                    li { b { bdi { (elide(&one.name, NAME)) } } " " small.muted { (one.kind) } " "
                        @if ctx.viewer.can_change() { a.button href=(ctx.to(&["chats", "with", &one.name])) { "Chat" span.sr { " with " (one.name) } } } }
                }
            }
        }
        @if !chats.rows.is_empty() { (table::table(&recent(&chats.rows, ctx))) }
        @if let Some(total) = chats.total.filter(|total| *total > ROWS) {
            p.muted { "The newest " (ROWS) " of " (figure::grouped(total)) " chats. Each is a "
                a href=(ctx.to(&["sessions"])) { "session" } "." }
        }
    })
}

fn recent(chats: &[TargetChat], ctx: &RequestContext) -> Table {
    let row = |chat: &TargetChat| Row {
        id: chat.id.to_string(),
        link: Some(link(ctx, &chat.target, &chat.id)),
        cells: vec![
            html! { bdi { (elide(&chat.title, NAME)) } },
            html! { bdi { (elide(&chat.target, NAME)) } },
            html! { (figure::grouped(chat.turns)) },
            figure::ago(chat.updated_at, &ctx.time),
        ],
        failed: false,
    };
    let columns = vec![
        Column::wide("First message"),
        Column::text("Target"),
        Column::number("Turns"),
        Column::text("Changed"),
    ];
    let caption = "Chats with targets".to_owned();
    Table { caption, columns, rows: chats.iter().map(row).collect(), select_for: None }
}

fn link(ctx: &RequestContext, target: &str, chat: &SessionId) -> Link {
    ctx.to(&["chats", "with", target, &chat.to_string()])
}

/// `GET …/chats/with/{target}`: an empty chat, which begins with its first message.
async fn new(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, target)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let environments = environments(&web, &ctx, &target).await?;
    let chat = parse(&Uuid::new_v4().to_string())?;
    Ok(page(&ctx, (&target, &chat), &[], (&[], &environments)).show(&ctx))
}

fn parse(chat: &str) -> PageResult<SessionId> {
    SessionId::parse(chat).map_err(|_| PageError::not_there("chat"))
}

/// `GET …/chats/with/{target}/{chat}`
async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, target, chat)): Path<(String, String, String)>,
) -> PageResult<Markup> {
    let chat = parse(&chat)?;
    let known = web.store.catalog.target_chat(ctx.project_id(), chat.clone()).await?;
    known.filter(|known| known.target == target).ok_or_else(|| PageError::not_there("chat"))?;
    let turns = target_chat::turns(&web.store, &ctx.project_id(), &chat).await?;
    let datasets = dataset_target::offered(&web, &ctx).await?;
    // A target that is gone has none, and its chats stay readable.
    let environments = environments(&web, &ctx, &target).await.unwrap_or_default();
    Ok(page(&ctx, (&target, &chat), &turns, (&datasets, &environments)).show(&ctx))
}

fn page(
    ctx: &RequestContext,
    (target, chat): (&str, &SessionId),
    turns: &[TargetTurn],
    (datasets, environments): (&[Dataset], &[String]),
) -> Page {
    let mut page = Page::new(Section::Chats, format!("Chat with {}", elide(target, NAME)));
    page.crumbs = vec![("Chat".to_owned(), ctx.to(&["chats"]))];
    page.summary = html! {
        "Each message is one call of the target, and a "
        @if turns.is_empty() { "trace." } @else {
            a href=(ctx.to(&["sessions", &chat.to_string()])) { "trace of this session" } "."
        }
    };
    if ctx.viewer.can_change() && !turns.is_empty() {
        page.action = html! { a.button href=(ctx.to(&["chats", "with", target])) { "New chat" } };
    }
    page.body = html! {
        script type="module" src=(assets::address("target-chat.js")) {}
        @if ctx.params.get("done") == Some("added") { (toast::toast("Added to dataset")) }
        div.chat.target-chat data-target-chat {
            ol.chat-turns { @for (at, turn) in turns.iter().enumerate() {
                li { (drawn(turn, (target, chat), (datasets, at + 1 == turns.len()), ctx)) }
            } }
            @if ctx.viewer.can_change() { (composer(ctx, (target, chat), (turns.is_empty(), environments))) }
        }
    };
    page
}

fn composer(
    ctx: &RequestContext,
    (target, chat): (&str, &SessionId),
    (is_new, environments): (bool, &[String]),
) -> Markup {
    let chosen = ctx.params.get("environment").unwrap_or_default();
    html! {
        form.composer method="post" data-inline-errors action=(link(ctx, target, chat)) {
            (ctx.viewer.form_token.field())
            label.sr for="text" { "Message" }
            textarea #text name="text" required rows="2" maxlength=(MAX_MESSAGE_BYTES)
                     placeholder=(if is_new { "First message" } else { "Message" }) {}
            div.composer-line {
                @if !environments.is_empty() {
                    label { "Environment "
                        select name="environment" {
                            option value="" { "None" }
                            @for name in environments {
                                option value=(name) selected[name == chosen] { (name) }
                            }
                        }
                    }
                }
                p.hint { "Enter sends, Shift-Enter starts a new line, " kbd { "a" } " adds the last turn to a dataset." }
                button.button.primary.composer-act type="submit" { "Send" }
            }
        }
    }
}

fn drawn(
    turn: &TargetTurn,
    of: (&str, &SessionId),
    (datasets, is_last): (&[Dataset], bool),
    ctx: &RequestContext,
) -> Markup {
    let latency = turn.ended.map(|end| end.since(turn.started));
    html! {
        article.target-turn {
            div.turn-said { p.side-head { "You" } (markdown(&elide(&turn.text, ANSWER))) }
            div.turn-answer {
                p.side-head { bdi { (elide(of.0, NAME)) } }
                @match (&turn.answer, &turn.fault) {
                    (Some(answer), _) => { (markdown(&elide(answer, ANSWER))) },
                    (None, Some(fault)) => { p.wrong { "No answer: " bdi { (fault) } } },
                    (None, None) => { p.muted { "No answer: the call was interrupted. Send the message again." } },
                }
            }
            p.chat-end {
                @if let Some(latency) = latency { span { (figure::duration(latency)) } }
                @if let Some(cost) = turn.cost { span { (figure::money(cost)) } }
                a href=(ctx.to(&["traces", &turn.trace.to_string()])) { "trace" }
                (figure::when(turn.started, &ctx.time))
            }
            @if ctx.viewer.can_change() { (adder(turn, of, (datasets, is_last), ctx)) }
        }
    }
}

/// The form that adds a turn to a dataset, with the answer as it should have been.
fn adder(
    turn: &TargetTurn,
    (target, chat): (&str, &SessionId),
    (datasets, is_last): (&[Dataset], bool),
    ctx: &RequestContext,
) -> Markup {
    let to = ctx.to(&["chats", "with", target, &chat.to_string(), "dataset"]);
    let id = |what: &str| format!("{what}-{}", turn.trace);
    let answer = turn.answer.as_deref().unwrap_or_default();
    let used = ctx.params.get("dataset");
    html! {
        details.add-turn data-last[is_last] {
            summary { "Add to dataset" @if is_last { " " kbd { "a" } } }
            form.maker method="post" data-inline-errors action=(to) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="turn" value=(turn.trace.to_string());
                div.form-row {
                    label for=(id("expected")) { "Expected answer" }
                    textarea id=(id("expected")) name="expected_output" rows="3" { (answer) }
                    p.hint { "Correct it if the answer was wrong." }
                }
                @if !datasets.is_empty() {
                    div.form-row {
                        label for=(id("dataset")) { "Dataset" }
                        select id=(id("dataset")) name="dataset" {
                            @for dataset in datasets {
                                option value=(dataset.name) selected[used == Some(dataset.name.as_str())] { (elide(&dataset.name, NAME)) }
                            }
                        }
                    }
                }
                div.form-row {
                    label for=(id("new")) { @if datasets.is_empty() { "New dataset" } @else { "Or a new dataset" } }
                    input id=(id("new")) type="text" name="new_dataset" maxlength="1000" autocomplete="off" required[datasets.is_empty()];
                }
                button.button.primary type="submit" { "Add" }
            }
        }
    }
}

/// `POST …/chats/with/{target}/{chat}`: sends a message and waits for the answer.
async fn send(
    State(web): State<Web>,
    Path((_, target, chat)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let message = Message::read((&web, &ctx), (&target, &chat), &form).await?;
    let back = link(&ctx, &target, &message.chat);
    let back = match form.get("environment").filter(|name| !name.is_empty()) {
        Some(name) => back.with("environment", name).to_string(),
        None => back.to_string(),
    };
    message.send(&|_| {}).await.map_err(refused)?;
    Ok(Redirect::to(&back))
}
/// `POST …/chats/with/{target}/{chat}/dataset`: adds a turn to a dataset.
async fn add(
    State(web): State<Web>,
    Path((_, target, chat)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let chat = parse(&chat)?;
    let turn = form.get("turn").unwrap_or_default();
    let turn = TraceId::parse(turn).map_err(|_| PageError::not_there("turn"))?;
    let sent = target_chat::sent_in(&web.store, &ctx.project_id(), (&chat, &turn)).await;
    let sent = sent.map_err(refused)?;
    let expected = form.get("expected_output").unwrap_or_default();
    let item = target_chat::item(&turn, &sent, expected);
    let added = dataset_target::add(&web, &ctx, &form, vec![item]).await?;
    added.map_err(|refusal| PageError::Bad(format!("{}: {}", refusal.field, refusal.reason)))?;
    let name = ["new_dataset", "dataset"].into_iter().find_map(|field| form.get(field));
    let back = link(&ctx, &target, &chat).with("done", "added");
    Ok(Redirect::to(&back.with("dataset", name.unwrap_or_default().trim()).to_string()))
}

fn refused(error: TurnError) -> PageError {
    match error {
        TurnError::Store(error) => error.into(),
        TurnError::NoTurn(_) => PageError::not_there("turn"),
        other => PageError::Bad(other.to_string()),
    }
}
