//! Messages as people read them: who speaks, in Markdown, each call of a tool with its result.

use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use serde_json::value::RawValue;

use super::icon::{Icon, icon};
use super::markdown::{self, markdown};
use super::{figure, json};
use ratchet_core::record::message_formats::{
    ChatMessage, Medium, MessageRole, Part, Picture, RecordedCall, RecordedResult,
};

/// Bytes of one text that are drawn.
const MAX_TEXT: usize = 24_000;
/// Bytes of all texts of a payload that are drawn.
const MAX_ALL: usize = 160_000;
/// Texts of the system beyond this many bytes are folded.
const FOLD_SYSTEM: usize = 600;
/// Where the things are that a payload refers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContentLinks {
    pub(crate) whole: String,
    /// Its pictures; the number of the picture comes at the end.
    pub(crate) pictures: String,
    /// Kept media; the media's id comes at the end.
    pub(crate) media: String,
}

/// Renders the messages of one payload, and counts what is rendered.
#[derive(Debug)]
pub(crate) struct MessageStyle<'a> {
    at: &'a ContentLinks,
    left: usize,
    pictures_drawn: usize,
}

impl<'a> MessageStyle<'a> {
    /// A pen for one payload.
    pub(crate) fn new(at: &'a ContentLinks) -> Self {
        Self { at, left: MAX_ALL, pictures_drawn: 0 }
    }

    /// A pen for the end of a payload, with so many bytes to draw and so many pictures before.
    pub(crate) fn for_end(at: &'a ContentLinks, room: usize, pictures_before: usize) -> Self {
        Self { at, left: room, pictures_drawn: pictures_before }
    }

    pub(crate) fn conversation(&mut self, messages: &[ChatMessage]) -> Markup {
        let mut drawn = Vec::new();
        for message in messages {
            if self.left == 0 {
                break;
            }
            drawn.push(self.message(message));
        }
        let missing = messages.len() - drawn.len();
        html! {
            ol.messages { @for message in drawn { li { (message) } } }
            @if missing > 0 { (self.cut(&format!("{missing} more messages."))) }
        }
    }

    /// Renders a text without a role.
    pub(crate) fn lone_text(&mut self, text: &str) -> Markup {
        html! { div.message-body { (self.text(text)) } }
    }

    fn message(&mut self, message: &ChatMessage) -> Markup {
        let (class, word) = match &message.role {
            MessageRole::System => ("system", "System"),
            MessageRole::User => ("user", "User"),
            MessageRole::Assistant => ("assistant", "Assistant"),
            MessageRole::Tool => ("tool", "Tool"),
            MessageRole::Other(word) => ("other", word.as_str()),
        };
        let size: usize = message.parts.iter().map(length).sum();
        let is_folded = message.role == MessageRole::System && size > FOLD_SYSTEM;
        let head = html! {
            span.role { (word) }
            @if let Some(name) = &message.name { span.muted { bdi { (name) } } }
        };
        let body = html! {
            div.message-body {
                @if message.parts.is_empty() { p.muted { "(empty)" } }
                @for part in &message.parts { (self.part(part)) }
            }
        };
        html! {
            article class={ "message " (class) } {
                @if is_folded {
                    details { summary.message-head { (head) span.muted { (figure::bytes(size)) } } (body) }
                } @else {
                    header.message-head { (head) }
                    (body)
                }
            }
        }
    }

    fn part(&mut self, part: &Part) -> Markup {
        match part {
            Part::Text(text) => self.text(text),
            Part::Thinking(text) => html! {
                details.thinking { summary { "Thinking" } (self.text(text)) }
            },
            Part::Picture(picture) => self.picture(picture),
            Part::Call(call) => self.call(call),
            Part::Result(result) => html! { section.call { (self.result(result)) } },
            Part::Data(value) => self.data(value),
        }
    }

    /// A text as Markdown; as JSON where it is a document.
    fn text(&mut self, text: &str) -> Markup {
        let shown = self.take(text);
        let is_whole = shown.len() == text.len();
        let is_document = is_whole
            && text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<&RawValue>(text).is_ok();
        html! {
            @if is_document { (json::json(text)) } @else { (markdown(shown)) }
            @if !is_whole { (self.cut(&format!("{} of {}.", figure::bytes(shown.len()), figure::bytes(text.len())))) }
        }
    }

