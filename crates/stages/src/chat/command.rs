use ratchet_agent::claude::control::{Rewind, RewindReport};
use ratchet_agent::claude::message::UserMessage;
use ratchet_core::chat::permission_prompt::Decision;
use ratchet_core::chat::state::PermissionPromptId;
use ratchet_core::id::TraceId;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::error::ChatError;
use super::settings::ChatChange;

pub(super) type Reply<T> = oneshot::Sender<Result<T, ChatError>>;

/// What someone wants of a session.
#[derive(Debug)]
pub(super) enum ChatCommand {
    /// A message is to begin a turn.
    Send {
        message: Box<UserMessage>,
        by: Option<String>,
        reply: Reply<TraceId>,
    },
    Answer {
        ask: PermissionPromptId,
        decision: Decision,
        by: Option<String>,
        reply: Reply<()>,
    },
    /// The turn is to stop.
    Interrupt {
        reply: Reply<()>,
    },
    /// A process is to be there.
    Wake {
        reply: Reply<()>,
    },
    /// The agent is to work otherwise.
    Change {
        change: ChatChange,
        reply: Reply<()>,
    },
    /// Files are to be as they were before a message.
    Rewind {
        message: Uuid,
        rewind: Rewind,
        reply: Reply<RewindReport>,
    },
    Close {
        reply: Reply<()>,
    },
    /// The server goes down: the process ends, the session does not.
    Stop {
        reply: Reply<()>,
    },
}
