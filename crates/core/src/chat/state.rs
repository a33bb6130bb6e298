use std::collections::BTreeSet;
use std::fmt;

use crate::id::TraceId;

/// What the agent asks of a person, as the agent itself names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermissionPromptId(String);

impl PermissionPromptId {
    /// Takes the agent's name for it.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PermissionPromptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a session is doing. A turn is named by the trace that it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatState {
    /// Its process is being started, or waits for its place among them.
    Starting {
        /// What it will do first.
        turn: Option<TraceId>,
    },
    /// It waits for a message.
    Idle,
    Running {
        turn: TraceId,
    },
    /// It cannot go on without a person.
    Waiting {
        /// In which turn; in none when a task in the background asks.
        turn: Option<TraceId>,
        /// What is asked; never empty.
        asks: BTreeSet<PermissionPromptId>,
    },
    /// It has no process, and gets one with the next message.
    Parked,
    /// Its process died at work or did not start; the next message tries again.
    Failed,
    Closed,
}

/// A state without what belongs to it, as it is kept and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChatStateName {
    /// See [`ChatState::Starting`].
    Starting,
    /// See [`ChatState::Idle`].
    Idle,
    /// See [`ChatState::Running`].
    Running,
    /// See [`ChatState::Waiting`].
    Waiting,
    /// See [`ChatState::Parked`].
    Parked,
    /// See [`ChatState::Failed`].
    Failed,
    /// See [`ChatState::Closed`].
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

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// What happens to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatInput {
    /// A person sent a message, which begins this turn.
    Sent(TraceId),
    /// A person wants it ready, with nothing to do yet.
    Woken,
    Started,
    /// The agent began a turn by itself: a task in the background has ended.
    Began(TraceId),
    /// The agent asks something of a person.
    Asked(PermissionPromptId),
    /// A person answered, or time did for them.
    Answered(PermissionPromptId),
    /// The agent does not want to know any more.
    Withdrawn(PermissionPromptId),
    /// A person wants the turn to stop.
    Interrupted,
    Ended,
    /// Its process is given up because nothing happens.
    Parked,
    /// Its process is gone, whoever's fault it is.
    Died,
    Closed,
}

/// Why something may not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransition {
    /// One turn at a time.
    #[error("turn {turn} is under way")]
    Busy { turn: TraceId },
    /// There is nothing to stop or to end.
    #[error("no turn is under way")]
    NoTurn,
    /// It was answered, taken back or never asked.
    #[error("{ask} is not an open question")]
    NotOpen {
        /// What was to be answered.
        ask: PermissionPromptId,
    },
    #[error("the session is closed")]
    Closed,
    /// It cannot happen in this state.
    #[error("it cannot happen while the session is {}", .0.as_str())]
    OutOfPlace(ChatStateName),
}

impl ChatState {
    pub const fn word(&self) -> ChatStateName {
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

    pub const fn turn(&self) -> Option<&TraceId> {
        match self {
            Self::Running { turn } => Some(turn),
            Self::Starting { turn } | Self::Waiting { turn, .. } => turn.as_ref(),
            Self::Idle | Self::Parked | Self::Failed | Self::Closed => None,
        }
    }

    /// Whether a process belongs to it, or is on its way.
    pub const fn has_process(&self) -> bool {
        match self {
            Self::Starting { .. } | Self::Idle | Self::Running { .. } | Self::Waiting { .. } => {
                true
            }
            Self::Parked | Self::Failed | Self::Closed => false,
        }
    }

    /// What a session with a process goes on with: a turn, questions, both or neither.
    fn going_on(turn: Option<TraceId>, asks: BTreeSet<PermissionPromptId>) -> Self {
        match (turn, asks.is_empty()) {
            (turn, false) => Self::Waiting { turn, asks },
            (Some(turn), true) => Self::Running { turn },
            (None, true) => Self::Idle,
        }
    }
}

/// The state that follows when something happens: the one place that says what may.
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
/// Says why it may not happen; the state is then as it was.
pub fn next(state: &ChatState, happening: ChatInput) -> Result<ChatState, InvalidTransition> {
    let out_of_place = || InvalidTransition::OutOfPlace(state.word());
    match happening {
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
            // The agent has not heard the message, and will not.
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
            // Nothing was lost with it: there is nothing to tell anyone.
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
