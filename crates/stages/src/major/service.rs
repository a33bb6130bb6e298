//! Sessions with agents that run here, for any number of clients at once.

/// Sessions that were in the middle of something when the server was last heard of.
mod recovery;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ratchet_agent::claude::control::{Rewind, RewindReport};
use ratchet_agent::claude::message::UserMessage;
use ratchet_agent::claude::options::PermissionMode;
use ratchet_agent::claude::seats::{ClaudeSeat, ClaudeSeats};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::major::asked::Decision;
use ratchet_core::major::event::SessionEvent;
use ratchet_core::major::state::{AskId, StateWord};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Chat, ChatOrigin, ChatStanding};
use ratchet_store::embedded::Folder;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Page, PageNumber};
use ratchet_store::telemetry::Batch;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::feed::Feed;
use super::host::{Host, Writing};
use super::launch::{self, Launcher};
use super::refusal::MajorError;
use super::room::Room;
use super::setting::{MajorLimits, NewChat};
use super::wish::{Reply, Wish};
use crate::record::redacted;

/// Wishes that may wait for one session.
const MOST_WISHES: usize = 64;
/// How often a wish is tried again when the one who ran the session has just left.
const TRIES: u32 = 5;
/// How long to wait for a store that has too much to do, and how often.
const STORE_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);
const STORE_TRIES: u32 = 50;

/// What time it is: given by whoever runs the server.
pub type MajorClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Where sessions are met, by whose and which they are.
type Rooms = HashMap<(ProjectId, SessionId), Arc<Room>>;

/// Sessions with agents that run here. Clones are the same service; when the last one is dropped,
/// all processes are ended.
#[derive(Clone)]
pub struct Major {
    shared: Arc<Shared>,
    /// Those who run sessions. They know nothing of each other, nor of this.
    hosts: Arc<Mutex<JoinSet<()>>>,
    rooms: Arc<Mutex<Rooms>>,
}

/// What all sessions share.
pub(super) struct Shared {
    pub(super) store: Folder,
    pub(super) launcher: Launcher,
    pub(super) limits: MajorLimits,
    pub(super) clock: MajorClock,
    seats: ClaudeSeats,
    wanted: Notify,
}

impl fmt::Debug for Major {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Major").field("limits", &self.shared.limits).finish_non_exhaustive()
    }
}

/// A message to a session.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// What is said, with an id that no other message has: the turn is named after it.
    pub message: UserMessage,
    /// Who says it.
    pub by: Option<String>,
}

impl Major {
    /// Opens the service: whatever an earlier server left running is ended first.
    ///
    /// # Errors
    /// Fails only when the store does.
    pub async fn open(
        store: Folder,
        launcher: Launcher,
        limits: MajorLimits,
        clock: MajorClock,
    ) -> Result<Self, MajorError> {
        let seats = ClaudeSeats::new(limits.processes);
        let shared =
            Arc::new(Shared { store, launcher, limits, clock, seats, wanted: Notify::new() });
        recovery::recover(&shared).await?;
        Ok(Self { shared, hosts: Arc::default(), rooms: Arc::default() })
    }

    /// Makes a session. Its process starts with the first message.
    ///
    /// # Errors
    /// Fails if there is one of that id, or its id is no UUID.
    pub async fn create(&self, project: ProjectId, new: NewChat) -> Result<Chat, MajorError> {
        let id = launch::uuid(&new.id)?;
        let now = (self.shared.clock)();
        let id = SessionId::parse(&id.to_string()).map_err(|_| MajorError::NotFound(new.id))?;
        if let Some(mode) = &new.setting.mode {
            launch::mode(mode)?;
        }
        let chat = Chat {
            origin: ChatOrigin { family: id.clone(), parent: None, fork_at: None },
            id,
            title: new.title,
            workspace: new.workspace.display().to_string(),
            setting: new.setting.write(),
            standing: ChatStanding::new(),
            created_at: now,
            updated_at: now,
        };
        self.shared.store.catalog.make_chat(project, chat.clone()).await?;
        Ok(chat)
    }

    /// Makes a session that goes on where another is, or was after one of its messages; that one
    /// stays as it is.
    ///
    /// # Errors
    /// Fails if there is no such session, or one of the new id.
    pub async fn fork(
        &self,
        project: ProjectId,
        parent: SessionId,
        id: Uuid,
        at: Option<Uuid>,
    ) -> Result<Chat, MajorError> {
        let original = self.chat(project.clone(), parent.clone()).await?;
        let now = (self.shared.clock)();
        let id = SessionId::parse(&id.to_string())
            .map_err(|why| MajorError::Setting(format!("id: {why}")))?;
        let origin = ChatOrigin {
            family: original.origin.family.clone(),
            parent: Some(parent),
            fork_at: at.map(|at| at.to_string()),
        };
        // The agent goes on counting where the original is.
        let agent_cost = original.standing.agent_cost;
        let standing = ChatStanding { agent_cost, ..ChatStanding::new() };
        let (created_at, updated_at) = (now, now);
        let chat = Chat { id, origin, standing, created_at, updated_at, ..original };
        self.shared.store.catalog.make_chat(project, chat.clone()).await?;
        Ok(chat)
    }

