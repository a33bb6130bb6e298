use std::collections::BTreeSet;
use std::fmt;

use crate::id::TraceId;

/// Id of a prompt, as the agent chose it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermissionPromptId(String);

impl PermissionPromptId {
    /// Takes an id as the agent gives it.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PermissionPromptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// State of a chat. The id of a turn is that of its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatState {
    /// Its process is starting, or waits for a slot.
    Starting {
        /// The turn that it will start with.
        turn: Option<TraceId>,
    },
    /// Waits for a message.
    Idle,
    Running {
        turn: TraceId,
    },
    /// Waits for a person.
    Waiting {
        /// `None` when a background task prompts.
        turn: Option<TraceId>,
        /// Open prompts; never empty.
        asks: BTreeSet<PermissionPromptId>,
    },
    /// Has no process, and gets one with the next message.
    Parked,
    /// Its process died or did not start; the next message tries again.
    Failed,
    Closed,
}

/// A state without its data, as it is stored and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChatStateName {
    Starting,
    Idle,
    Running,
    Waiting,
    Parked,
    Failed,
    Closed,
}

impl ChatStateName {
    pub const ALL: [Self; 7] = [
        Self::Starting,
        Self::Idle,
        Self::Running,
        Self::Waiting,
        Self::Parked,
        Self::Failed,
        Self::Closed,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::Failed => "failed",
            Self::Closed => "closed",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// An input of the state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatInput {
    /// A person sent a message, which starts this turn.
    Sent(TraceId),
    /// A process is requested without a message.
    Woken,
    Started,
    /// The agent started a turn on its own: a background task has ended.
    Began(TraceId),
    /// The agent prompts a person.
    Asked(PermissionPromptId),
    /// A prompt was answered, or timed out.
    Answered(PermissionPromptId),
    /// The agent withdrew a prompt.
    Withdrawn(PermissionPromptId),
    /// A person interrupts the turn.
    Interrupted,
    Ended,
    /// Its process is ended because it is idle.
    Parked,
    /// Its process has ended unexpectedly.
    Died,
    Closed,
}

/// Why an input is invalid in a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransition {
    /// Only one turn runs at a time.
    #[error("turn {turn} is under way")]
    Busy { turn: TraceId },
    #[error("no turn is under way")]
    NoTurn,
    /// The prompt was answered, withdrawn or does not exist.
    #[error("{ask} is not an open question")]
    NotOpen { ask: PermissionPromptId },
    #[error("the chat is closed")]
    Closed,
    #[error("not possible while the chat is {}", .0.as_str())]
    OutOfPlace(ChatStateName),
}

impl ChatState {
    /// Returns the name of the state.
    pub const fn name(&self) -> ChatStateName {
        match self {
            Self::Starting { .. } => ChatStateName::Starting,
            Self::Idle => ChatStateName::Idle,
            Self::Running { .. } => ChatStateName::Running,
            Self::Waiting { .. } => ChatStateName::Waiting,
            Self::Parked => ChatStateName::Parked,
            Self::Failed => ChatStateName::Failed,
            Self::Closed => ChatStateName::Closed,
        }
    }

    /// Returns the trace of the running turn.
    pub const fn turn(&self) -> Option<&TraceId> {
        match self {
            Self::Running { turn } => Some(turn),
            Self::Starting { turn } | Self::Waiting { turn, .. } => turn.as_ref(),
            Self::Idle | Self::Parked | Self::Failed | Self::Closed => None,
        }
    }

    /// Whether there is a process, or one is starting.
    pub const fn has_process(&self) -> bool {
        match self {
            Self::Starting { .. } | Self::Idle | Self::Running { .. } | Self::Waiting { .. } => {
                true
            }
            Self::Parked | Self::Failed | Self::Closed => false,
        }
    }

    /// State of a chat with a process, by its turn and its open prompts.
    fn going_on(turn: Option<TraceId>, asks: BTreeSet<PermissionPromptId>) -> Self {
        match (turn, asks.is_empty()) {
            (turn, false) => Self::Waiting { turn, asks },
            (Some(turn), true) => Self::Running { turn },
            (None, true) => Self::Idle,
        }
    }
}

