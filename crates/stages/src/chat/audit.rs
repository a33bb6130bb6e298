use ratchet_core::id::SessionId;
use ratchet_store::catalog::{Actor, Catalog, Verb};
use ratchet_store::project::ProjectId;

use super::error::ChatError;
use super::service::ChatService;

impl ChatService {
    /// Returns the same service in the hands of an actor: what is done with it is noted as theirs.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        let mut same = self.clone();
        same.actor = actor;
        same
    }

    /// The catalog in the same hands.
    pub(super) fn catalog(&self) -> Catalog {
        self.shared.store.catalog.by(self.actor.clone())
    }

    /// Notes what was done to a session. What is said in it is not noted: events tell who said it.
    pub(super) async fn note(
        &self,
        project: ProjectId,
        session: SessionId,
        deed: (Verb, Option<String>),
    ) -> Result<(), ChatError> {
        let now = (self.shared.clock)();
        Ok(self.catalog().note_chat(project, session, deed, now).await?)
    }
}
