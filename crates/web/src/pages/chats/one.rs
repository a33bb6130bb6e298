//! The page of one chat, rendered from stored events; a script adds new ones.

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::chat::state::ChatStateName;
use ratchet_core::money::Money;
use ratchet_stages::chat::ChatSettings;

use super::conversation::Conversation;
use super::toggles::Toggles;
use super::turns::ChatContext;
use super::{menu, state, title, turns};
use crate::assets;
use crate::components::{figure, toast};
use crate::frame::{Page, Section};
use crate::message_preview::one_line;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

impl Conversation {
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
                @if self.is_cut { (self.cut(ctx)) }
                ol.chat-turns aria-label="Conversation" data-turns { (self.draw_turns(ctx)) }
                @if self.story.turns.is_empty() { (self.silence(ctx)) }
                p.chat-link.muted role="status" data-link hidden {}
                @if self.is_past {
                    p { a.button href=(ctx.here().without("before").without("all")) { "Latest messages" } }
                } @else { (self.composer(ctx, &content.text)) }
            }
            script type="module" src=(assets::address("chat.js")) {}
        };
        page
    }

    fn earlier(&self, ctx: &RequestContext) -> Markup {
        let first = self.story.turns.first().map_or(1, |turn| turn.seq);
        let here = || ctx.here().without("done");
        html! {
            p.earlier {
                a.button href=(here().with("before", first.to_string())) { "Earlier" } " "
                a.button href=(here().without("before").with("all", "yes")) { "Load all" }
            }
        }
    }

    fn cut(&self, ctx: &RequestContext) -> Markup {
        html! {
            p.problem role="status" {
                "Large tool results are left out, because the page would become too large; "
                a href=(ctx.to(&["sessions", &self.chat.id.to_string()])) { "the recorded session" }
                " has them."
            }
        }
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
                ol.waiting-messages aria-label="Messages that wait for the agent" data-waiting {}
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
            @if is_at_work {
                button.button type="submit" title="Sends it as soon as the agent is done" { "Queue" } " "
                button.button.danger type="submit" form="stop" { "Stop" }
            } @else { button.button.primary type="submit" { "Send" } }
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
