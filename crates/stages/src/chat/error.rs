use std::sync::Arc;

use ratchet_core::chat::permission_prompt::AnswerMismatch;
use ratchet_core::chat::state::{ChatStateName, InvalidTransition, PermissionPromptId};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_store::StoreError;

/// Why a chat refuses a request.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("chat {0} not found")]
    NotFound(SessionId),
    /// Only one turn runs at a time.
    #[error("turn {turn} is running")]
    Busy { turn: TraceId },
    #[error("no turn is running")]
    NoTurn,
    #[error("{ask} was answered already")]
    Answered {
        ask: PermissionPromptId,
        /// The first answer, as clients received it.
        first: Arc<str>,
    },
    /// The prompt was withdrawn or does not exist.
    #[error("{0} is not an open question")]
    NotOpen(PermissionPromptId),
    #[error(transparent)]
    AnswerMismatch(#[from] AnswerMismatch),
    #[error("the chat is closed")]
    Closed,
    #[error("it not possible while the chat is {}", .0.as_str())]
    OutOfPlace(ChatStateName),
    /// A reader was too slow; it can continue after its last event.
    #[error("too slow: events after {after} were not read in time; continue from there")]
    Behind {
        /// The last event that it received.
        after: u64,
    },
    /// The agent does not start, or refuses.
    #[error("{0}")]
    Agent(String),
    #[error(
        "the chat has spent ${spent} of its budget of ${limit}; raise the budget to continue: \
         /budget in ratchet chat, Budget in the Chat menu of its page, or maxBudget in \
         POST /api/v1/chats/ID/mode", spent = spent.dollars(), limit = limit.dollars()
    )]
    Budget {
        limit: Money,
        /// Includes what its parent had spent when it was forked.
        spent: Money,
    },
    /// A setting is invalid.
    #[error("{0}")]
    Setting(String),
    #[error("the server is shutting down")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<InvalidTransition> for ChatError {
    fn from(unfit: InvalidTransition) -> Self {
        match unfit {
            InvalidTransition::Busy { turn } => Self::Busy { turn },
            InvalidTransition::NoTurn => Self::NoTurn,
            InvalidTransition::NotOpen { ask } => Self::NotOpen(ask),
            InvalidTransition::Closed => Self::Closed,
            InvalidTransition::OutOfPlace(word) => Self::OutOfPlace(word),
        }
    }
}
