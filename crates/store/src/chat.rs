//! What chat agents said, in the order in which they said it.
//!
//! Events are recorded with [`Prepared::with_events`](crate::embedded::Prepared::with_events), in
//! the same commit as whatever else a batch says.

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::id::SessionId;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::Telemetry;

/// An event that someone may want to be told of, before it is settled who is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingNotification {
    /// What names it to [`Telemetry::settle_told`].
    pub number: i64,
    /// In which project; `None` if that is given up.
    pub project: Option<ProjectId>,
    pub session: SessionId,
    pub event: ChatEvent,
}

impl Telemetry {
    /// Returns events of all projects that someone may want to be told of and of which it is not
    /// settled yet who is, so many at most: for the server itself.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn untold(&self, limit: u32) -> StoreResult<Vec<PendingNotification>> {
        match self {
            Self::Embedded(engine) => engine.untold(limit).await,
        }
    }

    /// Says that it is settled who is told of these.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn settle_told(&self, numbers: Vec<i64>) -> StoreResult<()> {
        match self {
            Self::Embedded(engine) => engine.settle_told(numbers).await,
        }
    }

    /// Returns the events of a session after a place in their order, so many at most, and fewer
    /// if they are long; none only if there are none.
    ///
    /// # Errors
    /// Fails only when the database does; a session that is not there has no events.
    pub async fn session_events(
        &self,
        project: ProjectId,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        match self {
            Self::Embedded(engine) => engine.session_events(project, session, after, limit).await,
        }
    }

    /// Returns the last events of one kind, so many at most, the newest first.
    ///
    /// # Errors
    /// Fails only when the database does; a session that is not there has no events.
    pub async fn newest_events(
        &self,
        project: ProjectId,
        session: SessionId,
        kind: EventKind,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        match self {
            Self::Embedded(engine) => engine.newest_events(project, session, kind, limit).await,
        }
    }

    /// Returns the place of a session's last event; zero if it has none.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn last_event(&self, project: ProjectId, session: SessionId) -> StoreResult<u64> {
        match self {
            Self::Embedded(engine) => engine.last_event(project, session).await,
        }
    }
}
