//! Events of chats, in order.
//!
//! Events are recorded with [`Prepared::with_events`](crate::embedded::Prepared::with_events), in
//! the same commit as the rest of a batch.

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::id::SessionId;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::{Telemetry, TelemetryEngine};

/// A chat event that may cause notifications and is not processed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingNotification {
    /// The number for [`Telemetry::mark_notified`].
    pub number: i64,
    /// `None` if the project was deleted.
    pub project: Option<ProjectId>,
    pub chat: SessionId,
    pub event: ChatEvent,
}

impl Telemetry {
    /// Returns unprocessed events of all projects that may cause notifications.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn pending_notifications(&self, limit: u32) -> StoreResult<Vec<PendingNotification>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.pending_notifications(limit).await,
        }
    }

    /// Marks events as processed.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn mark_notified(&self, numbers: Vec<i64>) -> StoreResult<()> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.mark_notified(numbers).await,
        }
    }

    /// Returns the events of a chat after a sequence number: at most `limit`, fewer if they are
    /// large, and none only if there are none.
    ///
    /// # Errors
    /// Fails only when the database does; an unknown chat has no events.
    pub async fn chat_events(
        &self,
        project: ProjectId,
        chat: SessionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => {
                engine.chat_events(project, chat, after, limit).await
            }
        }
    }

    /// Returns the last events of one kind, newest first.
    ///
    /// # Errors
    /// Fails only when the database does; an unknown chat has no events.
    pub async fn newest_events(
        &self,
        project: ProjectId,
        chat: SessionId,
        kind: EventKind,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => {
                engine.newest_events(project, chat, kind, limit).await
            }
        }
    }

    /// Returns the sequence number of a chat's last event; zero if it has none.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn last_event(&self, project: ProjectId, chat: SessionId) -> StoreResult<u64> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.last_event(project, chat).await,
        }
    }
}