    /// As much of a text as may still be drawn.
    fn take<'t>(&mut self, text: &'t str) -> &'t str {
        let end = text.floor_char_boundary(text.len().min(MAX_TEXT).min(self.left));
        self.left -= end;
        text.get(..end).unwrap_or_default()
    }

    fn cut(&self, words: &str) -> Markup {
        html! {
            p.cut { span.muted { (words) } " "
                a href=(self.at.whole) data-load { "Load all" } }
        }
    }

    fn data(&mut self, value: &Value) -> Markup {
        let text = value.to_string();
        if self.take(&text).len() == text.len() {
            return json::json(&text);
        }
        self.cut(&format!("{} of JSON.", figure::bytes(text.len())))
    }

    fn call(&mut self, call: &RecordedCall) -> Markup {
        html! {
            section.call {
                header.call-head {
                    (icon(Icon::Tool)) code { (call.name) }
                    @if let Some(id) = &call.id { span.muted.call-id { (id) } }
                }
                @if !call.arguments.is_null() { (self.data(&call.arguments)) }
                @match &call.result {
                    Some(result) => { (self.result(result)) },
                    None => { p.muted.no-result { "No result recorded." } },
                }
            }
        }
    }

    fn result(&mut self, result: &RecordedResult) -> Markup {
        html! {
            div.result.failed[result.is_error] {
                p.result-head {
                    @if result.is_error { span.badge.bad { (icon(Icon::Error)) "Error" } }
                    @else { "Result" }
                    @if let Some(name) = &result.name { " " code.muted { (name) } }
                }
                @if result.parts.is_empty() { p.muted { "(empty)" } }
                @for part in &result.parts { (self.part(part)) }
            }
        }
    }

    fn picture(&mut self, picture: &Picture) -> Markup {
        let number = self.pictures_drawn;
        self.pictures_drawn += 1;
        let (mime, address) = match picture {
            Picture::Elsewhere(address) => return elsewhere(address),
            Picture::Inline { mime, .. } => (mime, format!("{}{number}", self.at.pictures)),
            Picture::Kept { mime, id } => {
                let id = utf8_percent_encode(id, NON_ALPHANUMERIC);
                (mime, format!("{}{id}", self.at.media))
            }
        };
        html! {
            figure.picture {
                @match Medium::of(mime) {
                    Some((Medium::Picture, _)) => { img src=(address) alt="" loading="lazy"; },
                    // Audio is fetched only on play.
                    Some((Medium::Sound, _)) => {
                        audio controls preload="none" src=(address) aria-label="Audio" {}
                    },
                    Some((Medium::Film, _)) => {
                        video controls preload="metadata" src=(address) aria-label="Video" {}
                    },
                    None => {},
                }
                figcaption { a href=(address) { @if mime.is_empty() { "file" } @else { (mime) } } }
            }
        }
    }
}

/// A picture that is somewhere else: linked, never loaded.
fn elsewhere(address: &str) -> Markup {
    html! {
        p { "picture: "
            @if markdown::is_safe(address) {
                a href=(address) target="_blank" rel="noopener noreferrer nofollow" { (address) }
            } @else { code { (address) } }
        }
    }
}

/// How many bytes of text a part holds.
fn length(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Thinking(text) => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratchet_core::record::message_formats::{Reading, read};

    fn drawn(payload: &str) -> String {
        let at = ContentLinks {
            whole: "/all".into(),
            pictures: "/pic?n=".into(),
            media: "/media/".into(),
        };
        let mut pen = MessageStyle::new(&at);
        match read(payload) {
            Reading::Messages(messages) => pen.conversation(&messages).into_string(),
            Reading::Text(text) => pen.lone_text(&text).into_string(),
            Reading::Data(text) => json::json(&text).into_string(),
        }
    }

    #[test]
    fn hostile_messages_are_text() {
        let shown = drawn(
            r#"[{"role": "<b>", "name": "<i>", "content": "<script>alert(1)</script>"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "<u>", "name": "<s>", "input": {"<q>": "</script>"}}]},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "javascript://%0aalert(1)"}}]}]"#,
        );
        for tag in
            ["<b>", "<i>", "<script", "<u>", "<s>", "<q>", "</script", "<img", "<a href=\"java"]
        {
            assert!(!shown.contains(tag), "{tag} in {shown}");
        }
    }

    #[test]
    fn a_long_payload_is_cut_and_says_where_the_rest_is() {
        let shown = drawn(&"long ".repeat(1_000_000));
        assert!(shown.len() < 100_000 && shown.contains("href=\"/all\""), "{}", shown.len());
        let message = r#"{"role": "user", "content": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#;
        let shown = drawn(&format!("[{}]", vec![message; 20_000].join(",")));
        assert!(
            shown.len() < 2_000_000 && shown.contains("15000 more messages."),
            "{}",
            shown.len()
        );
    }

    #[test]
    fn only_media_that_cannot_run_are_shown() {
        let picture = |mime: &str| {
            drawn(&format!(
                r#"[{{"role": "user", "content": [{{"type": "image_url", "image_url": {{"url": "data:{mime};base64,AAAA"}}}}]}}]"#
            ))
        };
        assert!(picture("image/png").contains("<img src=\"/pic?n=0\""));
        assert!(!picture("image/svg+xml").contains("<img"));
        assert!(!picture("text/html").contains("<img"));
        assert!(picture("audio/wav").contains("<audio controls preload=\"none\" src=\"/pic?n=0\""));
        assert!(picture("video/mp4").contains("<video controls"));
    }
}