    /// Returns a session as it stands.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn chat(&self, project: ProjectId, id: SessionId) -> Result<Chat, MajorError> {
        let kept = self.shared.store.catalog.chat(project.clone(), id.clone()).await?;
        let mut chat = kept.ok_or_else(|| MajorError::NotFound(id.clone()))?;
        self.overlay(&project, &mut chat);
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
    ) -> Result<Page<Chat>, MajorError> {
        let mut chats = self.shared.store.catalog.chats(project.clone(), page).await?;
        for chat in &mut chats.rows {
            self.overlay(&project, chat);
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

    /// Sends a message, which begins a turn. Returns the turn once the message is on disk.
    ///
    /// # Errors
    /// Fails if a turn is under way, which it names, or the session is closed or not there.
    pub async fn send(
        &self,
        project: ProjectId,
        session: SessionId,
        new: NewMessage,
    ) -> Result<TraceId, MajorError> {
        let NewMessage { message, by } = new;
        let message = Box::new(message);
        self.ask(project, session, move |reply| Wish::Send {
            message: message.clone(),
            by: by.clone(),
            reply,
        })
        .await
    }

    /// Answers what the agent asked. The first answer counts.
    ///
    /// # Errors
    /// Fails if it was answered, with the first answer, or is not open, or wants another kind of
    /// answer.
    pub async fn answer(
        &self,
        project: ProjectId,
        session: SessionId,
        (ask, decision): (AskId, Decision),
        by: Option<String>,
    ) -> Result<(), MajorError> {
        self.ask(project, session, move |reply| Wish::Answer {
            ask: ask.clone(),
            decision: decision.clone(),
            by: by.clone(),
            reply,
        })
        .await
    }

    /// Stops the turn that is under way.
    ///
    /// # Errors
    /// Fails if there is none, or the agent does not hear.
    pub async fn interrupt(
        &self,
        project: ProjectId,
        session: SessionId,
    ) -> Result<(), MajorError> {
        self.ask(project, session, |reply| Wish::Interrupt { reply }).await
    }

    /// Has a process started for a session, as the next message would.
    ///
    /// # Errors
    /// Fails if the session is closed or not there. That the process does not start is an event.
    pub async fn resume(&self, project: ProjectId, session: SessionId) -> Result<(), MajorError> {
        self.ask(project, session, |reply| Wish::Wake { reply }).await
    }

    /// Changes what the agent may do without asking, now and in later processes.
    ///
    /// # Errors
    /// Fails if the agent refuses, or the session is closed or not there.
    pub async fn mode(
        &self,
        project: ProjectId,
        session: SessionId,
        mode: PermissionMode,
    ) -> Result<(), MajorError> {
        self.ask(project, session, move |reply| Wish::Mode { mode, reply }).await
    }

    /// Changes the model, now and in later processes; to the agent's own choice when `None`.
    ///
    /// # Errors
    /// Fails if the agent refuses, or the session is closed or not there.
    pub async fn model(
        &self,
        project: ProjectId,
        session: SessionId,
        model: Option<String>,
    ) -> Result<(), MajorError> {
        self.ask(project, session, move |reply| Wish::Model { model: model.clone(), reply }).await
    }

    /// Brings files back to what they were before a message, or says what that would change.
    ///
    /// # Errors
    /// Fails during a turn, if the agent does not know the message, or the session is closed.
    pub async fn rewind(
        &self,
        project: ProjectId,
        session: SessionId,
        message: Uuid,
        rewind: Rewind,
    ) -> Result<RewindReport, MajorError> {
        self.ask(project, session, move |reply| Wish::Rewind { message, rewind, reply }).await
    }

    /// Ends a session for good; what was said in it stays.
    ///
    /// # Errors
    /// Fails if it is closed already or not there.
    pub async fn close(&self, project: ProjectId, session: SessionId) -> Result<(), MajorError> {
        self.ask(project, session, |reply| Wish::Close { reply }).await
    }

    /// The events of a session after a place in their order: those that are kept, then those that
    /// come, each once.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn events(
        &self,
        project: ProjectId,
        session: SessionId,
        after: u64,
    ) -> Result<Feed, MajorError> {
        let room = self.room(&project, &session);
        let feed = Feed::new(self.shared.store.telemetry.clone(), room, after);
        let chat = self.chat(project, session).await?;
        match chat.standing.state {
            StateWord::Closed => feed.ending().await,
            _ => Ok(feed),
        }
    }

    /// Ends all processes; sessions go on when the service is opened again.
    pub async fn stop(&self) {
        let rooms: Vec<Arc<Room>> = {
            let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
            rooms.values().cloned().collect()
        };
        for room in rooms {
            let Some(host) = room.host.lock().await.clone() else { continue };
            let (reply, stopped) = oneshot::channel();
            if host.send(Wish::Stop { reply }).await.is_ok() {
                // One that is gone has stopped.
                drop(stopped.await);
            }
        }
        let mut hosts =
            std::mem::take(&mut *self.hosts.lock().unwrap_or_else(PoisonError::into_inner));
        while hosts.join_next().await.is_some() {}
    }

    fn room(&self, project: &ProjectId, session: &SessionId) -> Arc<Room> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        // A room that nobody is in is not kept.
        rooms.retain(|_, room| Arc::strong_count(room) > 1);
        let key = (project.clone(), session.clone());
        let new = || Room::new(project.clone(), session.clone(), self.shared.limits.backlog);
        rooms.entry(key).or_insert_with(|| Arc::new(new())).clone()
    }

    /// Tells whoever runs the session what someone wants, and waits for the answer.
    async fn ask<T>(
        &self,
        project: ProjectId,
        session: SessionId,
        wish: impl Fn(Reply<T>) -> Wish,
    ) -> Result<T, MajorError> {
        let room = self.room(&project, &session);
        for _ in 0..TRIES {
            let host = self.host(&room).await?;
            let (reply, answer) = oneshot::channel();
            if host.send(wish(reply)).await.is_err() {
                continue;
            }
            // No answer means that the one who ran it had left already.
            if let Ok(answer) = answer.await {
                return answer;
            }
        }
        Err(MajorError::Stopping)
    }

    /// Whoever runs the session; someone who begins to if nobody does.
    async fn host(&self, room: &Arc<Room>) -> Result<mpsc::Sender<Wish>, MajorError> {
        let mut host = room.host.lock().await;
        if let Some(host) = host.as_ref().filter(|host| !host.is_closed()) {
            return Ok(host.clone());
        }
        let (project, session) = (room.project.clone(), room.session.clone());
        let chat = self.shared.store.catalog.chat(project.clone(), session.clone()).await?;
        let chat = chat.ok_or_else(|| MajorError::NotFound(session.clone()))?;
        let last = self.shared.store.telemetry.last_event(project, session).await?;
        let (wishes, inbox) = mpsc::channel(MOST_WISHES);
        let running = Host::new(self.shared.clone(), room.clone(), chat, last, inbox);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        while hosts.try_join_next().is_some() {}
        hosts.spawn(running.run());
        *host = Some(wishes.clone());
        Ok(wishes)
    }
}

