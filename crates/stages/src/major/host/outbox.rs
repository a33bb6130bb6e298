use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ratchet_agent::claude::message::{Reply, UserMessage};
use ratchet_core::claude_code::Patches;
use ratchet_core::major::event::{SessionEvent, Telling};
use ratchet_core::major::state::MajorState;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;

use super::super::book::TurnBook;
use super::{Chore, Host};

/// Events that may wait for the disk before the agent has to.
const MOST_WAITING: usize = 2_000;

/// What goes to the disk together.
#[derive(Debug)]
pub(in super::super) struct Writing {
    pub(in super::super) events: Vec<SessionEvent>,
    pub(in super::super) patches: Patches,
}

/// Events with their places, after one that is the last so far.
pub(in super::super) fn placed(told: Vec<Telling>, last: u64, at: Timestamp) -> Vec<SessionEvent> {
    let place = |(seq, Telling { kind, body })| SessionEvent { seq, at, kind, body };
    (last + 1..).zip(told).map(place).collect()
}

/// What is on its way to the disk, and what follows from it.
pub(super) struct Outbox {
    /// The place of the last event that was told.
    last: u64,
    waiting: Vec<SessionEvent>,
    writing: Option<BoxFuture<'static, Result<Vec<Arc<SessionEvent>>, StoreError>>>,
    /// What follows, each from the event at a place.
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
    /// How the session stands.
    Standing,
    /// That, and how its agent is started.
    Setting,
}

/// What follows from an event that is on disk.
pub(super) enum Deed {
    /// Someone is answered.
    Answer(Box<dyn FnOnce() + Send>),
    /// The agent hears a message.
    Say(Box<UserMessage>),
    /// The agent hears an answer.
    Reply(String, Reply),
}

impl Outbox {
    pub(super) fn new(last: u64) -> Self {
        Self {
            last,
            waiting: Vec::new(),
            writing: None,
            deeds: VecDeque::new(),
            is_stale: false,
            is_reset: false,
            is_saving: false,
        }
    }

    /// Gives an event its place.
    pub(super) fn add(&mut self, told: Telling, at: Timestamp) -> u64 {
        self.last += 1;
        let Telling { kind, body } = told;
        self.waiting.push(SessionEvent { seq: self.last, at, kind, body });
        self.last
    }

    /// Has something follow once all that was told so far is on disk.
    pub(super) fn then(&mut self, deed: Deed) {
        self.deeds.push_back((self.last, deed));
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
    pub(super) fn next_batch(&mut self, book: &mut TurnBook) -> Option<Writing> {
        if self.writing.is_some() {
            return None;
        }
        let (events, patches) = (std::mem::take(&mut self.waiting), book.take());
        (!events.is_empty() || !patches.is_empty()).then_some(Writing { events, patches })
    }

    pub(super) fn begin(
        &mut self,
        writing: BoxFuture<'static, Result<Vec<Arc<SessionEvent>>, StoreError>>,
    ) {
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
    pub(super) async fn written(&mut self) -> Result<Vec<Arc<SessionEvent>>, StoreError> {
        let Some(writing) = &mut self.writing else { return pending().await };
        let written = writing.await;
        self.writing = None;
        written
    }

    /// What follows from events that are all on disk.
    pub(super) fn due_already(&mut self) -> Vec<Deed> {
        let is_written = self.waiting.is_empty() && self.writing.is_none();
        if is_written { self.due(self.last) } else { Vec::new() }
    }

    /// What follows from events up to a place.
    fn due(&mut self, written: u64) -> Vec<Deed> {
        let count = self.deeds.iter().take_while(|(seq, _)| *seq <= written).count();
        self.deeds.drain(..count).map(|(_, deed)| deed).collect()
    }
}

impl Host {
    /// Events are on disk: everyone may know, and what follows from them is done.
    pub(super) fn written(&mut self, written: Result<Vec<Arc<SessionEvent>>, StoreError>) {
        let events = match written {
            Ok(events) => events,
            Err(error) => return self.lost(&error),
        };
        let Some(last) = events.last().map(|event| event.seq) else { return };
        for event in events {
            // Nobody looking on is fine: it is kept.
            drop(self.room.live.send(event));
        }
        for deed in self.outbox.due(last) {
            self.follow(deed);
        }
    }

    pub(super) fn follow(&mut self, deed: Deed) {
        if let Deed::Answer(answer) = deed {
            return answer();
        }
        let Some(running) = &self.running else { return };
        let process = running.process.clone();
        self.chores.push(Box::pin(async move {
            let said = match deed {
                Deed::Answer(_) => Ok(()),
                Deed::Say(message) => process.send_user(&message).await,
                Deed::Reply(id, reply) => process.answer(&id, &reply).await,
            };
            Chore::Said(said.err())
        }));
    }

    /// The disk does not take events: nobody can be told anything, so the session stops here and
    /// goes on from what is kept.
    fn lost(&mut self, error: &StoreError) {
        tracing::error!(%error, session = %self.room.session, "cannot keep what an agent said");
        self.outbox = Outbox::new(0);
        self.running = None;
        self.leaving = None;
        self.later.clear();
        self.state = MajorState::Parked;
        self.wishes.close();
        while self.wishes.try_recv().is_ok() {}
    }
}
