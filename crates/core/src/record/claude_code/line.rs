use super::object::Object;
use crate::time::Timestamp;

/// Lines that carry a place in the conversation and nothing to record.
const LINKS: &[&str] = &["attachment", "progress"];

/// Lines about the program itself: settings, titles, caches, and requests in a form that only
/// Claude Code can put together again.
const ASIDES: &[&str] = &[
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "attribution-snapshot",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "queue-operation",
    "speculation-accept",
    "summary",
    "tag",
    "task-summary",
    "tools-used",
    "worktree-state",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Someone spoke to the model: a person, or a tool that answers.
    User,
    Assistant,
    System,
    /// A place in the conversation.
    Link,
    Aside,
    /// Of a type that nobody here knows.
    Unknown,
}

/// A line of a transcript, as far as every line says the same.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) kind: LineKind,
    /// The type as it stands there.
    pub(super) word: String,
    pub(super) at: Option<Timestamp>,
    /// The sub-agent whose line it is.
    pub(super) agent: Option<String>,
    pub(super) rest: Object<'a>,
}

impl<'a> Line<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// Says why it is not one.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let rest = Object::parse(text).map_err(|error| error.to_string())?;
        let word = rest.text("type").ok_or("it has no type")?;
        let kind = match word.as_str() {
            "user" => LineKind::User,
            "assistant" => LineKind::Assistant,
            "system" => LineKind::System,
            link if LINKS.contains(&link) => LineKind::Link,
            aside if ASIDES.contains(&aside) => LineKind::Aside,
            _ => LineKind::Unknown,
        };
        let is_sidechain = rest.is("isSidechain");
        let agent = rest.text("agentId").filter(|_| is_sidechain);
        Ok(Self { kind, word, at: rest.time("timestamp"), agent, rest })
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.rest.text(key)
    }
}