impl Shared {
    /// A place for a process. Whoever is idle makes room while someone waits.
    pub(super) async fn seat(&self) -> ClaudeSeat {
        if let Some(seat) = self.seats.try_take() {
            return seat;
        }
        self.wanted.notify_one();
        self.seats.take().await
    }

    /// Waits until someone needs the place of an idle process.
    pub(super) async fn seat_wanted(&self) {
        self.wanted.notified().await;
    }

    /// Writes events and what they say about traces, all of it or nothing; returns the events once
    /// they are on disk. While the store has too much to do, the session waits, and its agent too.
    pub(super) async fn write(
        self: Arc<Self>,
        room: Arc<Room>,
        writing: Writing,
    ) -> Result<Vec<Arc<SessionEvent>>, StoreError> {
        let Writing { events, patches } = writing;
        let batch = Batch {
            project: room.project.clone(),
            traces: patches.traces,
            observations: patches.observations,
            scores: Vec::new(),
            experiment_items: Vec::new(),
            received_at: (self.clock)(),
        };
        let intake = self.store.catalog.intake(&room.project).await?;
        let batch = redacted(batch, &intake, self.limits.text_bytes);
        let telemetry = &self.store.telemetry;
        for _ in 0..STORE_TRIES {
            let prepared = telemetry.prepare(batch.clone());
            let prepared = prepared.with_events(room.session.clone(), events.clone());
            match telemetry.commit(prepared).await {
                Err(StoreError::QueueFull) => tokio::time::sleep(STORE_PAUSE).await,
                Err(error) => return Err(error),
                Ok(()) => return Ok(events.into_iter().map(Arc::new).collect()),
            }
        }
        Err(StoreError::QueueFull)
    }
}
