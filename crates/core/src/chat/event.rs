use std::sync::Arc;

use serde_json::Value;

use crate::time::Timestamp;

/// What kind of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A line of the agent's, unchanged.
    Raw,
    /// The session does something else now.
    State,
    /// A person sent a message.
    Message,
    /// A piece of the agent's words.
    TextDelta,
    /// A piece of what it thinks aloud.
    ThinkingDelta,
    ToolUse,
    ToolResult,
    /// It asks a person something.
    Question,
    /// It asks whether it may.
    Permission,
    /// A person answered, or time did for them, or nobody needs to any more.
    Answered,
    Done,
    /// Something failed that is not the agent's own affair.
    Error,
    /// Something worth knowing: context was compacted, a request is tried again.
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

    /// The word for it, as clients write it.
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

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// An event that has no place in the order yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnorderedEvent {
    pub kind: EventKind,
    /// What it says: a JSON object.
    pub body: Arc<str>,
}

/// An event of a session, at its place in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatEvent {
    /// Its place: one more than that of the event before, beginning with one.
    pub seq: u64,
    /// When it happened, by the server's clock.
    pub at: Timestamp,
    pub kind: EventKind,
    /// What it says: a JSON object.
    pub body: Arc<str>,
}

/// A JSON object being written. What the agent wrote goes in as it stands, so that no number and
/// no order of keys is changed on the way.
///
/// ```
/// use ratchet_core::chat::event::{EventBody, EventKind};
///
/// let told = EventBody::default().text("text", "Hi").raw("input", "{\"b\":1.0}");
/// assert_eq!(&*told.told(EventKind::ToolUse).body, r#"{"text":"Hi","input":{"b":1.0}}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventBody(String);

impl EventBody {
    /// Adds a text.
    #[must_use]
    pub fn text(self, key: &str, text: &str) -> Self {
        self.raw(key, &Value::from(text).to_string())
    }

    /// Adds a text if there is one.
    #[must_use]
    pub fn text_if(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    /// Adds a number or a truth.
    #[must_use]
    pub fn value(self, key: &str, value: impl Into<Value>) -> Self {
        self.raw(key, &value.into().to_string())
    }

    /// Adds JSON as it stands.
    #[must_use]
    pub fn raw(mut self, key: &str, json: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&Value::from(key).to_string());
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Adds JSON as it stands, if there is any.
    #[must_use]
    pub fn raw_if(self, key: &str, json: Option<&str>) -> Self {
        match json {
            Some(json) => self.raw(key, json),
            None => self,
        }
    }

    /// The object.
    pub fn finish(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }

    /// The event that says so.
    pub fn told(self, kind: EventKind) -> UnorderedEvent {
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
