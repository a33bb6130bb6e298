//! Prompts: texts and chats with versions, labels and references to one another.

/// References from one prompt to another.
mod reference;
/// Prompts with their references filled in.
mod compose;
mod body;
/// Prompts with their variables filled in.
mod fill;

#[cfg(test)]
mod tests;

pub use body::{BodyError, ChatMessage, PromptBody};
pub use compose::{
    ComposeError, Composed, Graph, MAX_DEPTH, MAX_PARTS, Node, Part, Parts, compose,
};
pub use reference::{Pick, Reference};

/// The label that always stands at the newest version.
pub const LATEST: &str = "latest";

/// The label that is read when a client names neither a label nor a version.
pub const PRODUCTION: &str = "production";

const MAX_NAME_CHARS: usize = 255;
const MAX_LABEL_CHARS: usize = 36;
const MAX_TAG_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 500;

/// Whether a prompt is one text or a list of messages. Fixed for all versions of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptKind {
    /// One text.
    Text,
    Chat,
}

impl PromptKind {
    pub const ALL: [Self; 2] = [Self::Text, Self::Chat];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Chat => "chat",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Why a text cannot be the name, a label, a tag or the message of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptNameError {
    #[error("must not be empty")]
    Empty,
    #[error("must have at most {0} characters")]
    TooLong(usize),
    /// A bar would end the name inside a reference.
    #[error("must not contain '|'")]
    Bar,
    /// Line breaks, null bytes and the like.
    #[error("must not contain control characters")]
    Control,
    #[error("must not begin or end with a slash, nor contain two in a row")]
    Slashes,
    /// The address of a page.
    #[error("'new' is reserved")]
    Reserved,
    /// Labels are short plain words.
    #[error("must be of a-z 0-9 _ - .")]
    NotPlain,
}

/// Checks the name of a prompt. Slashes part folders.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_name(name: &str) -> Result<(), PromptNameError> {
    check_len(name, MAX_NAME_CHARS)?;
    if name.contains('|') {
        return Err(PromptNameError::Bar);
    }
    if name.contains(char::is_control) {
        return Err(PromptNameError::Control);
    }
    if name.starts_with('/') || name.ends_with('/') || name.contains("//") {
        return Err(PromptNameError::Slashes);
    }
    if name == "new" { Err(PromptNameError::Reserved) } else { Ok(()) }
}

/// Checks a label.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_label(label: &str) -> Result<(), PromptNameError> {
    check_len(label, MAX_LABEL_CHARS)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    if label.chars().all(is_plain) { Ok(()) } else { Err(PromptNameError::NotPlain) }
}

/// Checks a tag.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_tag(tag: &str) -> Result<(), PromptNameError> {
    check_len(tag, MAX_TAG_CHARS)?;
    if tag.contains(char::is_control) { Err(PromptNameError::Control) } else { Ok(()) }
}

/// Checks the message that goes with a version.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_message(message: &str) -> Result<(), PromptNameError> {
    if message.chars().count() > MAX_MESSAGE_CHARS {
        return Err(PromptNameError::TooLong(MAX_MESSAGE_CHARS));
    }
    if message.contains('\0') { Err(PromptNameError::Control) } else { Ok(()) }
}

fn check_len(text: &str, most: usize) -> Result<(), PromptNameError> {
    match text.chars().count() {
        0 => Err(PromptNameError::Empty),
        len if len > most => Err(PromptNameError::TooLong(most)),
        _ => Ok(()),
    }
}
