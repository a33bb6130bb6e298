//! What happened in a session: who said what, which tools were called, and what came of it.
//!
//! Recordings repeat themselves. A model call's input holds the conversation up to then, a trace
//! repeats its first question and its last answer, a tool call stands in the model's answer and as
//! a step of its own. Here everything is told once, in order, with the trace that shows it.

/// Things said and done, as one payload tells them.
mod item;
/// What of a conversation is new.
mod new_messages;
/// Tool calls that were recorded as steps.
mod tool_calls;
/// Whether a tool failed, by what it gave back.
mod tool_outcome;
/// One trace after another.
mod reader;

use serde_json::Value;

use crate::judge::evidence::Evidence;
use crate::time::Timestamp;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEvent {
    /// The number of the trace that shows it.
    pub trace: u32,
    /// When, as far as the recording says.
    pub at: Timestamp,
    pub act: TimelineAction,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum TimelineAction {
    /// The person, or whoever asks, says something.
    UserSays(String),
    AgentSays(String),
    /// The agent calls a tool.
    Calls(Call),
}

/// A call of a tool, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub tool: String,
    pub input: Value,
    /// What it gave back, as text; `None` where the recording does not say.
    pub output: Option<String>,
    /// Whether it failed: it was recorded as an error, or what it gave back says so in its form.
    pub failed: bool,
}

/// Reads what happened in a session, oldest first, each thing once.
///
/// ```
/// use ratchet_core::judge::evidence::Evidence;
/// use ratchet_core::id::SessionId;
///
/// let nothing = Evidence::new(SessionId::parse("s-1")?, Vec::new());
/// assert!(ratchet_core::judge::session_timeline::of(&nothing).is_empty());
/// # Ok::<(), ratchet_core::id::IdError>(())
/// ```
pub fn of(evidence: &Evidence) -> Vec<TimelineEvent> {
    reader::read(evidence)
}

#[cfg(test)]
mod tests;