/// Returns the state after an input: the only definition of valid transitions.
///
/// ```
/// use ratchet_core::id::TraceId;
/// use ratchet_core::chat::state::{ChatInput, ChatState, InvalidTransition, next};
///
/// let turn = TraceId::parse("t1").unwrap();
/// let running = next(&ChatState::Idle, ChatInput::Sent(turn.clone())).unwrap();
/// let second = ChatInput::Sent(TraceId::parse("t2").unwrap());
/// assert_eq!(next(&running, second), Err(InvalidTransition::Busy { turn }));
/// ```
///
/// # Errors
/// Returns why the input is invalid; the state does not change.
pub fn next(state: &ChatState, input: ChatInput) -> Result<ChatState, InvalidTransition> {
    let out_of_place = || InvalidTransition::OutOfPlace(state.name());
    match input {
        _ if *state == ChatState::Closed => Err(InvalidTransition::Closed),
        ChatInput::Closed => Ok(ChatState::Closed),
        ChatInput::Sent(turn) => sent(state, turn),
        ChatInput::Woken => match state {
            ChatState::Parked | ChatState::Failed => Ok(ChatState::Starting { turn: None }),
            _ => Ok(state.clone()),
        },
        ChatInput::Started => match state {
            ChatState::Starting { turn } => Ok(ChatState::going_on(turn.clone(), BTreeSet::new())),
            _ => Err(out_of_place()),
        },
        ChatInput::Began(turn) => match state {
            ChatState::Idle => Ok(ChatState::Running { turn }),
            ChatState::Waiting { turn: None, asks } => {
                Ok(ChatState::Waiting { turn: Some(turn), asks: asks.clone() })
            }
            _ => state.turn().map_or(Err(out_of_place()), busy),
        },
        ChatInput::Asked(ask) => match state {
            ChatState::Idle | ChatState::Running { .. } | ChatState::Waiting { .. } => {
                let mut asks = open_asks(state);
                asks.insert(ask);
                Ok(ChatState::going_on(state.turn().cloned(), asks))
            }
            _ => Err(out_of_place()),
        },
        ChatInput::Answered(ask) | ChatInput::Withdrawn(ask) => {
            let mut asks = open_asks(state);
            if !asks.remove(&ask) {
                return Err(InvalidTransition::NotOpen { ask });
            }
            Ok(ChatState::going_on(state.turn().cloned(), asks))
        }
        ChatInput::Interrupted => match state {
            // The agent has not received the message, and will not.
            ChatState::Starting { turn: Some(_) } => Ok(ChatState::Parked),
            _ => state.turn().map_or(Err(InvalidTransition::NoTurn), |_| Ok(state.clone())),
        },
        ChatInput::Ended => match state {
            ChatState::Running { .. } | ChatState::Waiting { turn: Some(_), .. } => {
                Ok(ChatState::going_on(None, open_asks(state)))
            }
            _ => Err(InvalidTransition::NoTurn),
        },
        ChatInput::Parked => match state {
            ChatState::Idle => Ok(ChatState::Parked),
            _ => state.turn().map_or(Err(out_of_place()), busy),
        },
        ChatInput::Died => match state {
            // Nothing was lost, so there is nothing to report.
            ChatState::Idle | ChatState::Waiting { turn: None, .. } => Ok(ChatState::Parked),
            ChatState::Starting { .. } | ChatState::Running { .. } | ChatState::Waiting { .. } => {
                Ok(ChatState::Failed)
            }
            ChatState::Parked | ChatState::Failed | ChatState::Closed => Err(out_of_place()),
        },
    }
}

fn sent(state: &ChatState, turn: TraceId) -> Result<ChatState, InvalidTransition> {
    if let Some(turn) = state.turn() {
        return busy(turn);
    }
    Ok(match state {
        ChatState::Starting { .. } | ChatState::Parked | ChatState::Failed => {
            ChatState::Starting { turn: Some(turn) }
        }
        _ => ChatState::going_on(Some(turn), open_asks(state)),
    })
}

fn busy(turn: &TraceId) -> Result<ChatState, InvalidTransition> {
    Err(InvalidTransition::Busy { turn: turn.clone() })
}

fn open_asks(state: &ChatState) -> BTreeSet<PermissionPromptId> {
    match state {
        ChatState::Waiting { asks, .. } => asks.clone(),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests;
