//! The actor of a chat: one task that alone changes it.
//!
//! Commands, lines of the agent and results of background tasks are handled one at a time, so their
//! order is unambiguous. Every decision becomes events. Effects happen only when these events are
//! on disk: clients receive them, commands are answered, and the agent is informed.

mod lines;
mod commands;
/// Changes of settings and of files.
mod adjust;
/// Events on their way to disk, and the effects that wait for them.
mod pending_writes;
/// Start and end of the process.
mod process;
/// Cost and budget.
mod spending;
/// Waiting for process slots.
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

/// Runs a chat.
pub(super) struct ChatActor {
    shared: Arc<Shared>,
    handle: Arc<ChatHandle>,
    chat: Chat,
    state: ChatState,
    why: Option<String>,
    commands: mpsc::Receiver<ChatCommand>,
    /// The process and its output.
    running: Option<Running>,
    /// A process that is ending; the next one starts after it.
    leaving: Option<ClaudeProcess>,
    reader: LineReader,
    recorder: TurnRecorder,
    /// Prompts without an answer.
    asks: HashMap<PermissionPromptId, PermissionPrompt>,
    /// Changes that wait for the agent; the first is being applied.
    changes: VecDeque<(ChatChange, Reply<()>)>,
    outbox: Outbox,
    tasks: FuturesUnordered<BoxFuture<'static, TaskResult>>,
    /// The message that starts the turn, until there is a process.
    first: Option<Box<UserMessage>>,
    /// Commands that wait for a process.
    later: Vec<ChatCommand>,
    /// Number of inputs, by which an idle timer detects activity.
    activity: u64,
    /// Number of launches, by which a late process is detected.
    launch: u64,
    background: usize,
    /// Permission mode as the agent reports it.
    mode: Option<String>,
    /// Whether the agent does something else before it processes the message of this turn.
    is_put_off: bool,
    is_stopping: bool,
    /// What the chat waits for, as its state reports it.
    queued: Option<Queued>,
}

struct Running {
    process: ClaudeProcess,
    lines: ClaudeLines,
    is_up: bool,
    /// Whether its settings differ from those of the next process.
    is_outdated: bool,
}

/// Result of a background task.
enum TaskResult {
    /// No slot is free.
    Queued(u64),
    /// A slot was acquired.
    GotSlot(u64, ProcessSlot),
    /// A process was started, or not; with a warning for people.
    Launched(u64, Result<(ClaudeProcess, ClaudeLines), ClaudeError>, Option<String>),
    /// A process is ready, or not.
    Greeted(u64, Result<(), ClaudeError>),
    /// An ending process has ended.
    Left,
    /// A line was written to the agent; the error, if it failed.
    Said(Option<ClaudeError>),
    /// The same, for an agent that had to wait for a permit first.
    Resumed(Option<ClaudeError>),
    /// The agent applied a change, or refused it.
    Changed(Result<(), ClaudeError>),
    /// The status is stored.
    Saved(Result<(), StoreError>),
    /// The time to answer a prompt is over.
    AskOver(PermissionPromptId),
    /// The idle timeout is over; ignored if there was activity since.
    IdleOver(u64),
    Done,
}

impl ChatActor {
    pub(super) fn new(
        shared: Arc<Shared>,
        handle: Arc<ChatHandle>,
        chat: Chat,
        last: u64,
        commands: mpsc::Receiver<ChatCommand>,
    ) -> Self {
        let state = match chat.status.state {
            ChatStateName::Closed => ChatState::Closed,
            ChatStateName::Failed => ChatState::Failed,
            _ => ChatState::Parked,
        };
        Self {
            reader: LineReader::default(),
            recorder: TurnRecorder::new(chat.id.clone()),
            outbox: Outbox::new(last),
            why: chat.status.why.clone(),
            shared,
            handle,
            chat,
            state,
            commands,
            running: None,
            leaving: None,
            asks: HashMap::new(),
            changes: VecDeque::new(),
            tasks: FuturesUnordered::new(),
            first: None,
            later: Vec::new(),
            activity: 0,
            launch: 0,
            background: 0,
            mode: None,
            is_put_off: false,
            is_stopping: false,
            queued: None,
        }
    }

