//! Session timeline: the messages and tool calls of a session with their results.
//!
//! Recordings repeat content: the input of a generation contains the conversation so far, a trace
//! repeats its first input and its last output, and a tool call is both in the model's answer and
//! an observation. The timeline contains each event once, in order, with the trace that shows it.

/// Messages and tool calls of one payload.
mod item;
/// Detection of new messages in a conversation.
mod new_messages;
/// Tool calls recorded as observations.
mod tool_calls;
/// Detection of failed tool calls by their output.
mod tool_outcome;
/// Reading of consecutive traces.
mod reader;

use serde_json::Value;

use crate::judge::evidence::Evidence;
use crate::time::Timestamp;

/// An event of the timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEvent {
    /// The number of the trace that shows it.
    pub trace: u32,
    /// As far as it was recorded.
    pub at: Timestamp,
    pub act: TimelineAction,
}

/// The content of a timeline event.
#[derive(Clone, Debug, PartialEq)]
pub enum TimelineAction {
    /// A message of the user or calling program.
    UserSays(String),
    AgentSays(String),
    /// A tool call of the agent.
    Calls(Call),
}

/// A tool call with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub tool: String,
    pub input: Value,
    /// Output as text; `None` where it was not recorded.
    pub output: Option<String>,
    /// Recorded as an error, or recognised as one by the form of its output.
    pub failed: bool,
}

/// Returns the timeline of a session, oldest first, without repetitions.
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
