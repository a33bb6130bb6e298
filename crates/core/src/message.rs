use serde_json::{Value, json};

use crate::time::Timestamp;

/// A message to people and programs outside: by webhook, in Slack, or pushed to a browser.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Event name, such as `week.report`, by which programs tell messages apart.
    pub event: String,
    /// A heading, plain text.
    pub title: String,
    /// A sentence or two, plain text.
    pub text: String,
    pub sections: Vec<MessageSection>,
    /// URL of the page it is about.
    pub link: Option<String>,
    /// Facts for programs: a JSON object.
    pub data: Value,
}

/// A part of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageSection {
    pub title: Option<String>,
    pub lines: Vec<MessageLine>,
}

/// A line of a section, plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageLine {
    Field {
        name: String,
        value: String,
    },
    /// An item of a list.
    Item(String),
}

impl Message {
    /// Returns the payload for subscribed receivers, as Standard Webhooks suggests: type, time and
    /// data.
    pub fn payload(&self, at: Timestamp) -> Value {
        json!({"type": self.event, "timestamp": at.to_string(), "data": self.data})
    }
}
