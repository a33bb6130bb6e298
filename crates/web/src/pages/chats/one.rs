//! The page of one chat, rendered from stored events; a script adds new ones.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::chat::state::ChatStateName;
use ratchet_core::chat::transcript_view::TranscriptView;
use ratchet_core::money::Money;
use ratchet_stages::chat::ChatSettings;
use ratchet_store::catalog::Chat;

use super::menu;
use super::thumbs::{self, Thumb};
use super::toggles::Toggles;
use super::turns;
use super::turns::ChatContext;
use super::{find, state, title};
use crate::assets;
use crate::components::{figure, toast};
use crate::frame::{Page, Section};
use crate::message_preview::one_line;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Number of events that are read for a page.
const WINDOW: u64 = 6_000;
/// Number of events of one turn that are rendered again while it runs.
const LONG_TURN: u64 = 30_000;

/// The part of a chat that a page shows.
pub(super) struct Conversation {
    pub(super) chat: Chat,
    story: TranscriptView,
    /// Whether there are earlier events.
    has_before: bool,
    /// Whether there are later events.
    is_past: bool,
    thumbs: BTreeMap<String, Thumb>,
    tokens: u64,
    toggles: Toggles,
}

impl Conversation {
    /// Reads the newest part of a chat, or the part before a sequence number.
    pub(super) async fn read(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<Self> {
        let chat = find(web, ctx, id).await?;
        let newest = web.store.telemetry.last_event(ctx.project_id(), chat.id.clone()).await?;
        let before = ctx.params.get("before").and_then(|before| before.parse::<u64>().ok());
        let to = before.map_or(newest, |before| before.saturating_sub(1).min(newest));
        Self::between(web, ctx, chat, (to.saturating_sub(WINDOW), to, newest)).await
    }

    /// Reads the events since a sequence number.
    async fn since(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<Self> {
        let chat = find(web, ctx, id).await?;
        let newest = web.store.telemetry.last_event(ctx.project_id(), chat.id.clone()).await?;
        let since = ctx.params.get("seq").and_then(|seq| seq.parse::<u64>().ok()).unwrap_or(1);
        let from = since.saturating_sub(1).max(newest.saturating_sub(LONG_TURN)).min(newest);
        let mut read = Self::between(web, ctx, chat, (from, newest, newest)).await?;
        if from > since.saturating_sub(1) {
            // Events without a turn here belong to one that the page shows already.
            read.story.turns.retain(|turn| turn.turn.is_some());
        }
        Ok(read)
    }

    async fn between(
        web: &Web,
        ctx: &RequestContext,
        chat: Chat,
        (from, to, newest): (u64, u64, u64),
    ) -> PageResult<Self> {
        let toggles = Toggles::of(ctx);
        let limit = u32::try_from(to - from).unwrap_or(u32::MAX);
        let (project, telemetry) = (ctx.project_id(), &web.store.telemetry);
        let events = match limit {
            0 => Vec::new(),
            limit => telemetry.chat_events(project.clone(), chat.id.clone(), from, limit).await?,
        };
        let is_shown = |event: &&ChatEvent| toggles.shows(event.kind);
        let begins = |event: &ChatEvent| event.kind == EventKind::Message;
        // A page starts at the beginning of a turn if possible.
        let first = events.iter().position(begins).filter(|_| from > 0).unwrap_or(0);
        let mut story = TranscriptView::of(events.iter().skip(first).filter(is_shown));
        story.last = to;
        let traces = story.turns.iter().filter_map(|turn| turn.turn.clone()).collect();
        let thumbs = thumbs::given(web, ctx, traces).await?;
        let session = telemetry.session(project, chat.id.clone()).await?;
        let tokens = session.map_or(0, |session| session.total_tokens);
        let (has_before, is_past) = (from > 0 || first > 0, to < newest);
        Ok(Self { chat, story, has_before, is_past, thumbs, tokens, toggles })
    }

    fn draw_turns(&self, ctx: &RequestContext) -> Markup {
        let id = self.chat.id.to_string();
        let running = self.chat.status.turn.as_ref().map(ToString::to_string);
        let is_open = self.chat.status.state != ChatStateName::Closed && !self.is_past;
        let chat_ctx = ChatContext { ctx, chat: &id, running: running.as_deref(), is_open };
        html! {
            @for turn in &self.story.turns {
                @let thumb = turn.turn.as_ref().and_then(|trace| self.thumbs.get(trace));
                (turns::turn(turn, thumb, &chat_ctx))
            }
        }
    }

    fn limit(&self) -> Option<Money> {
        ChatSettings::read(&self.chat.settings).ok().and_then(|settings| settings.limit())
    }

    /// State and cost: the parts of the page that update.
    fn status(&self, ctx: &RequestContext) -> Markup {
        let status = &self.chat.status;
        html! {
            span data-part="state" aria-live="polite" {
                (state(status.state))
                @if let Some(why) = &status.why { " " bdi { (one_line(why, 200)) } }
            }
            span data-part="sums" {
                (figure::counted(status.turns, "turn")) ", "
                @if status.is_at_least { "at least " }
                (figure::cost(Some(status.cost))) " so far, "
                @if let Some(limit) = self.limit() {
                    (figure::cost(Some(status.spent()))) " of a budget of "
                    (figure::cost(Some(limit))) ", "
                }
                span title={ (figure::grouped(self.tokens)) " tokens" } {
                    (figure::count(self.tokens)) " tokens"
                }
                @if status.turns > 0 {
                    ". " a href=(ctx.to(&["sessions", &self.chat.id.to_string()])) { "Recorded session" }
                }
            }
        }
    }

    /// Renders the page, with an error and the unsent text, if any.
    pub(super) fn page(&self, ctx: &RequestContext, content: &ChatContent) -> Page {
        let id = self.chat.id.to_string();
        let mut page = Page::new(Section::Chats, title(&self.chat));
        page.crumbs = vec![("Chat".to_owned(), ctx.to(&["chats"]))];
        page.summary = html! { span.chat-status { (self.status(ctx)) } };
        page.action = menu::menu(&self.chat, &self.toggles, ctx);
        let follow = self.toggles.on(ctx.to(&["chats", &id, "since"]));
        let events = ctx.to(&["chats", &id, "events"]);
        page.body = html! {
            @if let Some(done) = done(ctx) { (toast::toast(done)) }
            div.chat data-chat=[(!self.is_past).then_some(&id)] data-last=(self.story.last)
                data-state=(self.chat.status.state.as_str()) data-since=(follow)
                data-events=(events) data-types=(self.toggles.types()) data-all=(Toggles::all_types()) {
                (content.problem)
                @if self.has_before { (self.earlier(ctx)) }
                ol.chat-turns aria-label="Conversation" data-turns { (self.draw_turns(ctx)) }
                @if self.story.turns.is_empty() { (self.silence(ctx)) }
                p.chat-link.muted role="status" data-link hidden {}
                @if self.is_past {
                    p { a.button href=(ctx.here().without("before")) { "Latest messages" } }
                } @else { (self.composer(ctx, &content.text)) }
            }
            script type="module" src=(assets::address("chat.js")) {}
        };
        page
    }

    fn earlier(&self, ctx: &RequestContext) -> Markup {
        let first = self.story.turns.first().map_or(1, |turn| turn.seq);
        let link = ctx.here().with("before", first.to_string()).without("done");
        html! { p.earlier { a.button href=(link) { "Earlier" } } }
    }

    fn silence(&self, ctx: &RequestContext) -> Markup {
        html! {
            p.muted.silence data-silence {
                @if let Some(parent) = &self.chat.origin.parent {
                    "The agent knows the messages of "
                    a href=(ctx.to(&["chats", &parent.to_string()])) { "the chat that this is a copy of" }
                    ", and continues from there. It works in "
                } @else { "No messages yet. The agent works in " }
                 code { bdi { (self.chat.workspace) } } "; "
                code { "ratchet chat --resume " (self.chat.id) } " opens the same chat in a terminal."
            }
        }
    }

    fn composer(&self, ctx: &RequestContext, text: &str) -> Markup {
        let id = self.chat.id.to_string();
        let word = self.chat.status.state;
        if word == ChatStateName::Closed {
            return html! { p.muted #composer { "This chat is closed. Its messages are kept." } };
        }
        if !ctx.viewer.can_change() {
            return html! { p.muted #composer { "Read-only: sending messages requires the role member or owner." } };
        }
        html! {
            form #stop method="post" action=(ctx.to(&["chats", &id, "stop"])) data-stay {
                (ctx.viewer.form_token.field())
            }
            form.composer #composer method="post" action=(ctx.to(&["chats", &id, "messages"]))
                 enctype="multipart/form-data" data-stay data-composer {
                // The token is before the files, because it is checked before they are read.
                (ctx.viewer.form_token.field())
                label.sr for="say" { "Message to the agent" }
                textarea #say name="text" rows="2" placeholder="Message to the agent"
                         aria-describedby="say-how" { "\n" (text) }
                ul.chosen-files data-files {}
                div.composer-line {
                    label.button.attach { "Attach"
                        input.sr type="file" name="file" multiple data-attach
                              accept="image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.json,.yaml,.yml,.toml,.csv,.log";
                    }
                    span.muted.hint #say-how { "Text, images or PDFs. " span.on-desks { "Enter sends, Shift Enter starts a new line, Esc stops the agent." } }
                    span.composer-act data-part="act" { (self.act()) }
                }
            }
        }
    }

    /// The button to stop or to send.
    fn act(&self) -> Markup {
        let is_at_work = self.chat.status.turn.is_some();
        html! {
            @if is_at_work { button.button.danger type="submit" form="stop" { "Stop" } }
            @else { button.button.primary type="submit" { "Send" } }
        }
    }
}

/// What a page shows besides the chat.
#[derive(Debug, Default)]
pub(super) struct ChatContent {
    /// An error, or a decision to confirm.
    pub(super) problem: Markup,
    /// Text that was not sent.
    pub(super) text: String,
}

fn done(ctx: &RequestContext) -> Option<&'static str> {
    match ctx.params.get("done")? {
        "set" => Some("Saved"),
        "forked" => Some("Forked: this is the copy"),
        "closed" => Some("Closed"),
        "rewound" => Some("Files restored"),
        "thumb" => Some("Saved"),
        "renamed" => Some("Renamed"),
        _ => None,
    }
}

/// `GET …/chats/{chat}`: the page.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let conversation = Conversation::read(&web, &ctx, &id).await?;
    Ok(conversation.page(&ctx, &ChatContent::default()).show(&ctx))
}

/// `GET …/chats/{chat}/since`: turns since a sequence number, and the state, for the page's script.
pub(super) async fn since(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let conversation = Conversation::since(&web, &ctx, &id).await?;
    let status = &conversation.chat.status;
    Ok(html! {
        div data-upto=(conversation.story.last) data-state=(status.state.as_str()) {
            (conversation.status(&ctx))
            span data-part="act" { (conversation.act()) }
            ol data-turns { (conversation.draw_turns(&ctx)) }
        }
    })
}
