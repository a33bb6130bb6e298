//! Preview of the new messages of a payload that contains a whole conversation.

use maud::{Markup, html};
use ratchet_core::id::TraceId;

use crate::components::message::{ContentLinks, MessageStyle};
use crate::components::{figure, json};
use crate::request_context::{Link, RequestContext};
use ratchet_core::record::message_formats::{self, ChatMessage, MessageRole, Part, Reading};

/// Maximum payload size parsed here; the trace page parses longer ones.
const READ_UP_TO: usize = 300_000;
/// Maximum bytes shown.
const DRAWN: usize = 16_000;
const PREVIEW: usize = 160;

/// Input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

impl Side {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Input => "Input",
            Self::Output => "Output",
        }
    }

    /// Default role of a payload without roles.
    const fn speaker(self) -> MessageRole {
        match self {
            Self::Input => MessageRole::User,
            Self::Output => MessageRole::Assistant,
        }
    }

    /// Links to the media that a payload refers to.
    pub(crate) fn content_links(self, ctx: &RequestContext, record: &[&str]) -> ContentLinks {
        let of = |what: &str| {
            let segments: Vec<&str> =
                ["traces"].iter().chain(record).copied().chain([what]).collect();
            ctx.to(&segments).with("side", self.as_str())
        };
        ContentLinks {
            whole: of("payload").to_string(),
            pictures: of("picture").with("n", "").to_string(),
            media: format!("{}/", Link::to_project(&ctx.project.id, &["media"]).path()),
        }
    }
}

/// Renders the new messages of a payload, without earlier turns. The trace page shows all.
pub(crate) fn show(payload: &str, side: Side, trace: &TraceId, ctx: &RequestContext) -> Markup {
    let earlier = |messages: &[ChatMessage], _: &ContentLinks| {
        let whole = ctx.to(&["traces", &trace.to_string()]);
        html! { p.before { a href=(whole) { (messages.len()) " earlier messages" } } }
    };
    show_with(payload, side, (trace, ctx), &earlier)
}

/// Renders the new messages of a payload, with earlier turns folded: for people who may see this trace
/// here, but not its page.
pub(crate) fn show_folded(
    payload: &str,
    side: Side,
    trace: &TraceId,
    ctx: &RequestContext,
) -> Markup {
    let earlier = |messages: &[ChatMessage], at: &ContentLinks| {
        html! {
            details.before {
                summary { (messages.len()) " earlier messages" }
                (MessageStyle::for_end(at, DRAWN, 0).conversation(messages))
            }
        }
    };
    show_with(payload, side, (trace, ctx), &earlier)
}

/// Renders the new messages of a payload, and before them what `earlier` makes of the others.
fn show_with(
    payload: &str,
    side: Side,
    (trace, ctx): (&TraceId, &RequestContext),
    earlier: &dyn Fn(&[ChatMessage], &ContentLinks) -> Markup,
) -> Markup {
    let trace = trace.to_string();
    let whole = ctx.to(&["traces", &trace]);
    if payload.len() > READ_UP_TO {
        return html! {
            p { bdi { (preview(payload)) } }
            p.muted { (figure::bytes(payload.len())) ", continue on " a href=(whole) { "the trace page" } "." }
        };
    }
    let at = side.content_links(ctx, &[&trace]);
    match message_formats::read(payload) {
        Reading::Data(text) if text.len() <= DRAWN => json::json(&text),
        Reading::Data(text) => MessageStyle::for_end(&at, DRAWN, 0).lone_text(&text),
        Reading::Text(text) => {
            let (role, parts) = (side.speaker(), vec![Part::Text(text)]);
            MessageStyle::for_end(&at, DRAWN, 0).conversation(&[ChatMessage {
                role,
                name: None,
                parts,
            }])
        }
        Reading::Messages(mut messages) => {
            let new = messages.split_off(beginning(&messages, side));
            let has_earlier = !messages.is_empty() && side == Side::Input;
            let before = html! { @if has_earlier { (earlier(&messages, &at)) } };
            let pictures = message_formats::pictures(&Reading::Messages(messages)).len();
            html! {
                (before)
                (MessageStyle::for_end(&at, DRAWN, pictures).conversation(&new))
            }
        }
    }
}

