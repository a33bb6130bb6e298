use std::collections::VecDeque;
use std::future::pending;

use futures_util::future::BoxFuture;
use ratchet_agent::claude::control::Queued;
use ratchet_agent::claude::message::{Reply, UserMessage};
use ratchet_core::chat::event::{ChatEvent, UnorderedEvent};
use ratchet_core::chat::state::ChatState;
use ratchet_core::chat::stream_redaction::{StreamRedactor, TimedEvent};
use ratchet_core::record::claude_code::Patches;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;

use super::super::command::Reply as Answering;
use super::super::error::ChatError;
use super::super::turn_recorder::TurnRecorder;
use super::{ChatActor, TaskResult};

/// Maximum number of events that wait for the disk; then reading from the agent pauses.
const MAX_PENDING_EVENTS: usize = 2_000;

/// Events and patches of one commit.
#[derive(Debug)]
pub(in super::super) struct Writing {
    /// Sequence number of the last event on disk.
    pub(in super::super) after: u64,
    pub(in super::super) events: Vec<TimedEvent>,
    pub(in super::super) patches: Patches,
    /// Text that is held back, if the project has redaction rules.
    pub(in super::super) stream_redactor: StreamRedactor,
}

#[derive(Debug)]
pub(in super::super) struct Written {
    /// The events after redaction, with their sequence numbers.
    pub(in super::super) events: Vec<ChatEvent>,
    pub(in super::super) stream_redactor: StreamRedactor,
}

/// Events on their way to disk, and the effects that wait for them.
pub(super) struct Outbox {
    /// Sequence number of the last event on disk.
    last_seq: u64,
    /// Number of events emitted, and of those that are on disk or being written.
    emitted: u64,
    sent: u64,
    waiting: Vec<TimedEvent>,
    writing: Option<BoxFuture<'static, Result<Written, StoreError>>>,
    stream_redactor: StreamRedactor,
    /// Effects, each with the number of events that must be on disk first.
    effects: VecDeque<(u64, Effect)>,
    /// Whether the status differs from the stored one.
    pub(super) is_stale: bool,
    /// Whether the settings differ from the stored ones.
    pub(super) is_reset: bool,
    pub(super) is_saving: bool,
}

/// What is stored in the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saving {
    Standing,
    /// Status and settings.
    Setting,
}

/// What happens once an event is on disk.
pub(super) enum Effect {
    Answer(Box<dyn FnOnce() + Send>),
    /// Sends a message to the agent.
    Say(Box<UserMessage>),
    /// Sends an answer to the agent.
    Reply(String, Reply),
    /// Interrupts the agent.
    Interrupt(Answering<()>),
}

impl Outbox {
    pub(super) fn new(last: u64) -> Self {
        Self {
            last_seq: last,
            emitted: 0,
            sent: 0,
            waiting: Vec::new(),
            writing: None,
            stream_redactor: StreamRedactor::default(),
            effects: VecDeque::new(),
            is_stale: false,
            is_reset: false,
            is_saving: false,
        }
    }

    /// Queues an event; it is numbered when it is written.
    pub(super) fn add(&mut self, event: UnorderedEvent, at: Timestamp) {
        self.emitted += 1;
        self.waiting.push((at, event));
    }

    /// Queues an effect for when all events so far are on disk.
    pub(super) fn then(&mut self, effect: Effect) {
        self.effects.push_back((self.emitted, effect));
    }