    /// Runs the chat until it has nothing to do and no process.
    pub(super) async fn run(mut self) {
        self.handle.set_status(Some(self.status()));
        loop {
            self.flush();
            if self.is_at_rest() {
                // From now on commands go to the next actor, including those that arrived
                // meanwhile.
                self.commands.close();
                self.handle.set_status(None);
                return;
            }
            let can_hear = self.outbox.has_room();
            let is_idle = self.is_idle();
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(command) => self.execute(command),
                    None => self.is_stopping = true,
                },
                said = said(&mut self.running), if can_hear => self.receive(said),
                written = self.outbox.written() => self.written(written),
                result = self.tasks.next(), if !self.tasks.is_empty() => {
                    if let Some(result) = result {
                        self.task_done(result);
                    }
                }
                () = self.shared.process_slot_wanted(), if is_idle => self.park(),
            }
        }
    }

    /// Whether only commands could make it continue.
    fn is_at_rest(&self) -> bool {
        let is_quiet = self.running.is_none() && self.leaving.is_none() && self.later.is_empty();
        !self.state.has_process() && is_quiet && self.outbox.is_empty() && self.commands.is_empty()
    }

    /// Whether its process has nothing to do.
    fn is_idle(&self) -> bool {
        self.state == ChatState::Idle && self.background == 0 && self.running.is_some()
    }

    fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// Applies an input to the state, if it is valid, and emits the new state.
    fn apply(&mut self, input: ChatInput) -> Result<(), InvalidTransition> {
        let after = next(&self.state, input)?;
        self.activity += 1;
        let before = std::mem::replace(&mut self.state, after);
        if before.name() != self.state.name() || before.turn() != self.state.turn() {
            self.emit_state();
        }
        self.set_idle_clock();
        Ok(())
    }

    /// Starts the idle timer.
    fn set_idle_clock(&mut self) {
        if !self.is_idle() {
            return;
        }
        let (activity, idle) = (self.activity, self.shared.limits.idle);
        self.tasks.push(Box::pin(async move {
            tokio::time::sleep(idle).await;
            TaskResult::IdleOver(activity)
        }));
    }

    fn emit_state(&mut self) {
        let body = EventBody::default()
            .text("state", self.state.name().as_str())
            .text_if("turn", self.state.turn().map(ToString::to_string).as_deref())
            .text_if("why", self.why.as_deref());
        self.emit(body.into_event(EventKind::State));
        self.outbox.is_stale = true;
        self.handle.set_status(Some(self.status()));
    }

    /// Queues an event for the disk.
    fn emit(&mut self, event: UnorderedEvent) {
        let at = self.now();
        self.outbox.add(event, at);
    }

    fn emit_error(&mut self, message: &str) {
        let turn = self.state.turn().map(ToString::to_string);
        let body = EventBody::default().text("message", message).text_if("turn", turn.as_deref());
        self.emit(body.into_event(EventKind::Error));
    }

    fn status(&self) -> ChatStatus {
        let identity = self.running.as_ref().map(|running| running.process.identity());
        let process = identity
            .map(|identity| ChatProcess { pid: identity.pid, started: identity.started.clone() });
        ChatStatus {
            state: self.state.name(),
            why: self.why.clone(),
            turn: self.state.turn().cloned(),
            process,
            ..self.chat.status.clone()
        }
    }

    /// Starts to write pending events, unless a write is running.
    fn flush(&mut self) {
        if let Some(batch) = self.outbox.next_batch(&mut self.recorder) {
            let writing = self.shared.clone().write(self.handle.clone(), batch);
            self.outbox.begin(Box::pin(writing));
        }
        for effect in self.outbox.due_already() {
            self.follow(effect);
        }
        if let Some(saving) = self.outbox.begin_saving() {
            self.save(saving);
        }
    }

    fn save(&mut self, saving: Saving) {
        let shared = self.shared.clone();
        let (catalog, mut status) = (shared.store.catalog.clone(), self.status());
        let (project, id) = (self.handle.project.clone(), self.handle.chat_id.clone());
        let (settings, now) = (self.chat.settings.clone(), self.now());
        self.tasks.push(Box::pin(async move {
            if saving == Saving::Setting
                && let Err(error) =
                    catalog.set_chat_settings(project.clone(), id.clone(), settings).await
            {
                return TaskResult::Saved(Err(error));
            }
            if let Err(error) = shared.redact(&project, &mut status).await {
                return TaskResult::Saved(Err(error));
            }
            TaskResult::Saved(catalog.set_chat_status(project, id, status, now).await)
        }));
    }

    fn task_done(&mut self, result: TaskResult) {
        match result {
            TaskResult::Queued(launch) => self.queued(launch),
            TaskResult::GotSlot(launch, slot) => self.got_slot(launch, slot),
            TaskResult::Launched(launch, outcome, warning) => {
                self.launched(launch, outcome, warning)
            }
            TaskResult::Greeted(launch, outcome) => self.greeted(launch, outcome),
            TaskResult::Left => self.left(),
            TaskResult::Said(
                Some(ClaudeError::UnknownRequest { .. } | ClaudeError::Ended(_)) | None,
            )
            | TaskResult::Done => {}
            TaskResult::Resumed(error) => self.resumed(error),
            TaskResult::Said(Some(error)) => self.emit_error(&error.to_string()),
            TaskResult::Changed(outcome) => self.changed(outcome),
            TaskResult::Saved(outcome) => self.saved(outcome),
            TaskResult::AskOver(ask) => self.ask_over(&ask),
            TaskResult::IdleOver(activity) if activity == self.activity && self.is_idle() => {
                self.park()
            }
            TaskResult::IdleOver(_) => {}
        }
    }

    fn saved(&mut self, outcome: Result<(), StoreError>) {
        self.outbox.is_saving = false;
        if let Err(error) = outcome {
            // Clients have events that are on disk; the catalog only says how to continue.
            tracing::error!(%error, "cannot store the status of a chat");
        }
    }
}

async fn said(running: &mut Option<Running>) -> Option<FromClaude> {
    match running {
        Some(running) => running.lines.next().await,
        None => std::future::pending().await,
    }
}
