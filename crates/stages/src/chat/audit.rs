use ratchet_core::id::SessionId;
use ratchet_store::catalog::{Actor, AuditAction, Catalog};
use ratchet_store::project::ProjectId;

use super::error::ChatError;
use super::service::ChatService;

impl ChatService {
    /// Returns the same service for an actor, who is named in the audit log.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        let mut same = self.clone();
        same.actor = actor;
        same
    }

    /// The catalog for the same actor.
    pub(super) fn catalog(&self) -> Catalog {
        self.shared.store.catalog.by(self.actor.clone())
    }

    /// Writes an audit log entry about a chat. Messages have none: their events name the author.
    pub(super) async fn audit(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        effect: (AuditAction, Option<String>),
    ) -> Result<(), ChatError> {
        let now = (self.shared.clock)();
        Ok(self.catalog().audit_chat(project, chat_id, effect, now).await?)
    }
}
