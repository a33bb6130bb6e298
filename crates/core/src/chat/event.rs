use std::sync::Arc;

use serde_json::Value;

use crate::time::Timestamp;

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A line of the agent, unchanged.
    Raw,
    /// The state of the chat changed.
    State,
    /// A person sent a message.
    Message,
    /// A piece of the agent's text.
    TextDelta,
    /// A piece of the agent's thinking.
    ThinkingDelta,
    ToolUse,
    ToolResult,
    /// The agent asks a question.
    Question,
    /// The agent asks for permission.
    Permission,
    /// A prompt was answered, timed out, or was withdrawn.
    Answered,
    Done,
    /// An error outside of the agent.
    Error,
    /// A notice: context was compacted, a request is retried.
    Notice,
}

impl EventKind {
    pub const ALL: [Self; 13] = [
        Self::Raw,
        Self::State,
        Self::Message,
        Self::TextDelta,
        Self::ThinkingDelta,
        Self::ToolUse,
        Self::ToolResult,
        Self::Question,
        Self::Permission,
        Self::Answered,
        Self::Done,
        Self::Error,
        Self::Notice,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::State => "state",
            Self::Message => "message",
            Self::TextDelta => "text_delta",
            Self::ThinkingDelta => "thinking_delta",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
            Self::Question => "question",
            Self::Permission => "permission",
            Self::Answered => "answered",
            Self::Done => "done",
            Self::Error => "error",
            Self::Notice => "notice",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// An event without a sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnorderedEvent {
    pub kind: EventKind,
    /// A JSON object.
    pub body: Arc<str>,
}

/// An event of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatEvent {
    /// Sequence number, from 1 without gaps.
    pub seq: u64,
    /// Time by the server's clock.
    pub at: Timestamp,
    pub kind: EventKind,
    /// A JSON object.
    pub body: Arc<str>,
}

/// Builder of a JSON object. What the agent wrote is copied verbatim, so that numbers and the order
/// of keys do not change.
///
/// ```
/// use ratchet_core::chat::event::{EventBody, EventKind};
///
/// let event = EventBody::default().text("text", "Hi").raw("input", "{\"b\":1.0}");
/// assert_eq!(&*event.into_event(EventKind::ToolUse).body, r#"{"text":"Hi","input":{"b":1.0}}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventBody(String);

impl EventBody {
    /// Adds a text.
    #[must_use]
    pub fn text(self, key: &str, text: &str) -> Self {
        self.raw(key, &Value::from(text).to_string())
    }

    /// Adds a text, if there is one.
    #[must_use]
    pub fn text_if(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    /// Adds a number or a boolean.
    #[must_use]
    pub fn value(self, key: &str, value: impl Into<Value>) -> Self {
        self.raw(key, &value.into().to_string())
    }

    /// Adds JSON verbatim.
    #[must_use]
    pub fn raw(mut self, key: &str, json: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&Value::from(key).to_string());
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Adds JSON verbatim, if there is any.
    #[must_use]
    pub fn raw_if(self, key: &str, json: Option<&str>) -> Self {
        match json {
            Some(json) => self.raw(key, json),
            None => self,
        }
    }

    /// Returns the object.
    pub fn finish(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }

    /// Returns an event with this body.
    pub fn into_event(self, kind: EventKind) -> UnorderedEvent {
        UnorderedEvent { kind, body: self.finish().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(EventKind::parse("Raw"), None);
    }

    #[test]
    fn an_empty_object_is_an_object() {
        assert_eq!(EventBody::default().finish(), "{}");
        let body = EventBody::default().text_if("a", None).value("b\"", true).finish();
        assert_eq!(body, r#"{"b\"":true}"#);
    }
}