/// Index of the first new message: the last user message, or the one after it.
fn beginning(messages: &[ChatMessage], side: Side) -> usize {
    let last = messages.iter().rposition(|message| message.role == MessageRole::User);
    match (side, last) {
        (Side::Input, Some(last)) => last,
        (Side::Input, None) => 0,
        (Side::Output, Some(last)) if last + 1 < messages.len() => last + 1,
        (Side::Output, _) => 0,
    }
}

/// One-line preview of an input: the newest user message, if there are messages.
pub(crate) fn opening(payload: &str) -> String {
    if payload.len() > READ_UP_TO {
        return preview(payload);
    }
    match message_formats::read(payload) {
        Reading::Text(text) | Reading::Data(text) => preview(&text),
        Reading::Messages(messages) => {
            let asked = messages.iter().rev().filter(|message| message.role == MessageRole::User);
            let said = asked.chain(&messages).find_map(words);
            preview(said.unwrap_or_default())
        }
    }
}

/// The text that an output says after the last question; `None` if it has no messages with text.
pub(crate) fn answer(payload: &str) -> Option<String> {
    if payload.len() > READ_UP_TO {
        return None;
    }
    let Reading::Messages(messages) = message_formats::read(payload) else { return None };
    let new = messages.iter().skip(beginning(&messages, Side::Output));
    let said: Vec<&str> = new.filter_map(words).collect();
    (!said.is_empty()).then(|| said.join("\n\n"))
}

/// Text of a message, if any.
fn words(message: &ChatMessage) -> Option<&str> {
    message.parts.iter().find_map(|part| match part {
        Part::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    })
}

/// First characters on one line.
fn preview(text: &str) -> String {
    one_line(text, PREVIEW)
}

/// First `n` characters on one line.
pub(crate) fn one_line(text: &str, length: usize) -> String {
    let mut line = String::new();
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control());
    // A line may be a megabyte long: no more of it is looked at than shown.
    while line.chars().count() <= length {
        let Some(word) = words.next() else { return line };
        if !line.is_empty() && !word.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(length + 1));
    }
    let cut: String = line.chars().take(length).collect();
    cut + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str = r#"[{"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Old question"}, {"role": "assistant", "content": "Old answer."},
        {"role": "user", "content": "Where is\n my <b>refund</b>?"}]"#;

    #[test]
    fn the_newest_question_opens() {
        assert_eq!(opening(CHAT), "Where is my <b>refund</b>?");
        assert_eq!(opening("\"plain\""), "plain");
        assert_eq!(opening(r#"{"a": 1}"#), r#"{"a": 1}"#);
    }

    #[test]
    fn what_was_said_before_is_left_out() {
        let new = |payload: &str, side| match message_formats::read(payload) {
            Reading::Messages(messages) => beginning(&messages, side),
            other => panic!("{other:?}"),
        };
        assert_eq!(new(CHAT, Side::Input), 3);
        let whole = CHAT.replace(']', r#", {"role": "assistant", "content": "On its way."}]"#);
        assert_eq!(new(&whole, Side::Output), 4);
        let answer = r#"[{"role": "assistant", "content": "On its way."}]"#;
        assert_eq!((new(answer, Side::Output), new(answer, Side::Input)), (0, 0));
        assert_eq!(super::answer(&whole).as_deref(), Some("On its way."));
        assert_eq!(super::answer(r#"{"a": 1}"#), None);
    }

    #[test]
    fn long_texts_are_cut() {
        for words in [100_000, 10_000] {
            let long = "word ".repeat(words);
            assert!(opening(&long).ends_with('…') && opening(&long).len() < 200);
        }
    }
}
