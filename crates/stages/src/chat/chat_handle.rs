use std::sync::{Mutex, PoisonError};

use ratchet_core::id::SessionId;
use ratchet_store::catalog::ChatStatus;
use ratchet_store::project::ProjectId;
use tokio::sync::mpsc;

use super::command::ChatCommand;
use super::live_updates::Live;

/// State shared by the actor of a chat and its readers.
#[derive(Debug)]
pub(super) struct ChatHandle {
    pub(super) project: ProjectId,
    pub(super) chat_id: SessionId,
    /// Events for readers, each after it is on disk.
    pub(super) live: Live,
    /// Command queue of the running actor. Locked while an actor starts, so that there is only one.
    pub(super) mailbox: tokio::sync::Mutex<Option<mpsc::Sender<ChatCommand>>>,
    /// Current status, while an actor runs.
    status: Mutex<Option<ChatStatus>>,
}

impl ChatHandle {
    pub(super) fn new(project: ProjectId, chat_id: SessionId, backlog: usize) -> Self {
        let live = Live::new(backlog);
        let (mailbox, status) = (tokio::sync::Mutex::new(None), Mutex::new(None));
        Self { project, chat_id, live, mailbox, status }
    }

    /// Returns the current status, while an actor runs.
    pub(super) fn status(&self) -> Option<ChatStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the current status; `None` when the actor ends.
    pub(super) fn set_status(&self, status: Option<ChatStatus>) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}
