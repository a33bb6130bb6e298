//! One conversation, drawn from what is kept of it; a script adds what happens as it happens.

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
use super::turns::Around;
use super::{find, state, title};
use crate::assets;
use crate::components::{figure, toast};
use crate::frame::{Page, Section};
use crate::message_preview::one_line;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Events of a conversation that are read for a page.
const WINDOW: u64 = 6_000;
/// Events of one turn that are drawn again while it goes on.
const LONG_TURN: u64 = 30_000;

/// A conversation as far as a page shows it.
pub(super) struct Conversation {
    pub(super) chat: Chat,
    story: TranscriptView,
    /// Whether there is more before what is shown.
    has_before: bool,
    /// Whether what is shown ends before the conversation does.
    is_past: bool,
    thumbs: BTreeMap<String, Thumb>,
    tokens: u64,
    toggles: Toggles,
}

impl Conversation {
    /// Reads the newest part of a conversation, or the part before a place.
    pub(super) async fn read(web: &Web, place: &RequestContext, id: &str) -> PageResult<Self> {
        let chat = find(web, place, id).await?;
        let newest = web.store.telemetry.last_event(place.project_id(), chat.id.clone()).await?;
        let before = place.params.get("before").and_then(|before| before.parse::<u64>().ok());
        let to = before.map_or(newest, |before| before.saturating_sub(1).min(newest));
        Self::between(web, place, chat, (to.saturating_sub(WINDOW), to, newest)).await
    }

    /// Reads what came since a place.
    async fn since(web: &Web, place: &RequestContext, id: &str) -> PageResult<Self> {
        let chat = find(web, place, id).await?;
        let newest = web.store.telemetry.last_event(place.project_id(), chat.id.clone()).await?;
        let since = place.params.get("seq").and_then(|seq| seq.parse::<u64>().ok()).unwrap_or(1);
        let from = since.saturating_sub(1).max(newest.saturating_sub(LONG_TURN)).min(newest);
        let mut read = Self::between(web, place, chat, (from, newest, newest)).await?;
        if from > since.saturating_sub(1) {
            // What belongs to no turn here belongs to one that the page shows already.
            read.story.turns.retain(|turn| turn.turn.is_some());
        }
        Ok(read)
    }

    async fn between(
        web: &Web,
        place: &RequestContext,
        chat: Chat,
        (from, to, newest): (u64, u64, u64),
    ) -> PageResult<Self> {
        let toggles = Toggles::of(place);
        let limit = u32::try_from(to - from).unwrap_or(u32::MAX);
        let (project, telemetry) = (place.project_id(), &web.store.telemetry);
        let events = match limit {
            0 => Vec::new(),
            limit => {
                telemetry.session_events(project.clone(), chat.id.clone(), from, limit).await?
            }
        };
        let is_shown = |event: &&ChatEvent| toggles.shows(event.kind);
        let begins = |event: &ChatEvent| event.kind == EventKind::Message;
        // A page does not begin in the middle of a turn if it can help it.
        let first = events.iter().position(begins).filter(|_| from > 0).unwrap_or(0);
        let mut story = TranscriptView::of(events.iter().skip(first).filter(is_shown));
        story.last = to;
        let traces = story.turns.iter().filter_map(|turn| turn.turn.clone()).collect();
        let thumbs = thumbs::given(web, place, traces).await?;
        let session = telemetry.session(project, chat.id.clone()).await?;
        let tokens = session.map_or(0, |session| session.total_tokens);
        let (has_before, is_past) = (from > 0 || first > 0, to < newest);
        Ok(Self { chat, story, has_before, is_past, thumbs, tokens, toggles })
    }

    fn draw_turns(&self, place: &RequestContext) -> Markup {
        let id = self.chat.id.to_string();
        let running = self.chat.standing.turn.as_ref().map(ToString::to_string);
        let is_open = self.chat.standing.state != ChatStateName::Closed && !self.is_past;
        let around = Around { place, chat: &id, running: running.as_deref(), is_open };
        html! {
            @for turn in &self.story.turns {
                @let thumb = turn.turn.as_ref().and_then(|trace| self.thumbs.get(trace));
                (turns::turn(turn, thumb, &around))
            }
        }
    }

    fn limit(&self) -> Option<Money> {
        ChatSettings::read(&self.chat.setting).ok().and_then(|setting| setting.limit())
    }

    /// What it does and what it cost: the parts of the page that change by themselves.
    fn standing(&self, place: &RequestContext) -> Markup {
        let standing = &self.chat.standing;
        html! {
            span data-part="state" aria-live="polite" {
                (state(standing.state))
                @if let Some(why) = &standing.why { " " bdi { (one_line(why, 200)) } }
            }
            span data-part="sums" {
                (figure::grouped(standing.turns)) @if standing.turns == 1 { " turn, " } @else { " turns, " }
                @if standing.is_at_least { "at least " }
                (figure::cost(Some(standing.cost))) " so far, "
                @if let Some(limit) = self.limit() {
                    (figure::cost(Some(standing.spent()))) " of a budget of "
                    (figure::cost(Some(limit))) ", "
                }
                span title={ (figure::grouped(self.tokens)) " tokens" } {
                    (figure::count(self.tokens)) " tokens"
                }
                @if standing.turns > 0 {
                    ". " a href=(place.to(&["sessions", &self.chat.id.to_string()])) { "Recorded session" }
                }
            }
        }
    }

