//! Events of chats, in order.
//!
//! Events are recorded with [`Prepared::with_events`](crate::embedded::Prepared::with_events), in
//! the same commit as the rest of a batch.

use std::ops::RangeInclusive;

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

/// Which part of a chat to show: whole turns, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatWindow {
    /// Sequence number of the last event.
    pub to: u64,
    /// Types of events that are shown.
    pub kinds: Vec<EventKind>,
    /// Maximum number of turns.
    pub turns: u32,
    /// Number of shown events at which no further turn is added.
    pub events: u32,
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

    /// Returns the events of some types in a range of sequence numbers: fewer than there are if
    /// they are large, and none only if there are none.
    ///
    /// # Errors
    /// Fails only when the database does; an unknown chat has no events.
    pub async fn chat_events_of(
        &self,
        project: ProjectId,
        chat: SessionId,
        range: RangeInclusive<u64>,
        kinds: Vec<EventKind>,
    ) -> StoreResult<Vec<ChatEvent>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => {
                engine.chat_events_of(project, chat, range, kinds).await
            }
        }
    }

    /// Returns the sequence number of the first event of a window. A window begins with a message,
    /// or with the chat, and has at least one turn, however long it is.
    ///
    /// # Errors
    /// Fails only when the database does; the window of an unknown chat begins at 1.
    pub async fn chat_window(
        &self,
        project: ProjectId,
        chat: SessionId,
        window: ChatWindow,
    ) -> StoreResult<u64> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.chat_window(project, chat, window).await,
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
