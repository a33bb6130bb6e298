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
/// Outcomes of tool calls.
mod tool_outcome;
/// Which observations belong to sub-agents.
mod sub_agents;
/// Reading of consecutive traces.
mod reader;

use serde_json::Value;

use crate::judge::evidence::Evidence;
use crate::judge::notations::{CallOutcome, Notations};
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
    /// A message of the user. Results, prompts of sub-agents and notes of frameworks are none,
    /// though they are recorded in the same role.
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
    /// By the recorded level or flag, else by the notation of its output.
    pub outcome: CallOutcome,
}

impl Call {
    /// Returns whether the call failed; an unknown outcome is no failure.
    pub fn failed(&self) -> bool {
        self.outcome == CallOutcome::Failed
    }
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
    of_with(evidence, Notations::shipped())
}

/// Returns whether a user spoke at least twice: the first message is a request, and only a later one
/// can show what the user thinks of the work.
pub fn has_reaction(moves: &[TimelineEvent]) -> bool {
    let is_user = |event: &&TimelineEvent| matches!(event.act, TimelineAction::UserSays(_));
    moves.iter().filter(is_user).nth(1).is_some()
}

/// Returns the timeline of a session by custom notations.
pub fn of_with(evidence: &Evidence, notations: &Notations) -> Vec<TimelineEvent> {
    let mut events = reader::read(evidence, notations);
    tool_outcome::separate_calls(&mut events, notations);
    tool_outcome::settle(&mut events, notations);
    events
}

#[cfg(test)]
mod tests;
