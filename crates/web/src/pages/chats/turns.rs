//! Renders turns.

use maud::{Markup, html};
use ratchet_core::chat::transcript_view::{
    self, ToolView, TurnItem, TurnPart, TurnView, UserMessageView,
};
use ratchet_core::record::limit::elide;
use ratchet_core::record::message_formats::{self, ChatMessage, Part, Reading};
use serde_json::{Value, json};

use super::permission_prompts;
use super::thumbs::{self, Thumb};
use crate::components::icon::{Icon, icon};
use crate::components::message::{ContentLinks, MessageStyle};
use crate::components::{figure, json};
use crate::message_preview::one_line;
use crate::request_context::RequestContext;

/// Maximum bytes of a tool's result or a raw line.
const SHOWN: usize = 24_000;
/// Maximum characters of a tool's input in its summary.
const GIST: usize = 140;
/// Prefix of texts attached to a message.
const ENCLOSED: &str = "\nWhat stands between <given-";

/// Facts about a chat that turns need.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChatContext<'a> {
    pub(super) ctx: &'a RequestContext,
    pub(super) chat: &'a str,
    pub(super) running: Option<&'a str>,
    /// Whether the chat is open.
    pub(super) is_open: bool,
}

impl ChatContext<'_> {
    fn is_running(&self, turn: &TurnView) -> bool {
        self.running.is_some() && self.running == turn.turn.as_deref()
    }

    /// Whether the viewer may change something.
    pub(super) fn may_act(&self) -> bool {
        self.is_open && self.ctx.viewer.can_change()
    }
}

/// Renders a turn. Parts that update have a key, by which a script finds them.
pub(super) fn turn(turn: &TurnView, thumb: Option<&Thumb>, chat_ctx: &ChatContext<'_>) -> Markup {
    let is_running = chat_ctx.is_running(turn);
    let last = turn.items.len().checked_sub(1).filter(|_| is_running);
    html! {
        li.chat-turn data-turn=(turn.seq) {
            article aria-label={ "Turn of " (figure::exact_moment(turn.at)) } {
                @match &turn.message {
                    Some(message) => { div data-key="message" { (said(turn, message, chat_ctx)) } },
                    None if turn.turn.is_some() => {
                        p.muted data-key="message" { "The agent goes on by itself: a task in the \
                            background has ended." }
                    },
                    None => {},
                }
                ol.chat-items {
                    @for (index, item) in turn.items.iter().enumerate() {
                        (self::item(item, last == Some(index), chat_ctx))
                    }
                }
                div data-key="end" { (end(turn, thumb, chat_ctx)) }
            }
        }
    }
}

/// A message in a format that the message renderer knows.
pub(super) fn as_payload(content: &Value) -> Value {
    json!([{"role": "user", "content": content}])
}

fn said(turn: &TurnView, message: &UserMessageView, chat_ctx: &ChatContext<'_>) -> Markup {
    let ctx = chat_ctx.ctx;
    let pictures = ctx.to(&["chats", chat_ctx.chat, "picture"]).with("seq", turn.seq.to_string());
    let at = ContentLinks {
        whole: trace_link(turn, ctx),
        pictures: format!("{}&n=", pictures),
        media: String::new(),
    };
    let reading = message_formats::read(&as_payload(&message.content).to_string());
    let Reading::Messages(messages) = reading else {
        return html! { pre { (elide(&message.content.to_string(), SHOWN)) } };
    };
    let is_enclosed = |part: &Part| matches!(part, Part::Text(text) if text.starts_with(ENCLOSED));
    let name = message.by.as_deref().map(|by| elide(by, 80).into_owned());
    let (mut drawn, mut enclosed) = (Vec::new(), Vec::new());
    for ChatMessage { role, parts, .. } in messages {
        let (inside, parts) = parts.into_iter().partition::<Vec<_>, _>(is_enclosed);
        enclosed.extend(inside);
        drawn.push(ChatMessage { role, name: name.clone(), parts });
    }
    html! {
        (MessageStyle::new(&at).conversation(&drawn))
        @for part in enclosed {
            @if let Part::Text(text) = part {
                details.enclosed {
                    summary { "Attached texts, as the agent reads them" }
                    pre tabindex="0" { (elide(text.trim(), SHOWN)) }
                }
            }
        }
    }
}

/// Trace id of a turn.
fn trace_link(turn: &TurnView, ctx: &RequestContext) -> String {
    let trace = turn.turn.as_deref().unwrap_or_default();
    ctx.to(&["traces", trace]).to_string()
}

fn item(item: &TurnItem, is_growing: bool, chat_ctx: &ChatContext<'_>) -> Markup {
    let key = item.seq.to_string();
    match &item.part {
        TurnPart::Words { text, .. } => html! {
            li.chat-item.chat-words data-key=(key) data-open=[is_growing.then_some("text_delta")] {
                article.message.assistant {
                    header.message-head { span.role { "Agent" } }
                    // Incomplete Markdown may render differently.
                    @if is_growing { div.message-body { p.growing { (text) } } } @else {
                        (MessageStyle::new(&nowhere()).lone_text(text))
                    }
                }
            }
        },
        TurnPart::Thought { text, .. } => html! {
            li.chat-item data-key=(key) data-open=[is_growing.then_some("thinking_delta")] {
                details.thinking open[is_growing] {
                    summary { "Thinking" }
                    p.growing { (elide(text, SHOWN)) }
                }
            }
        },
        TurnPart::Tool(tool) => html! {
            li.chat-item data-key=(key) { (self::tool(tool, chat_ctx)) }
        },
        TurnPart::Ask(ask) => html! {
            li.chat-item data-key=(key) { (permission_prompts::draw(ask, chat_ctx)) }
        },
        TurnPart::Notice { what, text } => html! {
            li.chat-item.notice data-key=(key) {
                span.badge { bdi { (one_line(&what.replace('_', " "), 40)) } } " "
                bdi { (one_line(text, 400)) }
            }
        },
        TurnPart::Failure(why) => html! {
            li.chat-item data-key=(key) { p.problem { bdi { (elide(why, 2_000)) } } }
        },
        TurnPart::Raw(line) => html! {
            li.chat-item.raw data-key=(key) {
                details {
                    summary { code { (raw_name(line)) } }
                    (json::json(&elide(line, SHOWN)))
                }
            }
        },
    }
}

