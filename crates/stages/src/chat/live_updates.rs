//! Newest events of a chat, for its readers.
//!
//! The events are shared by all readers. Each reader takes what it has not seen at its own pace, so
//! that a slow one does not delay the others. Older events are on disk.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ratchet_core::chat::event::ChatEvent;
use tokio::sync::watch;

/// Maximum bytes of shared events; the newest one is always included.
const HELD_BYTES: usize = 256 * 1024;

/// An event with its serialized form, which the first reader creates for all.
#[derive(Debug)]
pub struct LiveEvent {
    event: ChatEvent,
    form: OnceLock<Arc<[u8]>>,
}

impl LiveEvent {
    /// An event that is not serialized yet.
    pub const fn new(event: ChatEvent) -> Self {
        Self { event, form: OnceLock::new() }
    }

    /// Returns the serialized form. All callers must use the same function.
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

/// The newest events of a chat, and a signal for new ones.
#[derive(Debug)]
pub(super) struct Live {
    held: Mutex<Held>,
    /// Sequence number of the newest event.
    newest: watch::Sender<u64>,
    /// Maximum number of events that a reader may be behind.
    backlog: u64,
}

#[derive(Debug, Default)]
struct Held {
    /// Consecutive, without gaps.
    events: VecDeque<Arc<LiveEvent>>,
    bytes: usize,
}

/// What a reader has not seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    Nothing,
    /// The events after the reader's position.
    These,
    /// More than is shared: it is on disk.
    OnDisk,
}

impl Live {
    pub(super) fn new(backlog: usize) -> Self {
        let backlog = u64::try_from(backlog.max(1)).unwrap_or(u64::MAX);
        Self { held: Mutex::default(), newest: watch::Sender::new(0), backlog }
    }

    /// Publishes events that are on disk, in order.
    pub(super) fn emit(&self, events: Vec<ChatEvent>) {
        let Some(newest) = events.last().map(|event| event.seq) else { return };
        {
            let mut held = self.held();
            // No reader is fine: events are stored.
            if self.newest.receiver_count() == 0 {
                *held = Held::default();
            } else {
                events.into_iter().for_each(|event| held.add(event));
            }
        }
        self.newest.send_replace(newest);
    }

    /// Subscribes to new events.
    pub(super) fn listen(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Returns the events after a sequence number.
    pub(super) fn after(&self, seq: u64, into: &mut VecDeque<Arc<LiveEvent>>) -> Unseen {
        let newest = *self.newest.borrow();
        if newest <= seq {
            return Unseen::Nothing;
        }
        let held = self.held();
        let first = held.events.front().map_or(u64::MAX, |event| event.seq);
        match seq.checked_add(1).and_then(|next| next.checked_sub(first)) {
            Some(skipped) => {
                let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
                into.extend(held.events.iter().skip(skipped).cloned());
                Unseen::These
            }
            None => Unseen::OnDisk,
        }
    }

    /// Whether a reader at a position is too far behind.
    pub(super) fn is_too_far_from(&self, seq: u64) -> bool {
        self.newest.borrow().saturating_sub(seq) > self.backlog
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn add(&mut self, event: ChatEvent) {
        // A chat whose numbers start again starts again here, too.
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
        live.emit((1..=3).map(|seq| event(seq, 5)).collect());
        assert_eq!(seen(&live, 0), (Unseen::These, vec![1, 2, 3]));
        assert_eq!(seen(&live, 2), (Unseen::These, vec![3]));
        assert_eq!(seen(&live, 3), (Unseen::Nothing, Vec::new()));
        assert_eq!(seen(&live, u64::MAX), (Unseen::Nothing, Vec::new()));
    }

    #[test]
    fn long_events_leave_room_for_themselves_and_stay_on_disk() {
        let live = Live::new(3);
        let _someone = live.listen();
        live.emit((1..=3).map(|seq| event(seq, HELD_BYTES)).collect());
        assert_eq!(seen(&live, 2), (Unseen::These, vec![3]));
        assert_eq!(seen(&live, 1), (Unseen::OnDisk, Vec::new()));
        live.emit(vec![event(4, 1)]);
        assert_eq!(seen(&live, 1), (Unseen::OnDisk, Vec::new()));
        assert!(live.is_too_far_from(0) && !live.is_too_far_from(1));
    }

    #[test]
    fn nothing_is_held_for_nobody() {
        let live = Live::new(10);
        live.emit(vec![event(1, 1)]);
        let _late = live.listen();
        assert_eq!(seen(&live, 0), (Unseen::OnDisk, Vec::new()));
        live.emit(vec![event(2, 1)]);
        assert_eq!(seen(&live, 1), (Unseen::These, vec![2]));
    }

    #[test]
    fn a_form_is_made_once() {
        let event = LiveEvent::new(event(1, 1));
        let first = event.form(|event| event.seq.to_string().into_bytes());
        assert_eq!(event.form(|_| Vec::new()), first);
    }
}
