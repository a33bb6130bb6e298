use std::sync::Arc;

use ratchet_core::chat::permission_prompt::AnswerMismatch;
use ratchet_core::chat::state::{ChatStateName, InvalidTransition, PermissionPromptId};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_store::StoreError;

/// Why a session does not do what is wanted.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The project has no such session.
    #[error("session {0} not found")]
    NotFound(SessionId),
    /// One turn at a time.
    #[error("turn {turn} is under way")]
    Busy { turn: TraceId },
    /// There is nothing to stop.
    #[error("no turn is under way")]
    NoTurn,
    #[error("{ask} was answered already")]
    Answered {
        /// What was to be answered.
        ask: PermissionPromptId,
        /// The first answer, as all clients were told it.
        first: Arc<str>,
    },
    /// It was taken back or never asked.
    #[error("{0} is not an open question")]
    NotOpen(PermissionPromptId),
    /// That is no answer to this question.
    #[error(transparent)]
    AnswerMismatch(#[from] AnswerMismatch),
    #[error("the session is closed")]
    Closed,
    /// It cannot be done now.
    #[error("it cannot be done while the session is {}", .0.as_str())]
    OutOfPlace(ChatStateName),
    /// A reader did not keep up, and is to come back for what follows its last event.
    #[error("too slow: events after {after} were not taken in time; ask again from there")]
    Behind {
        /// The last event that it got.
        after: u64,
    },
    /// The agent does not start, or will not.
    #[error("{0}")]
    Agent(String),
    /// It has spent what it may.
    #[error(
        "the conversation has spent ${spent} of its budget of ${limit}; raise the budget to go on: \
         /budget in ratchet chat, Budget in the Session menu of its page, or maxBudget in \
         POST /api/v1/sessions/ID/mode", spent = spent.dollars(), limit = limit.dollars()
    )]
    Budget {
        limit: Money,
        /// What it has spent, with what its parent had when it was forked.
        spent: Money,
    },
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
    /// The server is going down.
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
