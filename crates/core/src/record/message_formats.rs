//! Chat messages in recorded payloads, in the formats of providers and frameworks.
//!
//! Pure: JSON in, messages out. What is not recognised is returned as data, so that nothing
//! recorded is hidden.

/// Message formats.
mod message;
/// Content parts.
mod part;
/// Images and other media.
mod picture;
/// Matching of tool calls with their results.
mod pair;

use serde_json::Value;

use crate::json_size::{JsonSizeError, small_tree};

pub use picture::{Medium, Picture, pictures};

/// A parsed payload.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Each tool call with its result.
    Messages(Vec<ChatMessage>),
    Text(String),
    /// Any other JSON text.
    Data(String),
}

/// A chat message.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    pub role: MessageRole,
    pub name: Option<String>,
    pub parts: Vec<Part>,
}

/// The role of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageRole {
    /// System and developer messages.
    System,
    User,
    Assistant,
    Tool,
    /// A client's custom role.
    Other(String),
}

/// A content part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    /// Reasoning.
    Thinking(String),
    /// An image or another file.
    Picture(Picture),
    Call(RecordedCall),
    /// A tool result without its call.
    Result(RecordedResult),
    /// Anything else, as JSON.
    Data(Value),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// The id that its result refers to.
    pub id: Option<String>,
    pub name: String,
    /// As JSON or as text.
    pub arguments: Value,
    pub result: Option<RecordedResult>,
}

/// A tool result.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResult {
    pub id: Option<String>,
    pub name: Option<String>,
    pub is_error: bool,
    pub parts: Vec<Part>,
}

/// Parses a payload: as messages, as text, or else as JSON.
pub fn read(text: &str) -> Reading {
    let value = match small_tree(text) {
        Ok(value) => value,
        Err(JsonSizeError::NotJson(_)) => return Reading::Text(text.to_owned()),
        Err(JsonSizeError::TooLarge) => return Reading::Data(text.to_owned()),
    };
    match value {
        Value::String(inner) => read_text(inner),
        Value::Array(_) | Value::Object(_) => match message::messages(&value) {
            Some(messages) => Reading::Messages(pair::pair(messages)),
            None => Reading::Data(text.to_owned()),
        },
        _ => Reading::Text(text.to_owned()),
    }
}

/// A string may contain a conversation as JSON once more.
fn read_text(text: String) -> Reading {
    let is_document = text.starts_with(['[', '{']);
    let again = is_document.then(|| small_tree(&text).ok()).flatten();
    match again.as_ref().and_then(message::messages) {
        Some(messages) => Reading::Messages(pair::pair(messages)),
        None if again.is_some() => Reading::Data(text),
        None => Reading::Text(text),
    }
}

#[cfg(test)]
mod tests;
