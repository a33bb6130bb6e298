//! Prompts: text and chat templates with versions, labels and references to other prompts.

/// References from one prompt to another.
mod reference;
/// Resolution of references.
mod compose;
mod body;
/// Substitution of variables.
pub(crate) mod fill;

#[cfg(test)]
mod tests;

pub use body::{BodyError, ChatMessage, PromptBody};
pub use compose::{
    ComposeError, Composed, Graph, MAX_DEPTH, MAX_PARTS, Node, Part, Parts, compose,
};
pub use reference::{Pick, Reference};

/// The label that always points to the newest version.
pub const LATEST: &str = "latest";

/// The default label when a client names neither a label nor a version.
pub const PRODUCTION: &str = "production";

const MAX_NAME_CHARS: usize = 255;
const MAX_LABEL_CHARS: usize = 36;
const MAX_TAG_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 500;

/// The type of a prompt: one text or a list of messages. Fixed for all versions of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptKind {
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

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Error of validating a prompt's name, label, tag or commit message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptNameError {
    #[error("must not be empty")]
    Empty,
    #[error("must have at most {0} characters")]
    TooLong(usize),
    /// A `|` would end the name inside a reference.
    #[error("must not contain '|'")]
    Bar,
    /// Line breaks, null bytes and other control characters.
    #[error("must not contain control characters")]
    Control,
    #[error("must not begin or end with a slash, nor contain two in a row")]
    Slashes,
    /// A name that is a page's path segment.
    #[error("'new' is reserved")]
    Reserved,
    /// Labels allow a restricted character set only.
    #[error("must be of a-z 0-9 _ - .")]
    NotPlain,
}

/// Validates the name of a prompt. Slashes separate folders.
///
/// # Errors
/// Rejects empty, too long or reserved names, `|` and control characters.
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

/// Validates a label.
///
/// # Errors
/// Rejects labels that are empty, too long or outside the character set.
pub fn check_label(label: &str) -> Result<(), PromptNameError> {
    check_len(label, MAX_LABEL_CHARS)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    if label.chars().all(is_plain) { Ok(()) } else { Err(PromptNameError::NotPlain) }
}

/// Validates a tag.
///
/// # Errors
/// Rejects empty or too long tags and control characters.
pub fn check_tag(tag: &str) -> Result<(), PromptNameError> {
    check_len(tag, MAX_TAG_CHARS)?;
    if tag.contains(char::is_control) { Err(PromptNameError::Control) } else { Ok(()) }
}

/// Validates the commit message of a version.
///
/// # Errors
/// Rejects too long messages and control characters.
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
