//! Whoever runs a session: one task, which alone speaks for it.
//!
//! Wishes, lines of the agent and the end of chores come in one at a time, so who was first is
//! never in doubt. Whatever is decided becomes events; only when they are on disk does anything
//! follow from them: clients are told, wishes are answered, and the agent hears it.

mod lines;
mod commands;
/// How the agent works, and what it did to files, made otherwise.
mod adjust;
/// What is on its way to the disk, and what follows from it.
mod pending_writes;
/// From no process to one, and back.
mod process;
/// What it spends, and what it may.
mod spending;
/// When its process may work.
mod slots;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::lines::{ClaudeLines, FromClaude};
use ratchet_agent::claude::message::UserMessage;
use ratchet_agent::claude::process::ClaudeProcess;
use ratchet_agent::claude::process_slots::ProcessSlot;
use ratchet_core::chat::event::{EventBody, EventKind, UnorderedEvent};
use ratchet_core::chat::permission_prompt::PermissionPrompt;
use ratchet_core::chat::reader::LineReader;
use ratchet_core::chat::state::{
    ChatInput, ChatState, ChatStateName, InvalidTransition, PermissionPromptId, next,
};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Chat, ChatProcess, ChatStatus};
use tokio::sync::mpsc;

use super::chat_handle::ChatHandle;
use super::command::{ChatCommand, Reply};
use super::service::Shared;
use super::settings::ChatChange;
use super::turn_recorder::TurnRecorder;
use pending_writes::{Outbox, Saving};
use slots::Queued;

pub(super) use pending_writes::{Writing, Written};

/// The one who runs a session.
pub(super) struct ChatActor {
    shared: Arc<Shared>,
    room: Arc<ChatHandle>,
    chat: Chat,
    state: ChatState,
    why: Option<String>,
    wishes: mpsc::Receiver<ChatCommand>,
    /// The process and what it says.
    running: Option<Running>,
    /// A process that is told to end, and must have before there is another.
    leaving: Option<ClaudeProcess>,
    reader: LineReader,
    book: TurnRecorder,
    /// What the agent asks and nobody has answered.
    asks: HashMap<PermissionPromptId, PermissionPrompt>,
    /// How the agent is to work otherwise; the agent is being told the first.
    changes: VecDeque<(ChatChange, Reply<()>)>,
    outbox: Outbox,
    chores: FuturesUnordered<BoxFuture<'static, Chore>>,
    /// The message that begins the turn, until there is a process.
    first: Option<Box<UserMessage>>,
    /// What else waits until there is a process.
    later: Vec<ChatCommand>,
    /// Counts what happened, so that a clock that was set knows whether anything has since.
    beat: u64,
    /// Counts processes, so that one that comes too late is known.
    launch: u64,
    background: usize,
    /// What the agent says it may do without asking.
    mode: Option<String>,
    /// Whether the agent does something else first, before it takes up the message of this turn.
    is_put_off: bool,
    is_stopping: bool,
    /// How it waits for a slot, which everyone was told.
    queued: Option<Queued>,
}

struct Running {
    process: ClaudeProcess,
    lines: ClaudeLines,
    is_up: bool,
    /// Whether it was started otherwise than the next is to be.
    is_outdated: bool,
}

/// What came of something that was begun.
enum Chore {
    /// There is no slot for a process yet.
    Queued(u64),
    /// There is a slot for a process now.
    Seated(u64, ProcessSlot),
    /// A process was started, or not; what people are to be told of it.
    Launched(u64, Result<(ClaudeProcess, ClaudeLines), ClaudeError>, Option<String>),
    /// A process is ready, or not.
    Greeted(u64, Result<(), ClaudeError>),
    /// A process that was told to end has.
    Left,
    /// Something was said to the agent; why it does not hear us, if it does not.
    Said(Option<ClaudeError>),
    /// The same, to an agent that had to wait for a slot first.
    Resumed(Option<ClaudeError>),
    /// The agent works otherwise now, or will not.
    Changed(Result<(), ClaudeError>),
    /// How the session stands is kept.
    Saved(Result<(), StoreError>),
    /// Time is up for an answer.
    AskOver(PermissionPromptId),
    /// Nothing has happened for long, if nothing has since.
    IdleOver(u64),
    Done,
}

impl ChatActor {
    pub(super) fn new(
        shared: Arc<Shared>,
        room: Arc<ChatHandle>,
        chat: Chat,
        last: u64,
        wishes: mpsc::Receiver<ChatCommand>,
    ) -> Self {
        let state = match chat.standing.state {
            ChatStateName::Closed => ChatState::Closed,
            ChatStateName::Failed => ChatState::Failed,
            _ => ChatState::Parked,
        };
        Self {
            reader: LineReader::default(),
            book: TurnRecorder::new(chat.id.clone()),
            outbox: Outbox::new(last),
            why: chat.standing.why.clone(),
            shared,
            room,
            chat,
            state,
            wishes,
            running: None,
            leaving: None,
            asks: HashMap::new(),
            changes: VecDeque::new(),
            chores: FuturesUnordered::new(),
            first: None,
            later: Vec::new(),
            beat: 0,
            launch: 0,
            background: 0,
            mode: None,
            is_put_off: false,
            is_stopping: false,
            queued: None,
        }
    }

