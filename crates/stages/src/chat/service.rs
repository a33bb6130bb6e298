//! Sessions with agents that run here, for any number of clients at once.

/// What people do in a session.
mod commands;
/// Sessions that go on where others are.
mod fork;
/// Sessions that were in the middle of something when the server was last heard of.
mod recovery;
mod shared;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use ratchet_agent::claude::message::UserMessage;
use ratchet_core::id::SessionId;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Actor, Chat, ChatOrigin, ChatStatus};
use ratchet_store::embedded::Store;
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

/// Wishes that may wait for one session.
const MOST_WISHES: usize = 64;
/// How often a wish is tried again when the one who ran the session has just left.
const TRIES: u32 = 5;

/// What time it is: given by whoever runs the server.
pub type ChatClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Where sessions are met, by whose and which they are.
type Rooms = HashMap<(ProjectId, SessionId), Arc<ChatHandle>>;

/// Sessions with agents that run here. Clones are the same service; when the last one is dropped,
/// all processes are ended.
#[derive(Clone)]
pub struct ChatService {
    pub(super) shared: Arc<Shared>,
    /// Whoever has it in hand: what is done with it is noted as theirs.
    pub(super) actor: Actor,
    /// Those who run sessions. They know nothing of each other, nor of this.
    hosts: Arc<Mutex<JoinSet<()>>>,
    rooms: Arc<Mutex<Rooms>>,
}

impl fmt::Debug for ChatService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatService").field("limits", &self.shared.limits).finish_non_exhaustive()
    }
}

/// A message to a session.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// What is said, with an id that no other message has: the turn is named after it.
    pub message: UserMessage,
    pub by: Option<String>,
}

impl ChatService {
    /// Opens the service: whatever an earlier server left running is ended first.
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
        let (actor, hosts, rooms) = (Actor::Server, Arc::default(), Arc::default());
        Ok(Self { shared, actor, hosts, rooms })
    }

    /// Makes a session. Its process starts with the first message.
    ///
    /// # Errors
    /// Fails if there is one of that id, or its id is no UUID.
    pub async fn create(&self, project: ProjectId, new: NewChat) -> Result<Chat, ChatError> {
        let id = launch::uuid(&new.id)?;
        let now = (self.shared.clock)();
        let id = SessionId::parse(&id.to_string()).map_err(|_| ChatError::NotFound(new.id))?;
        if let Some(mode) = &new.setting.mode {
            launch::mode(mode)?;
        }
        let chat = Chat {
            origin: ChatOrigin { family: id.clone(), parent: None, fork_at: None },
            id,
            title: new.title,
            workspace: new.workspace.display().to_string(),
            setting: new.setting.write(),
            standing: ChatStatus::new(),
            created_at: now,
            updated_at: now,
        };
        self.catalog().make_chat(project, chat.clone()).await?;
        Ok(chat)
    }

    /// Returns a session as it stands.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn chat(&self, project: ProjectId, id: SessionId) -> Result<Chat, ChatError> {
        let kept = self.shared.store.catalog.chat(project.clone(), id.clone()).await?;
        let mut chat = kept.ok_or_else(|| ChatError::NotFound(id.clone()))?;
        self.overlay(&project, &mut chat);
        self.shared.redact(&project, &mut chat.standing).await?;
        Ok(chat)
    }

    /// Returns sessions as they stand, those that changed last first.
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
            self.shared.redact(&project, &mut chat.standing).await?;
        }
        Ok(chats)
    }

    /// Who runs a session knows better than what is kept how it stands.
    fn overlay(&self, project: &ProjectId, chat: &mut Chat) {
        let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let room = rooms.get(&(project.clone(), chat.id.clone()));
        if let Some(standing) = room.and_then(|room| room.standing()) {
            chat.standing = standing;
        }
    }

    /// Ends all processes; sessions go on when the service is opened again.
    pub async fn stop(&self) {
        let rooms: Vec<Arc<ChatHandle>> = {
            let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
            rooms.values().cloned().collect()
        };
        // Each takes as long as its process takes to end: all at once take no longer than one.
        join_all(rooms.iter().map(|room| stop(room))).await;
        let mut hosts =
            std::mem::take(&mut *self.hosts.lock().unwrap_or_else(PoisonError::into_inner));
        while hosts.join_next().await.is_some() {}
    }

    fn room(&self, project: &ProjectId, session: &SessionId) -> Arc<ChatHandle> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        // A room that nobody is in is not kept.
        rooms.retain(|_, room| Arc::strong_count(room) > 1);
        let key = (project.clone(), session.clone());
        let new = || ChatHandle::new(project.clone(), session.clone(), self.shared.limits.backlog);
        rooms.entry(key).or_insert_with(|| Arc::new(new())).clone()
    }

    /// Tells whoever runs the session what someone wants, and waits for the answer.
    async fn ask<T>(
        &self,
        project: ProjectId,
        session: SessionId,
        wish: impl Fn(Reply<T>) -> ChatCommand,
    ) -> Result<T, ChatError> {
        let room = self.room(&project, &session);
        for _ in 0..TRIES {
            let (reply, answer) = oneshot::channel();
            self.hand(&room, wish(reply)).await?;
            // No answer means that the one who ran it had left already.
            if let Ok(answer) = answer.await {
                return answer;
            }
        }
        Err(ChatError::Stopping)
    }

    /// Hands a wish to whoever runs the session; to someone who begins to if nobody does, and who
    /// finds the wish there: one without anything to do would leave at once.
    async fn hand(&self, room: &Arc<ChatHandle>, wish: ChatCommand) -> Result<(), ChatError> {
        let mut host = room.host.lock().await;
        if let Some(running) = host.as_ref().filter(|host| !host.is_closed()).cloned() {
            drop(host);
            // One who leaves meanwhile does not answer.
            drop(running.send(wish).await);
            return Ok(());
        }
        let (project, session) = (room.project.clone(), room.session.clone());
        let chat = self.shared.store.catalog.chat(project.clone(), session.clone()).await?;
        let chat = chat.ok_or_else(|| ChatError::NotFound(session.clone()))?;
        let last = self.shared.store.telemetry.last_event(project, session).await?;
        let (wishes, inbox) = mpsc::channel(MOST_WISHES);
        // There is room: nobody else knows of it yet.
        drop(wishes.try_send(wish));
        let running = ChatActor::new(self.shared.clone(), room.clone(), chat, last, inbox);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        while hosts.try_join_next().is_some() {}
        hosts.spawn(running.run());
        *host = Some(wishes);
        Ok(())
    }
}

/// Has the session in a room stop, if anyone runs it.
async fn stop(room: &ChatHandle) {
    let Some(host) = room.host.lock().await.clone() else { return };
    let (reply, stopped) = oneshot::channel();
    if host.send(ChatCommand::Stop { reply }).await.is_ok() {
        // One that is gone has stopped.
        drop(stopped.await);
    }
}
