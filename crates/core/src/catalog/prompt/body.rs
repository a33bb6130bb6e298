use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::PromptKind;
use super::reference::{Piece, Reference, pieces};

const MAX_PLACEHOLDER_CHARS: usize = 200;

/// The content of a prompt version.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptBody {
    Text(String),
    Chat(Vec<ChatMessage>),
}

/// A message of a chat prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatMessage {
    Said {
        role: String,
        content: String,
        /// Further fields of the message.
        rest: Map<String, Value>,
    },
    /// A slot that the client fills with messages.
    Placeholder { name: String },
}

/// Validation error of a prompt body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct BodyError {
    /// 0-based index of the message.
    pub message: Option<usize>,
    pub field: Option<&'static str>,
    pub why: String,
}

impl BodyError {
    fn whole(why: impl Into<String>) -> Self {
        Self { message: None, field: None, why: why.into() }
    }

    fn field(message: usize, field: &'static str, why: impl Into<String>) -> Self {
        Self { message: Some(message), field: Some(field), why: why.into() }
    }
}

impl PromptBody {
    /// Parses a body of a type from JSON.
    ///
    /// # Errors
    /// Names the invalid message; also rejects a variable and a placeholder of the same name,
    /// because a client could not fill both.
    pub fn read(kind: PromptKind, json: Value) -> Result<Self, BodyError> {
        match (kind, json) {
            (PromptKind::Text, Value::String(text)) => Ok(Self::Text(text)),
            (PromptKind::Text, _) => Err(BodyError::whole("a text prompt must be a text")),
            (PromptKind::Chat, Value::Array(messages)) => {
                let messages = messages.into_iter().enumerate();
                let messages: Result<Vec<_>, _> =
                    messages.map(|(index, json)| ChatMessage::read(index, json)).collect();
                Self::Chat(messages?).without_clash()
            }
            (PromptKind::Chat, _) => Err(BodyError::whole("a chat prompt must be a list")),
        }
    }

    /// Serializes to the JSON that [`PromptBody::read`] parses.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Chat(messages) => messages.iter().map(ChatMessage::to_json).collect(),
        }
    }

    /// Returns the body with a line added: at the end of a text, or of the first system message of a
    /// chat, which gets one if it has none.
    #[must_use]
    pub fn with_line(&self, line: &str) -> Self {
        let below = |text: &str| {
            let text = text.trim_end();
            if text.is_empty() { line.to_owned() } else { format!("{text}\n{line}") }
        };
        let mut messages = match self {
            Self::Text(text) => return Self::Text(below(text)),
            Self::Chat(messages) => messages.clone(),
        };
        let system = messages.iter_mut().find_map(|message| match message {
            ChatMessage::Said { role, content, .. } if role == "system" => Some(content),
            _ => None,
        });
        match system {
            Some(content) => *content = below(content),
            None => {
                let (role, content) = ("system".to_owned(), line.to_owned());
                messages.insert(0, ChatMessage::Said { role, content, rest: Map::new() });
            }
        }
        Self::Chat(messages)
    }

    /// Returns the type.
    pub fn kind(&self) -> PromptKind {
        match self {
            Self::Text(_) => PromptKind::Text,
            Self::Chat(_) => PromptKind::Chat,
        }
    }

    /// Returns the prompts it refers to, each once.
    pub fn references(&self) -> BTreeSet<Reference> {
        let pieces = self.texts().into_iter().flat_map(pieces);
        let reference = |piece| match piece {
            Piece::Refers(reference) => Some(reference),
            Piece::Plain(_) => None,
        };
        pieces.filter_map(reference).collect()
    }

    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::Chat(messages) => messages.iter().filter_map(ChatMessage::content).collect(),
        }
    }

    fn without_clash(self) -> Result<Self, BodyError> {
        let Self::Chat(messages) = &self else { return Ok(self) };
        let placeholders: BTreeSet<&str> =
            messages.iter().filter_map(ChatMessage::placeholder).collect();
        let variables: BTreeSet<&str> = self.texts().into_iter().flat_map(variables).collect();
        let both: Vec<&str> = variables.intersection(&placeholders).copied().collect();
        if both.is_empty() {
            return Ok(self);
        }
        Err(BodyError::whole(format!(
            "variables and placeholders must have different names, these are both: {}",
            both.join(", ")
        )))
    }
}

impl ChatMessage {
    fn read(index: usize, json: Value) -> Result<Self, BodyError> {
        let Value::Object(mut fields) = json else {
            return Err(BodyError {
                message: Some(index),
                field: None,
                why: "a message must be an object".to_owned(),
            });
        };
        let kind = match fields.remove("type") {
            None | Some(Value::Null) => None,
            Some(Value::String(kind)) => Some(kind),
            Some(_) => return Err(BodyError::field(index, "type", "must be a text")),
        };
        // Without a type, a message with a name and no role is a placeholder.
        let is_nameless = !fields.contains_key("name") || fields.contains_key("role");
        if kind.as_deref() == Some("placeholder") || (kind.is_none() && !is_nameless) {
            return Self::read_placeholder(index, &mut fields);
        }
        let role = text_field(index, "role", &mut fields)?;
        let content = text_field(index, "content", &mut fields)?;
        fields.extend(kind.map(|kind| ("type".to_owned(), Value::from(kind))));
        Ok(Self::Said { role, content, rest: fields })
    }

    fn read_placeholder(index: usize, fields: &mut Map<String, Value>) -> Result<Self, BodyError> {
        let name = text_field(index, "name", fields)?;
        let is_fit = (1..=MAX_PLACEHOLDER_CHARS).contains(&name.chars().count());
        if is_fit && !name.contains(char::is_control) {
            return Ok(Self::Placeholder { name });
        }
        let why = format!("a placeholder's name has 1 to {MAX_PLACEHOLDER_CHARS} characters");
        Err(BodyError::field(index, "name", why))
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Said { role, content, rest } => {
                let mut fields = rest.clone();
                fields.insert("role".to_owned(), Value::from(role.as_str()));
                fields.insert("content".to_owned(), Value::from(content.as_str()));
                Value::Object(fields)
            }
            Self::Placeholder { name } => json!({"type": "placeholder", "name": name}),
        }
    }

    fn content(&self) -> Option<&str> {
        match self {
            Self::Said { content, .. } => Some(content),
            Self::Placeholder { .. } => None,
        }
    }

    fn placeholder(&self) -> Option<&str> {
        match self {
            Self::Said { .. } => None,
            Self::Placeholder { name } => Some(name),
        }
    }
}

fn text_field(
    index: usize,
    field: &'static str,
    fields: &mut Map<String, Value>,
) -> Result<String, BodyError> {
    match fields.remove(field) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(BodyError::field(index, field, "must be a text")),
        None => Err(BodyError::field(index, field, "required")),
    }
}

/// Returns the names between double braces.
pub(super) fn variables(text: &str) -> Vec<&str> {
    let inner = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    inner.map(|(name, _)| name.trim()).filter(|name| !name.is_empty()).collect()
}
