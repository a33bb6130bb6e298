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
use super::{ChatActor, Chore};

/// Events that may wait for the disk before the agent has to.
const MOST_WAITING: usize = 2_000;

/// What goes to the disk together.
#[derive(Debug)]
pub(in super::super) struct Writing {
    /// The place of the last event on disk.
    pub(in super::super) after: u64,
    pub(in super::super) told: Vec<TimedEvent>,
    pub(in super::super) patches: Patches,
    /// What is held back, where the project has rules.
    pub(in super::super) hush: StreamRedactor,
}

#[derive(Debug)]
pub(in super::super) struct Written {
    /// What was told, as far as the project's rules allow it, each in its place.
    pub(in super::super) events: Vec<ChatEvent>,
    pub(in super::super) hush: StreamRedactor,
}

/// What is on its way to the disk, and what follows from it.
pub(super) struct Outbox {
    /// The place of the last event on disk.
    place: u64,
    /// How much was told, and how much of that is on disk or on its way there.
    told: u64,
    sent: u64,
    waiting: Vec<TimedEvent>,
    writing: Option<BoxFuture<'static, Result<Written, StoreError>>>,
    hush: StreamRedactor,
    /// What follows, each once so much of what was told is on disk.
    deeds: VecDeque<(u64, Deed)>,
    /// Whether the session stands otherwise than is kept.
    pub(super) is_stale: bool,
    /// Whether the agent is to be started otherwise than is kept.
    pub(super) is_reset: bool,
    pub(super) is_saving: bool,
}

/// What the catalog is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saving {
    Standing,
    /// That, and how its agent is started.
    Setting,
}

/// What follows from an event that is on disk.
pub(super) enum Deed {
    Answer(Box<dyn FnOnce() + Send>),
    /// The agent hears a message.
    Say(Box<UserMessage>),
    /// The agent hears an answer.
    Reply(String, Reply),
    /// The agent is to stop.
    Interrupt(Answering<()>),
}

impl Outbox {
    pub(super) fn new(last: u64) -> Self {
        Self {
            place: last,
            told: 0,
            sent: 0,
            waiting: Vec::new(),
            writing: None,
            hush: StreamRedactor::default(),
            deeds: VecDeque::new(),
            is_stale: false,
            is_reset: false,
            is_saving: false,
        }
    }

    /// Takes something that is told; it gets its place when it is written.
    pub(super) fn add(&mut self, telling: UnorderedEvent, at: Timestamp) {
        self.told += 1;
        self.waiting.push((at, telling));
    }

    /// Has something follow once all that was told so far is on disk.
    pub(super) fn then(&mut self, deed: Deed) {
        self.deeds.push_back((self.told, deed));
    }

    /// Whether more may be told before the disk has caught up.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MOST_WAITING
    }

    /// Whether nothing is on its way.
    pub(super) fn is_empty(&self) -> bool {
        let is_written = self.waiting.is_empty() && self.writing.is_none();
        let is_saved = !self.is_stale && !self.is_reset && !self.is_saving;
        is_written && self.deeds.is_empty() && is_saved
    }

    /// What is to be written next, if nothing is being written.
    pub(super) fn next_batch(&mut self, book: &mut TurnRecorder) -> Option<Writing> {
        if self.writing.is_some() {
            return None;
        }
        let (told, patches) = (std::mem::take(&mut self.waiting), book.take());
        if told.is_empty() && patches.is_empty() {
            return None;
        }
        self.sent = self.told;
        let hush = std::mem::take(&mut self.hush);
        Some(Writing { after: self.place, told, patches, hush })
    }

    pub(super) fn begin(&mut self, writing: BoxFuture<'static, Result<Written, StoreError>>) {
        self.writing = Some(writing);
    }

    /// Says whether how the session stands is to be kept now, and perhaps how it is started.
    pub(super) fn begin_saving(&mut self) -> Option<Saving> {
        if self.is_saving || !(self.is_stale || self.is_reset) {
            return None;
        }
        let saving = if self.is_reset { Saving::Setting } else { Saving::Standing };
        (self.is_saving, self.is_stale, self.is_reset) = (true, false, false);
        Some(saving)
    }

    /// Waits until what is being written is on disk.
    pub(super) async fn written(&mut self) -> Result<Vec<ChatEvent>, StoreError> {
        let Some(writing) = &mut self.writing else { return pending().await };
        let written = writing.await;
        self.writing = None;
        let Written { events, hush } = written?;
        self.hush = hush;
        self.place = events.last().map_or(self.place, |event| event.seq);
        Ok(events)
    }

    /// What follows from events that are all on disk.
    pub(super) fn due_already(&mut self) -> Vec<Deed> {
        let is_written = self.waiting.is_empty() && self.writing.is_none();
        if is_written { self.due(self.told) } else { Vec::new() }
    }

    /// What follows from so much of what was told.
    fn due(&mut self, written: u64) -> Vec<Deed> {
        let count = self.deeds.iter().take_while(|(told, _)| *told <= written).count();
        self.deeds.drain(..count).map(|(_, deed)| deed).collect()
    }
}

impl ChatActor {
    /// Events are on disk: everyone may know, and what follows from them is done.
    pub(super) fn written(&mut self, written: Result<Vec<ChatEvent>, StoreError>) {
        let events = match written {
            Ok(events) => events,
            Err(error) => return self.lost(&error),
        };
        self.room.live.tell(events);
        for deed in self.outbox.due(self.outbox.sent) {
            self.follow(deed);
        }
    }

    pub(super) fn follow(&mut self, deed: Deed) {
        let process = self.running.as_ref().map(|running| running.process.clone());
        match (deed, process) {
            (Deed::Answer(answer), _) => answer(),
            (Deed::Say(message), Some(process)) => {
                self.regain();
                self.chores.push(Box::pin(async move {
                    Chore::Said(process.send_user(&message).await.err())
                }));
            }
            (Deed::Reply(id, reply), Some(process)) => {
                let telling = process.clone();
                self.with_slot(process, async move { telling.answer(&id, &reply).await });
            }
            (Deed::Interrupt(reply), Some(process)) => self
                .ask_agent(reply, async move { process.interrupt(Queued::Cancel).await.map(drop) }),
            (Deed::Interrupt(reply), None) => self.answer_wish(reply, Err(ChatError::NoTurn)),
            (Deed::Say(_) | Deed::Reply(..), None) => {}
        }
    }

    /// The disk does not take events: nobody can be told anything, so the session stops here and
    /// goes on from what is kept.
    fn lost(&mut self, error: &StoreError) {
        tracing::error!(%error, session = %self.room.session, "cannot keep what an agent said");
        self.outbox = Outbox::new(0);
        self.running = None;
        self.leaving = None;
        self.later.clear();
        self.state = ChatState::Parked;
        self.wishes.close();
        while self.wishes.try_recv().is_ok() {}
    }
}
