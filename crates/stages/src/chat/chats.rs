use std::path::{Path, PathBuf};

use ratchet_agent::claude::message::UserMessage;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_store::StoreError;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::{Actor, Chat};
use ratchet_store::project::ProjectId;
use serde_json::json;
use uuid::Uuid;

use super::error::ChatError;
use super::service::{ChatService, NewMessage};
use super::settings::{ChatSettings, NewChat};
use super::workspace_policy::{ChatAttachment, ChatRequest, WorkspacePolicy, WorkspacePolicyError};

/// The chats of a server: entry point of the API and the pages.
#[derive(Debug)]
pub struct Chats {
    pub service: ChatService,
    /// Where agents may work, and what they are given there.
    pub policy: WorkspacePolicy,
}

/// A chat to create.
#[derive(Debug)]
pub struct NewChatRequest {
    pub id: Uuid,
    /// Folder in which the agent works, as the client named it.
    pub folder: PathBuf,
    pub title: Option<String>,
    pub request: ChatRequest,
}

/// A message to an agent.
#[derive(Debug)]
pub struct ChatMessageInput {
    /// Id of the message, from which the trace id of the turn derives.
    pub id: Uuid,
    /// May be empty if there are attachments.
    pub text: String,
    pub attached: Vec<ChatAttachment>,
    pub by: Option<String>,
}

/// Why a chat was not created, or a message not sent.
#[derive(Debug, thiserror::Error)]
pub enum ChatsError {
    /// The folder or an attachment is refused.
    #[error(transparent)]
    Policy(#[from] WorkspacePolicyError),
    /// The chat refuses it.
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// Files could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Chats {
    /// Returns the same chats for an actor, who is named in the audit log.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self { service: self.service.by(actor), policy: self.policy.clone() }
    }

    /// Creates a chat. Returns it with remarks on how it was set up.
    ///
    /// # Errors
    /// Returns what is refused, and why.
    pub async fn create(
        &self,
        project: ProjectId,
        new: NewChatRequest,
    ) -> Result<(Chat, Vec<String>), ChatsError> {
        let NewChatRequest { id, folder, title, request } = new;
        let id = SessionId::parse(&id.to_string())
            .map_err(|why| ChatError::Setting(format!("id: {why}")))?;
        let (policy, chat_id) = (self.policy.clone(), id.clone());
        let ready = run_blocking(move || policy.prepare(&chat_id, &folder, request)).await??;
        let (workspace, settings) = (ready.workspace, ready.settings);
        let chat = self.service.create(project, NewChat { id, title, workspace, settings }).await?;
        Ok((chat, ready.notes))
    }

    /// Sends a message to an agent, which starts a turn.
    ///
    /// # Errors
    /// Fails if no turn can start now, or an attachment is refused.
    pub async fn send(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        message: ChatMessageInput,
    ) -> Result<TraceId, ChatsError> {
        let ChatMessageInput { id, text, attached, by } = message;
        let chat = self.service.chat(project.clone(), chat_id.clone()).await?;
        let (policy, of) = (self.policy.clone(), chat_id.clone());
        let workspace_source =
            policy.boundary.workspace_source(ChatSettings::read(&chat.settings)?.own_root);
        let enclosing = move || {
            policy.enclosures(&of, (Path::new(&chat.workspace), workspace_source), attached)
        };
        let mut blocks = run_blocking(enclosing).await??;
        let message = if blocks.is_empty() {
            UserMessage::text(id, text)
        } else {
            if !text.trim().is_empty() {
                blocks.insert(0, json!({"type": "text", "text": text}));
            }
            UserMessage::blocks(id, blocks)
        };
        Ok(self.service.send(project, chat_id, NewMessage { message, by }).await?)
    }
}
