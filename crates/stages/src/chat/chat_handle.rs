use std::sync::{Mutex, PoisonError};

use ratchet_core::id::SessionId;
use ratchet_store::catalog::ChatStatus;
use ratchet_store::project::ProjectId;
use tokio::sync::mpsc;

use super::command::ChatCommand;
use super::live_updates::Live;

/// Where whoever has to do with a session meets: the one who runs it, and those who look on.
#[derive(Debug)]
pub(super) struct ChatHandle {
    pub(super) project: ProjectId,
    pub(super) session: SessionId,
    /// Events on their way to whoever looks on, each after it is on disk.
    pub(super) live: Live,
    /// Who runs the session, if anyone does. Held while that is decided, so that it is one.
    pub(super) host: tokio::sync::Mutex<Option<mpsc::Sender<ChatCommand>>>,
    /// How the session stands, as far as someone runs it.
    standing: Mutex<Option<ChatStatus>>,
}

impl ChatHandle {
    pub(super) fn new(project: ProjectId, session: SessionId, backlog: usize) -> Self {
        let live = Live::new(backlog);
        let (host, standing) = (tokio::sync::Mutex::new(None), Mutex::new(None));
        Self { project, session, live, host, standing }
    }

    /// How the session stands now, if anyone runs it.
    pub(super) fn standing(&self) -> Option<ChatStatus> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says how the session stands; that nobody runs it when `None`.
    pub(super) fn stand(&self, standing: Option<ChatStatus>) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = standing;
    }
}