    /// The page, with what went wrong and what was written, if something was.
    pub(super) fn page(&self, place: &RequestContext, told: &Told) -> Page {
        let id = self.chat.id.to_string();
        let mut page = Page::new(Section::Chats, title(&self.chat));
        page.crumbs = vec![("Chat".to_owned(), place.to(&["chats"]))];
        page.summary = html! { span.chat-standing { (self.standing(place)) } };
        page.action = menu::menu(&self.chat, &self.toggles, place);
        let follow = self.toggles.on(place.to(&["chats", &id, "since"]));
        let events = place.to(&["chats", &id, "events"]);
        page.body = html! {
            @if let Some(done) = done(place) { (toast::toast(done)) }
            div.chat data-chat=[(!self.is_past).then_some(&id)] data-last=(self.story.last)
                data-state=(self.chat.standing.state.as_str()) data-since=(follow)
                data-events=(events) data-types=(self.toggles.types()) data-all=(Toggles::all_types()) {
                (told.problem)
                @if self.has_before { (self.earlier(place)) }
                ol.told-turns aria-label="Conversation" data-turns { (self.draw_turns(place)) }
                @if self.story.turns.is_empty() { (self.silence(place)) }
                p.chat-link.muted role="status" data-link hidden {}
                @if self.is_past {
                    p { a.button href=(place.here().without("before")) { "To the newest" } }
                } @else { (self.composer(place, &told.text)) }
            }
            script type="module" src=(assets::address("chat.js")) {}
        };
        page
    }

    fn earlier(&self, place: &RequestContext) -> Markup {
        let first = self.story.turns.first().map_or(1, |turn| turn.seq);
        let link = place.here().with("before", first.to_string()).without("done");
        html! { p.earlier { a.button href=(link) { "Earlier" } } }
    }

    fn silence(&self, place: &RequestContext) -> Markup {
        html! {
            p.muted.silence data-silence {
                @if let Some(parent) = &self.chat.origin.parent {
                    "The agent knows what was said in "
                    a href=(place.to(&["chats", &parent.to_string()])) { "the chat that this is a copy of" }
                    ", and goes on from there. It works in "
                } @else { "Nothing was said yet. The agent works in " }
                 code { bdi { (self.chat.workspace) } } "; "
                "whoever runs " code { "ratchet chat --resume " (self.chat.id) } " sees the same."
            }
        }
    }

    fn composer(&self, place: &RequestContext, text: &str) -> Markup {
        let id = self.chat.id.to_string();
        let word = self.chat.standing.state;
        if word == ChatStateName::Closed {
            return html! { p.muted #composer { "This conversation is closed; what was said in it stays." } };
        }
        if !place.visitor.can_change() {
            return html! { p.muted #composer { "You look on; to talk takes the role member or owner." } };
        }
        html! {
            form #stop method="post" action=(place.to(&["chats", &id, "stop"])) data-stay {
                (place.visitor.form_token.field())
            }
            form.composer #composer method="post" action=(place.to(&["chats", &id, "messages"]))
                 enctype="multipart/form-data" data-stay data-composer {
                // The token stands before the files: it is looked at before they are taken in.
                (place.visitor.form_token.field())
                label.sr for="say" { "Message to the agent" }
                textarea #say name="text" rows="2" placeholder="Message to the agent"
                         aria-describedby="say-how" { "\n" (text) }
                ul.chosen-files data-files {}
                div.composer-line {
                    label.button.attach { "Attach"
                        input.sr type="file" name="file" multiple data-attach
                              accept="image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.json,.yaml,.yml,.toml,.csv,.log";
                    }
                    span.muted.hint #say-how { "Text, images or PDFs. " span.on-desks { "Enter sends, Shift Enter begins a line, Esc stops the agent." } }
                    span.composer-act data-part="act" { (self.act()) }
                }
            }
        }
    }

    /// What can be done now: stop what runs, or send.
    fn act(&self) -> Markup {
        let is_at_work = self.chat.standing.turn.is_some();
        html! {
            @if is_at_work { button.button.danger type="submit" form="stop" { "Stop" } }
            @else { button.button.primary type="submit" { "Send" } }
        }
    }
}

/// What a page says besides the conversation.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What went wrong, or what is to be decided.
    pub(super) problem: Markup,
    /// What was written and not sent.
    pub(super) text: String,
}

fn done(place: &RequestContext) -> Option<&'static str> {
    match place.params.get("done")? {
        "set" => Some("Set"),
        "forked" => Some("This is the copy"),
        "closed" => Some("Closed"),
        "rewound" => Some("Files are as they were"),
        "thumb" => Some("Noted"),
        "renamed" => Some("Renamed"),
        _ => None,
    }
}

/// `GET …/chats/{chat}`: a conversation.
pub(super) async fn show(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let conversation = Conversation::read(&web, &place, &id).await?;
    Ok(conversation.page(&place, &Told::default()).show(&place))
}

/// `GET …/chats/{chat}/since`: the turns since a place, and how the conversation stands, for the
/// script of the page.
pub(super) async fn since(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let conversation = Conversation::since(&web, &place, &id).await?;
    let standing = &conversation.chat.standing;
    Ok(html! {
        div data-upto=(conversation.story.last) data-state=(standing.state.as_str()) {
            (conversation.standing(&place))
            span data-part="act" { (conversation.act()) }
            ol data-turns { (conversation.draw_turns(&place)) }
        }
    })
}
