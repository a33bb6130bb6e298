//! Recorded conversations, read from whatever form their provider or framework gives them.
//!
//! Pure: a JSON value goes in, messages come out. What is not understood is kept as it is, so that
//! nothing that was recorded is hidden.

/// Messages, in the forms of providers and frameworks.
mod message;
/// What a message is made of.
mod part;
/// Pictures, and media that were sent apart.
mod picture;
/// Calls of tools brought together with what came back.
mod pair;

use serde_json::Value;

use crate::json_size::{JsonSizeError, small_tree};

pub use picture::{Medium, Picture, pictures};

/// What a payload says, as people would read it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Messages, each call of a tool with its result.
    Messages(Vec<ChatMessage>),
    Text(String),
    /// Anything else: a JSON text.
    Data(String),
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    pub role: Role,
    pub name: Option<String>,
    pub parts: Vec<Part>,
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Who wrote the agent: system and developer messages.
    System,
    User,
    Assistant,
    /// A tool that was called.
    Tool,
    /// A role that only this client knows.
    Other(String),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    /// What the model thought before it spoke.
    Thinking(String),
    /// A picture or another file.
    Picture(Picture),
    /// A call of a tool.
    Call(RecordedCall),
    /// What a tool gave back, when its call is not there.
    Result(RecordedResult),
    /// Anything else, as JSON.
    Data(Value),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// What its result refers to.
    pub id: Option<String>,
    pub name: String,
    /// What it was asked, as JSON or as text.
    pub arguments: Value,
    pub result: Option<RecordedResult>,
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResult {
    pub id: Option<String>,
    pub name: Option<String>,
    pub is_error: bool,
    pub parts: Vec<Part>,
}

/// Reads a payload: a conversation where it is one, a text where it is one, JSON else.
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

/// A text may be a conversation that someone wrote out once more.
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
