use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::{Chat, ChatOrigin, ChatStatus};
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use super::super::error::ChatError;
use super::super::launch::{self, thread};
use super::ChatService;

impl ChatService {
    /// Creates a chat that continues from another one, or from one of its messages. The original
    /// stays as it is, and its later messages are not part of the fork.
    ///
    /// # Errors
    /// Fails if there is no such chat or message, or if the new id exists.
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
        let origin = self.origin(original.clone(), at).await?;
        // The agent continues to count from the original's cost.
        let has_begun = origin.fork_at.as_deref() != Some(&thread::BEGINNING.to_string());
        let agent_cost = if has_begun { original.status.agent_cost } else { Money::ZERO };
        // What the original has spent counts against the budget that the fork inherits.
        let spent_before = original.status.spent();
        let status = ChatStatus { agent_cost, spent_before, ..ChatStatus::new() };
        let (created_at, updated_at) = (now, now);
        let chat = Chat { id, origin, status, created_at, updated_at, ..original };
        self.catalog().create_chat(project, chat.clone()).await?;
        Ok(chat)
    }

    /// Origin of a chat that is forked now.
    async fn origin(&self, original: Chat, at: Option<Uuid>) -> Result<ChatOrigin, ChatError> {
        let (family, config) =
            (original.origin.family.clone(), self.shared.launcher.family(&original));
        let own = launch::uuid(&original.id)?;
        let looked = run_blocking(move || {
            thread::is_kept(&config, own).then(|| thread::fork_point(&config, own, at))
        });
        let (parent, fork_at) = match (looked.await?, at) {
            (Some(Some(point)), _) => (original.id, point.to_string()),
            (Some(None) | None, Some(at)) => {
                return Err(ChatError::Setting(format!("at: the chat has no message {at}")));
            }
            (Some(None), None) => (original.id, thread::BEGINNING.to_string()),
            // A chat without messages continues where it was forked itself.
            (None, None) => match (original.origin.parent, original.origin.fork_at) {
                (Some(parent), Some(fork_at)) => (parent, fork_at),
                _ => (original.id, thread::BEGINNING.to_string()),
            },
        };
        Ok(ChatOrigin { family, parent: Some(parent), fork_at: Some(fork_at) })
    }
}
