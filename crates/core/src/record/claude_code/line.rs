use super::object::Object;
use crate::time::Timestamp;

/// Line types that only link the conversation and contain nothing to record.
const LINKS: &[&str] = &["attachment", "progress"];

/// Line types about the program itself: settings, titles, caches, and requests in an internal
/// format.
const IGNORED: &[&str] = &[
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
    /// Input to the model: from a person or a tool.
    User,
    Assistant,
    System,
    /// A link in the conversation.
    Link,
    /// A known type that is not recorded.
    Ignored,
    /// An unknown type.
    Unknown,
}

/// The common fields of a transcript line.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) kind: LineKind,
    /// The type as text.
    pub(super) type_name: String,
    pub(super) at: Option<Timestamp>,
    /// The id of the sub-agent, if it is one's line.
    pub(super) agent: Option<String>,
    pub(super) rest: Object<'a>,
}

impl<'a> Line<'a> {
    /// Parses a line.
    ///
    /// # Errors
    /// Reports why it is malformed.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let rest = Object::parse(text).map_err(|error| error.to_string())?;
        let type_name = rest.text("type").ok_or("it has no type")?;
        let kind = match type_name.as_str() {
            "user" => LineKind::User,
            "assistant" => LineKind::Assistant,
            "system" => LineKind::System,
            link if LINKS.contains(&link) => LineKind::Link,
            ignored if IGNORED.contains(&ignored) => LineKind::Ignored,
            _ => LineKind::Unknown,
        };
        let is_sidechain = rest.is("isSidechain");
        let agent = rest.text("agentId").filter(|_| is_sidechain);
        Ok(Self { kind, type_name, at: rest.time("timestamp"), agent, rest })
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.rest.text(key)
    }
}