    /// Whether more events may be queued.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MAX_PENDING_EVENTS
    }

    /// Whether nothing is pending.
    pub(super) fn is_empty(&self) -> bool {
        let is_written = self.waiting.is_empty() && self.writing.is_none();
        let is_saved = !self.is_stale && !self.is_reset && !self.is_saving;
        is_written && self.effects.is_empty() && is_saved
    }

    /// Returns what to write next, if no write is running.
    pub(super) fn next_batch(&mut self, recorder: &mut TurnRecorder) -> Option<Writing> {
        if self.writing.is_some() {
            return None;
        }
        let (events, patches) = (std::mem::take(&mut self.waiting), recorder.take());
        if events.is_empty() && patches.is_empty() {
            return None;
        }
        self.sent = self.emitted;
        let stream_redactor = std::mem::take(&mut self.stream_redactor);
        Some(Writing { after: self.last_seq, events, patches, stream_redactor })
    }

    pub(super) fn begin(&mut self, writing: BoxFuture<'static, Result<Written, StoreError>>) {
        self.writing = Some(writing);
    }

    /// Returns what to store in the catalog now, if anything.
    pub(super) fn begin_saving(&mut self) -> Option<Saving> {
        if self.is_saving || !(self.is_stale || self.is_reset) {
            return None;
        }
        let saving = if self.is_reset { Saving::Setting } else { Saving::Standing };
        (self.is_saving, self.is_stale, self.is_reset) = (true, false, false);
        Some(saving)
    }

    /// Waits until the running write is on disk.
    pub(super) async fn written(&mut self) -> Result<Vec<ChatEvent>, StoreError> {
        let Some(writing) = &mut self.writing else { return pending().await };
        let written = writing.await;
        self.writing = None;
        let Written { events, stream_redactor } = written?;
        self.stream_redactor = stream_redactor;
        self.last_seq = events.last().map_or(self.last_seq, |event| event.seq);
        Ok(events)
    }

    /// Returns the effects that are due if all events are on disk.
    pub(super) fn due_already(&mut self) -> Vec<Effect> {
        let is_written = self.waiting.is_empty() && self.writing.is_none();
        if is_written { self.due(self.emitted) } else { Vec::new() }
    }

    /// Returns the effects that are due after so many events.
    fn due(&mut self, written: u64) -> Vec<Effect> {
        let count = self.effects.iter().take_while(|(number, _)| *number <= written).count();
        self.effects.drain(..count).map(|(_, effect)| effect).collect()
    }
}

impl ChatActor {
    /// Events are on disk: publishes them and runs their effects.
    pub(super) fn written(&mut self, written: Result<Vec<ChatEvent>, StoreError>) {
        let events = match written {
            Ok(events) => events,
            Err(error) => return self.lost(&error),
        };
        self.handle.live.emit(events);
        for effect in self.outbox.due(self.outbox.sent) {
            self.follow(effect);
        }
    }

    pub(super) fn follow(&mut self, effect: Effect) {
        let process = self.running.as_ref().map(|running| running.process.clone());
        match (effect, process) {
            (Effect::Answer(answer), _) => answer(),
            (Effect::Say(message), Some(process)) => {
                self.reacquire_slot();
                self.tasks.push(Box::pin(async move {
                    TaskResult::Said(process.send_user(&message).await.err())
                }));
            }
            (Effect::Reply(id, reply), Some(process)) => {
                let event = process.clone();
                self.with_slot(process, async move { event.answer(&id, &reply).await });
            }
            (Effect::Interrupt(reply), Some(process)) => self
                .ask_agent(reply, async move { process.interrupt(Queued::Cancel).await.map(drop) }),
            (Effect::Interrupt(reply), None) => {
                self.reply_after_write(reply, Err(ChatError::NoTurn))
            }
            (Effect::Say(_) | Effect::Reply(..), None) => {}
        }
    }

    /// Events cannot be written, so none can be published: the chat stops here and continues later
    /// from what is stored.
    fn lost(&mut self, error: &StoreError) {
        tracing::error!(%error, chat_id = %self.handle.chat_id, "cannot store the events of a chat");
        self.outbox = Outbox::new(0);
        self.running = None;
        self.leaving = None;
        self.later.clear();
        self.state = ChatState::Parked;
        self.commands.close();
        while self.commands.try_recv().is_ok() {}
    }
}
