//! Chats with agents, for any number of clients at once.

/// What clients do in a chat.
mod commands;
/// Chats that continue from another one.
mod fork;
/// Chats that were active when the server last stopped.
mod recovery;
mod shared;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use ratchet_agent::claude::message::UserMessage;
use ratchet_core::id::SessionId;
use ratchet_core::time::Timestamp;
use ratchet_store::Store;
use ratchet_store::catalog::{Actor, Chat, ChatOrigin, ChatStatus};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Page, PageNumber};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::chat_actor::ChatActor;
use super::chat_handle::ChatHandle;
use super::command::{ChatCommand, Reply};
use super::error::ChatError;
use super::launch::{self, Launcher};
use super::settings::{ChatLimits, NewChat};

pub(super) use shared::Shared;

/// Commands that may wait for one chat.
const MAX_QUEUED_COMMANDS: usize = 64;
/// Retries of a command when the actor of the chat has just ended.
const MAX_TRIES: u32 = 5;

/// Source of the current time.
pub type ChatClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Handles of chats in use.
type ChatHandles = HashMap<(ProjectId, SessionId), Arc<ChatHandle>>;

/// Chats with agents. Clones are the same service; when the last one is dropped, all processes end.
#[derive(Clone)]
pub struct ChatService {
    pub(super) shared: Arc<Shared>,
    /// Named in the audit log.
    pub(super) actor: Actor,
    /// The running actors.
    tasks: Arc<Mutex<JoinSet<()>>>,
    handles: Arc<Mutex<ChatHandles>>,
}

impl fmt::Debug for ChatService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatService").field("limits", &self.shared.limits).finish_non_exhaustive()
    }
}

/// A message to a chat.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// Its id must be unique: the trace id of the turn derives from it.
    pub message: UserMessage,
    pub by: Option<String>,
}

impl ChatService {
    /// Opens the service. Ends what an earlier server left running first.
    ///
    /// # Errors
    /// Fails only when the store does.
    pub async fn open(
        store: Store,
        launcher: Launcher,
        limits: ChatLimits,
        clock: ChatClock,
    ) -> Result<Self, ChatError> {
        let shared = Arc::new(Shared::new(store, launcher, limits, clock));
        recovery::recover(&shared).await?;
        let (actor, tasks, handles) = (Actor::Server, Arc::default(), Arc::default());
        Ok(Self { shared, actor, tasks, handles })
    }

    /// Creates a chat. Its process starts with the first message.
    ///
    /// # Errors
    /// Fails if the id exists already or is not a UUID.
    pub async fn create(&self, project: ProjectId, new: NewChat) -> Result<Chat, ChatError> {
        let id = launch::uuid(&new.id)?;
        let now = (self.shared.clock)();
        let id = SessionId::parse(&id.to_string()).map_err(|_| ChatError::NotFound(new.id))?;
        if let Some(mode) = &new.settings.mode {
            launch::mode(mode)?;
        }
        let chat = Chat {
            origin: ChatOrigin { family: id.clone(), parent: None, fork_at: None },
            id,
            title: new.title,
            workspace: new.workspace.display().to_string(),
            settings: new.settings.write(),
            status: ChatStatus::new(),
            created_at: now,
            updated_at: now,
        };
        self.catalog().create_chat(project, chat.clone()).await?;
        Ok(chat)
    }

    /// Returns a chat with its current status.
    ///
    /// # Errors
    /// Fails if there is no such chat.
    pub async fn chat(&self, project: ProjectId, id: SessionId) -> Result<Chat, ChatError> {
        let kept = self.shared.store.catalog.chat(project.clone(), id.clone()).await?;
        let mut chat = kept.ok_or_else(|| ChatError::NotFound(id.clone()))?;
        self.overlay(&project, &mut chat);
        self.shared.redact(&project, &mut chat.status).await?;
        Ok(chat)
    }

    /// Returns chats with their current status, last changed first.
    ///
    /// # Errors
    /// Fails only when the store does.
    pub async fn chats(
        &self,
        project: ProjectId,
        page: PageNumber,
    ) -> Result<Page<Chat>, ChatError> {
        let mut chats = self.shared.store.catalog.chats(project.clone(), page).await?;
        for chat in &mut chats.rows {
            self.overlay(&project, chat);
            self.shared.redact(&project, &mut chat.status).await?;
        }
        Ok(chats)
    }

    /// Replaces the stored status with that of the running actor, which is newer.
    fn overlay(&self, project: &ProjectId, chat: &mut Chat) {
        let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = handles.get(&(project.clone(), chat.id.clone()));
        if let Some(status) = handle.and_then(|handle| handle.status()) {
            chat.status = status;
        }
    }

    /// Ends all processes. Chats continue when the service is opened again.
    pub async fn stop(&self) {
        let handles: Vec<Arc<ChatHandle>> = {
            let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
            handles.values().cloned().collect()
        };
        // In parallel, because each waits for its process to end.
        join_all(handles.iter().map(|handle| stop(handle))).await;
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }

    fn handle(&self, project: &ProjectId, chat_id: &SessionId) -> Arc<ChatHandle> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops handles that are no longer in use.
        handles.retain(|_, handle| Arc::strong_count(handle) > 1);
        let key = (project.clone(), chat_id.clone());
        let new = || ChatHandle::new(project.clone(), chat_id.clone(), self.shared.limits.backlog);
        handles.entry(key).or_insert_with(|| Arc::new(new())).clone()
    }

    /// Sends a command to the actor of a chat and waits for its reply.
    async fn send_command<T>(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        command: impl Fn(Reply<T>) -> ChatCommand,
    ) -> Result<T, ChatError> {
        let handle = self.handle(&project, &chat_id);
        for _ in 0..MAX_TRIES {
            let (reply, answer) = oneshot::channel();
            self.hand(&handle, command(reply)).await?;
            // No reply means that the actor had ended already.
            if let Ok(answer) = answer.await {
                return answer;
            }
        }
        Err(ChatError::Stopping)
    }

    /// Sends a command to the actor of a chat. Starts one if there is none, with the command
    /// already in its queue: without anything to do it would end at once.
    async fn hand(&self, handle: &Arc<ChatHandle>, command: ChatCommand) -> Result<(), ChatError> {
        let mut mailbox = handle.mailbox.lock().await;
        if let Some(running) = mailbox.as_ref().filter(|mailbox| !mailbox.is_closed()).cloned() {
            drop(mailbox);
            // An actor that ends meanwhile does not reply.
            drop(running.send(command).await);
            return Ok(());
        }
        let (project, chat_id) = (handle.project.clone(), handle.chat_id.clone());
        let chat = self.shared.store.catalog.chat(project.clone(), chat_id.clone()).await?;
        let chat = chat.ok_or_else(|| ChatError::NotFound(chat_id.clone()))?;
        let last = self.shared.store.telemetry.last_event(project, chat_id).await?;
        let (commands, inbox) = mpsc::channel(MAX_QUEUED_COMMANDS);
        // There is room: the queue is not shared yet.
        drop(commands.try_send(command));
        let running = ChatActor::new(self.shared.clone(), handle.clone(), chat, last, inbox);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(running.run());
        *mailbox = Some(commands);
        Ok(())
    }
}

/// Stops the chat of a handle, if its actor runs.
async fn stop(handle: &ChatHandle) {
    let Some(mailbox) = handle.mailbox.lock().await.clone() else { return };
    let (reply, stopped) = oneshot::channel();
    if mailbox.send(ChatCommand::Stop { reply }).await.is_ok() {
        // An actor that is gone has stopped.
        drop(stopped.await);
    }
}
