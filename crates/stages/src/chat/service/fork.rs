use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_store::catalog::{Chat, ChatOrigin, ChatStatus};
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use super::super::error::ChatError;
use super::super::launch::{self, thread};
use super::ChatService;

impl ChatService {
    /// Makes a session that goes on where another is now, or was when one of its messages had been
    /// answered; that one stays as it is, and what it says from now on is not the fork's.
    ///
    /// # Errors
    /// Fails if there is no such session or message, or a session of the new id.
    pub async fn fork(
        &self,
        project: ProjectId,
        parent: SessionId,
        id: Uuid,
        at: Option<Uuid>,
    ) -> Result<Chat, ChatError> {
        let original = self.chat(project.clone(), parent).await?;
        let now = (self.shared.clock)();
        let id = SessionId::parse(&id.to_string())
            .map_err(|why| ChatError::Setting(format!("id: {why}")))?;
        let origin = self.place(original.clone(), at).await?;
        // The agent goes on counting where the original is.
        let has_begun = origin.fork_at.as_deref() != Some(&thread::BEGINNING.to_string());
        let agent_cost = if has_begun { original.standing.agent_cost } else { Money::ZERO };
        // What the original has spent counts against the budget that the fork inherits.
        let spent_before = original.standing.spent();
        let standing = ChatStatus { agent_cost, spent_before, ..ChatStatus::new() };
        let (created_at, updated_at) = (now, now);
        let chat = Chat { id, origin, standing, created_at, updated_at, ..original };
        self.catalog().make_chat(project, chat.clone()).await?;
        Ok(chat)
    }

    /// Where a session that is forked now comes from.
    async fn place(&self, original: Chat, at: Option<Uuid>) -> Result<ChatOrigin, ChatError> {
        let (family, config) =
            (original.origin.family.clone(), self.shared.launcher.family(&original));
        let own = launch::uuid(&original.id)?;
        let looked = tokio::task::spawn_blocking(move || {
            thread::is_kept(&config, own).then(|| thread::place(&config, own, at))
        });
        let looked = looked.await.map_err(|_| ChatError::Stopping)?;
        let (parent, fork_at) = match (looked, at) {
            (Some(Some(place)), _) => (original.id, place.to_string()),
            (Some(None) | None, Some(at)) => {
                return Err(ChatError::Setting(format!("at: the session has no message {at}")));
            }
            (Some(None), None) => (original.id, thread::BEGINNING.to_string()),
            // One that has said nothing yet is where it was forked itself, if it was.
            (None, None) => match (original.origin.parent, original.origin.fork_at) {
                (Some(parent), Some(fork_at)) => (parent, fork_at),
                _ => (original.id, thread::BEGINNING.to_string()),
            },
        };
        Ok(ChatOrigin { family, parent: Some(parent), fork_at: Some(fork_at) })
    }
}
