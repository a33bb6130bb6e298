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

/// A request to the actor of a chat.
#[derive(Debug)]
pub(super) enum ChatCommand {
    /// Starts a turn with a message.
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
    /// Interrupts the turn.
    Interrupt {
        reply: Reply<()>,
    },
    /// Starts a process.
    Wake {
        reply: Reply<()>,
    },
    /// Changes settings.
    Change {
        change: ChatChange,
        reply: Reply<()>,
    },
    /// Restores files to their state before a message.
    Rewind {
        message: Uuid,
        rewind: Rewind,
        reply: Reply<RewindReport>,
    },
    Close {
        reply: Reply<()>,
    },
    /// The server stops: ends the process, but not the chat.
    Stop {
        reply: Reply<()>,
    },
}
