//! Events of chats, in order.
//!
//! Events are recorded with [`Prepared::with_events`](crate::embedded::Prepared::with_events), in
//! the same commit as the rest of a batch.

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::id::SessionId;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::Telemetry;

/// An event whose notifications are not queued yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingNotification {
    /// Key for [`Telemetry::settle_told`].
    pub number: i64,
    /// `None` if the project is being deleted.
    pub project: Option<ProjectId>,
    pub chat: SessionId,
    pub event: ChatEvent,
}

impl Telemetry {
    /// Returns events of all projects whose notifications are not queued yet, up to a limit: for
    /// the server itself.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn untold(&self, limit: u32) -> StoreResult<Vec<PendingNotification>> {
        match self {
            Self::Embedded(engine) => engine.untold(limit).await,
        }
    }

    /// Marks the notifications of events as queued.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn settle_told(&self, numbers: Vec<i64>) -> StoreResult<()> {
        match self {
            Self::Embedded(engine) => engine.settle_told(numbers).await,
        }
    }

    /// Returns the events of a chat after a sequence number, up to a limit, and fewer if they are
    /// long; empty only if there are none.
    ///
    /// # Errors
    /// Fails only when the database does; a missing chat has no events.
    pub async fn chat_events(
        &self,
        project: ProjectId,
        chat: SessionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        match self {
            Self::Embedded(engine) => engine.chat_events(project, chat, after, limit).await,
        }
    }

    /// Returns the newest events of one kind, newest first, up to a limit.
    ///
    /// # Errors
    /// Fails only when the database does; a missing chat has no events.
    pub async fn newest_events(
        &self,
        project: ProjectId,
        chat: SessionId,
        kind: EventKind,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        match self {
            Self::Embedded(engine) => engine.newest_events(project, chat, kind, limit).await,
        }
    }

    /// Returns the sequence number of a chat's last event; zero if it has none.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn last_event(&self, project: ProjectId, chat: SessionId) -> StoreResult<u64> {
        match self {
            Self::Embedded(engine) => engine.last_event(project, chat).await,
        }
    }
}
