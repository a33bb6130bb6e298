//! What a session tells those who look on.
//!
//! The newest events are held for all of them together, each once. Whoever looks on takes what it
//! has not seen when it gets to it, so that nobody waits for anybody. What is not held any more is
//! on disk.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ratchet_core::chat::event::ChatEvent;
use tokio::sync::watch;

/// Bytes of events that are held; the newest one is, however long it is.
const HELD_BYTES: usize = 256 * 1024;

/// An event on its way to whoever looks on, with the form in which it goes out: that is made once,
/// by whoever needs it first.
#[derive(Debug)]
pub struct LiveEvent {
    event: ChatEvent,
    form: OnceLock<Arc<[u8]>>,
}

impl LiveEvent {
    /// An event that nobody has given a form yet.
    pub const fn new(event: ChatEvent) -> Self {
        Self { event, form: OnceLock::new() }
    }

    /// The form in which it goes out; everyone who asks must mean the same one.
    pub fn form(&self, make: impl FnOnce(&ChatEvent) -> Vec<u8>) -> Arc<[u8]> {
        self.form.get_or_init(|| make(&self.event).into()).clone()
    }
}

impl Deref for LiveEvent {
    type Target = ChatEvent;

    fn deref(&self) -> &ChatEvent {
        &self.event
    }
}

/// The newest events of a session, and word of them.
#[derive(Debug)]
pub(super) struct Live {
    held: Mutex<Held>,
    /// The place of the newest event.
    newest: watch::Sender<u64>,
    /// How many events someone may be behind.
    backlog: u64,
}

#[derive(Debug, Default)]
struct Held {
    /// One after the other, none left out.
    events: VecDeque<Arc<LiveEvent>>,
    bytes: usize,
}

/// What someone who looks on has not seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    Nothing,
    /// What was just handed over.
    These,
    /// More than is held: it is on disk.
    OnDisk,
}

impl Live {
    pub(super) fn new(backlog: usize) -> Self {
        let backlog = u64::try_from(backlog.max(1)).unwrap_or(u64::MAX);
        Self { held: Mutex::default(), newest: watch::Sender::new(0), backlog }
    }

    /// Tells of events that are on disk, in their order.
    pub(super) fn tell(&self, events: Vec<ChatEvent>) {
        let Some(newest) = events.last().map(|event| event.seq) else { return };
        {
            let mut held = self.held();
            // Nobody looking on is fine: it is kept.
            if self.newest.receiver_count() == 0 {
                *held = Held::default();
            } else {
                events.into_iter().for_each(|event| held.add(event));
            }
        }
        self.newest.send_replace(newest);
    }

    /// Word of every event from now on.
    pub(super) fn listen(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Hands over what comes after a place.
    pub(super) fn after(&self, place: u64, into: &mut VecDeque<Arc<LiveEvent>>) -> Unseen {
        let newest = *self.newest.borrow();
        if newest <= place {
            return Unseen::Nothing;
        }
        let held = self.held();
        let first = held.events.front().map_or(u64::MAX, |event| event.seq);
        match place.checked_add(1).and_then(|next| next.checked_sub(first)) {
            Some(skipped) => {
                let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
                into.extend(held.events.iter().skip(skipped).cloned());
                Unseen::These
            }
            None => Unseen::OnDisk,
        }
    }

    /// Whether whoever has come to a place is further behind than anyone may be.
    pub(super) fn is_too_far_from(&self, place: u64) -> bool {
        self.newest.borrow().saturating_sub(place) > self.backlog
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn add(&mut self, event: ChatEvent) {
        // A session that counts anew begins anew here, too.
        if self.events.back().is_some_and(|last| last.seq + 1 != event.seq) {
            *self = Self::default();
        }
        self.bytes += event.body.len();
        self.events.push_back(Arc::new(LiveEvent::new(event)));
        while self.bytes > HELD_BYTES && self.events.len() > 1 {
            let oldest = self.events.pop_front();
            self.bytes -= oldest.map_or(0, |event| event.body.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use ratchet_core::chat::event::EventKind;
    use ratchet_core::time::Timestamp;

    use super::*;

    fn event(seq: u64, len: usize) -> ChatEvent {
        let body = "x".repeat(len).into();
        ChatEvent { seq, at: Timestamp::default(), kind: EventKind::Raw, body }
    }

    fn seen(live: &Live, after: u64) -> (Unseen, Vec<u64>) {
        let mut events = VecDeque::new();
        let unseen = live.after(after, &mut events);
        (unseen, events.iter().map(|event| event.seq).collect())
    }

    #[test]
    fn whoever_looks_on_is_handed_what_they_have_not_seen() {
        let live = Live::new(10);
        let _someone = live.listen();
        live.tell((1..=3).map(|seq| event(seq, 5)).collect());
        assert_eq!(seen(&live, 0), (Unseen::These, vec![1, 2, 3]));
        assert_eq!(seen(&live, 2), (Unseen::These, vec![3]));
        assert_eq!(seen(&live, 3), (Unseen::Nothing, Vec::new()));
        assert_eq!(seen(&live, u64::MAX), (Unseen::Nothing, Vec::new()));
    }

    #[test]
    fn long_events_leave_room_for_themselves_and_stay_on_disk() {
        let live = Live::new(3);
        let _someone = live.listen();
        live.tell((1..=3).map(|seq| event(seq, HELD_BYTES)).collect());
        assert_eq!(seen(&live, 2), (Unseen::These, vec![3]));
        assert_eq!(seen(&live, 1), (Unseen::OnDisk, Vec::new()));
        live.tell(vec![event(4, 1)]);
        assert_eq!(seen(&live, 1), (Unseen::OnDisk, Vec::new()));
        assert!(live.is_too_far_from(0) && !live.is_too_far_from(1));
    }

    #[test]
    fn nothing_is_held_for_nobody() {
        let live = Live::new(10);
        live.tell(vec![event(1, 1)]);
        let _late = live.listen();
        assert_eq!(seen(&live, 0), (Unseen::OnDisk, Vec::new()));
        live.tell(vec![event(2, 1)]);
        assert_eq!(seen(&live, 1), (Unseen::These, vec![2]));
    }

    #[test]
    fn a_form_is_made_once() {
        let event = LiveEvent::new(event(1, 1));
        let first = event.form(|event| event.seq.to_string().into_bytes());
        assert_eq!(event.form(|_| Vec::new()), first);
    }
}
