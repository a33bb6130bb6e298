//! What chat agents said, in the order in which they said it.
//!
//! Events are recorded with [`Prepared::with_events`](crate::embedded::Prepared::with_events), in
//! the same commit as whatever else a batch says.

use ratchet_core::id::SessionId;
use ratchet_core::major::event::SessionEvent;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::Telemetry;

impl Telemetry {
    /// Returns the events of a session after a place in their order, so many at most.
    ///
    /// # Errors
    /// Fails only when the database does; a session that is not there has no events.
    pub async fn session_events(
        &self,
        project: ProjectId,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<SessionEvent>> {
        match self {
            Self::Embedded(engine) => engine.session_events(project, session, after, limit).await,
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