    /// Runs the session until it has nothing to do and no process.
    pub(super) async fn run(mut self) {
        self.room.stand(Some(self.standing()));
        loop {
            self.flush();
            if self.is_at_rest() {
                // From now on wishes go to whoever comes next; those that came meanwhile, too.
                self.wishes.close();
                self.room.stand(None);
                return;
            }
            let can_hear = self.outbox.has_room();
            let is_idle = self.is_idle();
            tokio::select! {
                wish = self.wishes.recv() => match wish {
                    Some(wish) => self.wish(wish),
                    None => self.is_stopping = true,
                },
                said = said(&mut self.running), if can_hear => self.hear(said),
                written = self.outbox.written() => self.written(written),
                chore = self.chores.next(), if !self.chores.is_empty() => {
                    if let Some(chore) = chore {
                        self.chore(chore);
                    }
                }
                () = self.shared.seat_wanted(), if is_idle => self.park(),
            }
        }
    }

    /// Whether there is nothing to wait for but wishes, and no process to lose.
    fn is_at_rest(&self) -> bool {
        let is_quiet = self.running.is_none() && self.leaving.is_none() && self.later.is_empty();
        !self.state.has_process() && is_quiet && self.outbox.is_empty() && self.wishes.is_empty()
    }

    /// Whether its process is of no use to anyone at the moment.
    fn is_idle(&self) -> bool {
        self.state == ChatState::Idle && self.background == 0 && self.running.is_some()
    }

    fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// Lets something happen, if it may, and tells everyone.
    fn happen(&mut self, happening: ChatInput) -> Result<(), InvalidTransition> {
        let after = next(&self.state, happening)?;
        self.beat += 1;
        let before = std::mem::replace(&mut self.state, after);
        if before.word() != self.state.word() || before.turn() != self.state.turn() {
            self.tell_state();
        }
        self.set_idle_clock();
        Ok(())
    }

    /// Has the process given up after a while without anything to do.
    fn set_idle_clock(&mut self) {
        if !self.is_idle() {
            return;
        }
        let (beat, idle) = (self.beat, self.shared.limits.idle);
        self.chores.push(Box::pin(async move {
            tokio::time::sleep(idle).await;
            Chore::IdleOver(beat)
        }));
    }

    fn tell_state(&mut self) {
        let body = EventBody::default()
            .text("state", self.state.word().as_str())
            .text_if("turn", self.state.turn().map(ToString::to_string).as_deref())
            .text_if("why", self.why.as_deref());
        self.tell(body.told(EventKind::State));
        self.outbox.is_stale = true;
        self.room.stand(Some(self.standing()));
    }

    /// Tells something; it is on its way.
    fn tell(&mut self, telling: UnorderedEvent) {
        let at = self.now();
        self.outbox.add(telling, at);
    }

    fn tell_error(&mut self, message: &str) {
        let turn = self.state.turn().map(ToString::to_string);
        let body = EventBody::default().text("message", message).text_if("turn", turn.as_deref());
        self.tell(body.told(EventKind::Error));
    }

    fn standing(&self) -> ChatStatus {
        let mark = self.running.as_ref().map(|running| running.process.mark());
        let process = mark.map(|mark| ChatProcess { pid: mark.pid, started: mark.started.clone() });
        ChatStatus {
            state: self.state.word(),
            why: self.why.clone(),
            turn: self.state.turn().cloned(),
            process,
            ..self.chat.standing.clone()
        }
    }

    /// Begins to write what is to be written, unless that is under way.
    fn flush(&mut self) {
        if let Some(batch) = self.outbox.next_batch(&mut self.book) {
            let writing = self.shared.clone().write(self.room.clone(), batch);
            self.outbox.begin(Box::pin(writing));
        }
        for deed in self.outbox.due_already() {
            self.follow(deed);
        }
        if let Some(saving) = self.outbox.begin_saving() {
            self.save(saving);
        }
    }

    fn save(&mut self, saving: Saving) {
        let shared = self.shared.clone();
        let (catalog, mut standing) = (shared.store.catalog.clone(), self.standing());
        let (project, id) = (self.room.project.clone(), self.room.session.clone());
        let (setting, now) = (self.chat.setting.clone(), self.now());
        self.chores.push(Box::pin(async move {
            if saving == Saving::Setting
                && let Err(error) = catalog.set_chat(project.clone(), id.clone(), setting).await
            {
                return Chore::Saved(Err(error));
            }
            if let Err(error) = shared.redact(&project, &mut standing).await {
                return Chore::Saved(Err(error));
            }
            Chore::Saved(catalog.stand_chat(project, id, standing, now).await)
        }));
    }

    fn chore(&mut self, chore: Chore) {
        match chore {
            Chore::Queued(launch) => self.queued(launch),
            Chore::Seated(launch, seat) => self.seated(launch, seat),
            Chore::Launched(launch, outcome, warning) => self.launched(launch, outcome, warning),
            Chore::Greeted(launch, outcome) => self.greeted(launch, outcome),
            Chore::Left => self.left(),
            Chore::Said(Some(ClaudeError::NotAsked { .. } | ClaudeError::Ended(_)) | None)
            | Chore::Done => {}
            Chore::Resumed(error) => self.resumed(error),
            Chore::Said(Some(error)) => self.tell_error(&error.to_string()),
            Chore::Changed(outcome) => self.changed(outcome),
            Chore::Saved(outcome) => self.saved(outcome),
            Chore::AskOver(ask) => self.ask_over(&ask),
            Chore::IdleOver(beat) if beat == self.beat && self.is_idle() => self.park(),
            Chore::IdleOver(_) => {}
        }
    }

    fn saved(&mut self, outcome: Result<(), StoreError>) {
        self.outbox.is_saving = false;
        if let Err(error) = outcome {
            // What clients were told is on disk; the catalog only says how to go on with it.
            tracing::error!(%error, "cannot keep how a session stands");
        }
    }
}

async fn said(running: &mut Option<Running>) -> Option<FromClaude> {
    match running {
        Some(running) => running.lines.next().await,
        None => std::future::pending().await,
    }
}