/// Rendered messages have no links to media.
fn nowhere() -> ContentLinks {
    ContentLinks::default()
}

/// Type of a raw line.
fn raw_name(line: &str) -> String {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let word = |key: &str| value[key].as_str().map(|word| one_line(word, 40));
    let words = [word("type"), word("subtype")].into_iter().flatten();
    let name = words.collect::<Vec<_>>().join(" · ");
    if name.is_empty() { "line".to_owned() } else { name }
}

fn tool(tool: &ToolView, chat_ctx: &ChatContext<'_>) -> Markup {
    let name = if tool.name.is_empty() { "Result" } else { tool.name.as_str() };
    let gist = one_line(&permission_prompts::escape_invisible(&tool.gist()), GIST);
    html! {
        details.tool.failed[tool.is_error] {
            summary {
                (icon(Icon::Tool)) code.tool-name { bdi { (one_line(name, 60)) } }
                span.gist { bdi { (gist) } }
                @match (&tool.output, tool.is_error) {
                    (_, true) => { span.badge.bad { "failed" } },
                    (None, _) => { span.badge.code { "no result yet" } },
                    (Some(_), false) => {},
                }
            }
            div.tool-body {
                @if !tool.input.is_null() { (json::json(&elide(&tool.input.to_string(), SHOWN))) }
                @if !tool.inside.is_empty() {
                    ol.chat-items {
                        @for inner in &tool.inside { (item(inner, false, chat_ctx)) }
                    }
                }
                @if tool.output.is_some() {
                    @let text = tool.output_text();
                    @if text.is_empty() { p.muted { "No output." } }
                    @else { pre tabindex="0" { (elide(&text, SHOWN)) } }
                }
            }
        }
    }
}

/// Result, cost and thumbs of a turn.
fn end(turn: &TurnView, thumb: Option<&Thumb>, chat_ctx: &ChatContext<'_>) -> Markup {
    let ctx = chat_ctx.ctx;
    let Some(trace) = turn.turn.as_deref() else { return Markup::default() };
    html! {
        footer.chat-end {
            @if let Some(end) = &turn.end { (facts(end)) }
            @else if chat_ctx.is_running(turn) { span.badge.code { "working" } }
            (figure::when(turn.at, &ctx.time))
            a href=(ctx.to(&["traces", trace])) { "Trace" }
            @if turn.end.is_some() { (thumbs::form(trace, thumb, chat_ctx)) }
            @if let Some(message) = turn.message.as_ref().filter(|_| chat_ctx.may_act()) {
                (act(chat_ctx, ("rewind", "message", &message.id),
                    ("Restore files…", "Restores files to their state before this message")))
            }
            @if let Some(message) = turn.message.as_ref().filter(|_| turn.end.is_some() && ctx.viewer.can_change()) {
                (act(chat_ctx, ("fork", "at", &message.id),
                    ("Fork here", "Continues in a copy without the later messages")))
            }
        }
    }
}

/// A form with one button about a message.
fn act(
    chat_ctx: &ChatContext<'_>,
    (what, field, id): (&str, &str, &str),
    (word, title): (&str, &str),
) -> Markup {
    let ctx = chat_ctx.ctx;
    html! {
        form method="post" action=(ctx.to(&["chats", chat_ctx.chat, what])) {
            (ctx.viewer.form_token.field())
            input type="hidden" name=(field) value=(id);
            button.quiet type="submit" title=(title) { (word) }
        }
    }
}

fn facts(end: &Value) -> Markup {
    let spending = transcript_view::TurnSpending::of(end);
    let bound = if spending.is_at_least { "at least " } else { "" };
    html! {
        @if end["is_error"] == true {
            span.badge.bad { "ended early" }
            @let (why, said) = transcript_view::early_end(end);
            span { bdi { (one_line(&why, 60)) } }
            @if let Some(said) = said { span { bdi { (one_line(said, 300)) } } }
        }
        @if let Some(cost) = spending.cost {
            span title={ (bound) (figure::exact_dollars(cost)) } { (bound) (figure::dollars(cost)) }
        }
        @if spending.is_unknown() {
            span title="A call was interrupted before its usage was known" { "cost unknown" }
        }
        @if let Some((input, output)) = spending.tokens.filter(|(input, output)| input + output > 0) {
            span title={ (bound) (figure::grouped(input)) " tokens in, " (figure::grouped(output)) " out" } {
                (bound) (figure::count(input)) " in, " (figure::count(output)) " out"
            }
        }
        @if let Some(millis) = end["duration_ms"].as_i64() {
            span { (figure::duration(millis.saturating_mul(1_000_000))) }
        }
    }
}
