use std::path::{Path, PathBuf};

use ratchet_agent::claude::message::UserMessage;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_store::catalog::{Actor, Chat};
use ratchet_store::project::ProjectId;
use serde_json::json;
use uuid::Uuid;

use super::error::ChatError;
use super::service::{ChatService, NewMessage};
use super::settings::{ChatSettings, NewChat};
use super::workspace_policy::{Attached, ChatRequest, WorkspacePolicy, WorkspacePolicyError};

/// The agents that a server runs: what the API and the pages reach them by.
#[derive(Debug)]
pub struct Chats {
    pub major: ChatService,
    /// Where they may work, and what they are given.
    pub ground: WorkspacePolicy,
}

/// A session that someone wants to begin.
#[derive(Debug)]
pub struct NewChatRequest {
    pub id: Uuid,
    /// The folder that the agent is to work in, as someone named it.
    pub folder: PathBuf,
    pub title: Option<String>,
    /// What it is begun with.
    pub wish: ChatRequest,
}

/// What someone says to an agent.
#[derive(Debug)]
pub struct ChatMessageInput {
    /// The message's id: the turn is named after it.
    pub id: Uuid,
    /// The words; may be none if something is attached.
    pub text: String,
    pub attached: Vec<Attached>,
    pub by: Option<String>,
}

/// Why a session is not begun, or something not said.
#[derive(Debug, thiserror::Error)]
pub enum ChatsError {
    /// The folder or what is attached is not in order.
    #[error(transparent)]
    Ground(#[from] WorkspacePolicyError),
    /// The session does not take it.
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// The thread that looked at files is gone.
    #[error("files could not be looked at")]
    Thread(#[source] tokio::task::JoinError),
}

impl Chats {
    /// The same in the hands of an actor: what is done with them is noted as theirs.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self { major: self.major.by(actor), ground: self.ground.clone() }
    }

    /// Begins a session; gives it, and what is worth knowing of how it was begun.
    ///
    /// # Errors
    /// Says what is not in order.
    pub async fn begin(
        &self,
        project: ProjectId,
        new: NewChatRequest,
    ) -> Result<(Chat, Vec<String>), ChatsError> {
        let NewChatRequest { id, folder, title, wish } = new;
        let id = SessionId::parse(&id.to_string())
            .map_err(|why| ChatError::Setting(format!("id: {why}")))?;
        let (ground, session) = (self.ground.clone(), id.clone());
        let ready = on_a_thread(move || ground.prepare(&session, &folder, wish)).await??;
        let (workspace, setting) = (ready.workspace, ready.setting);
        let chat = self.major.create(project, NewChat { id, title, workspace, setting }).await?;
        Ok((chat, ready.notes))
    }

    /// Says something to an agent, which begins a turn.
    ///
    /// # Errors
    /// Says why it cannot be said now, or what is attached not be sent.
    pub async fn say(
        &self,
        project: ProjectId,
        session: SessionId,
        said: ChatMessageInput,
    ) -> Result<TraceId, ChatsError> {
        let ChatMessageInput { id, text, attached, by } = said;
        let chat = self.major.chat(project.clone(), session.clone()).await?;
        let (ground, of) = (self.ground.clone(), session.clone());
        let exposure = ground.boundary.exposure_of(ChatSettings::read(&chat.setting)?.own_root);
        let enclosing =
            move || ground.enclosures(&of, (Path::new(&chat.workspace), exposure), attached);
        let mut blocks = on_a_thread(enclosing).await??;
        let message = if blocks.is_empty() {
            UserMessage::text(id, text)
        } else {
            if !text.trim().is_empty() {
                blocks.insert(0, json!({"type": "text", "text": text}));
            }
            UserMessage::blocks(id, blocks)
        };
        Ok(self.major.send(project, session, NewMessage { message, by }).await?)
    }
}

/// Does what touches files where nobody else waits for it.
async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ChatsError> {
    tokio::task::spawn_blocking(work).await.map_err(ChatsError::Thread)
}
