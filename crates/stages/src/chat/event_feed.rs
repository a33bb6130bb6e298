use std::collections::VecDeque;
use std::sync::Arc;

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_store::telemetry::Telemetry;
use tokio::sync::watch;

use super::chat_handle::ChatHandle;
use super::error::ChatError;
use super::live_updates::{LiveEvent, Unseen};

/// Number of events in one read.
const PAGE: u32 = 500;
/// Body prefix of the last event of a chat.
const CLOSING: &str = "{\"state\":\"closed\"";

/// Events of a chat after a sequence number: stored ones first, then new ones, each exactly once.
#[derive(Debug)]
pub struct EventFeed {
    store: Telemetry,
    handle: Arc<ChatHandle>,
    /// Sequence number of the last event that was returned.
    after: u64,
    /// Events to return next, in order.
    ready: VecDeque<Arc<LiveEvent>>,
    news: watch::Receiver<u64>,
    pace: Pace,
    /// Whether it has reached the newest event once: from then on it must keep up.
    has_kept_up: bool,
}

/// Source of the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Reading,
    /// Only stored events.
    Ending,
    Following,
    Over,
}

impl EventFeed {
    pub(super) fn new(store: Telemetry, handle: Arc<ChatHandle>, after: u64) -> Self {
        // Subscribes before reading, so that no event is missed in between.
        let news = handle.live.listen();
        let (ready, pace) = (VecDeque::new(), Pace::Reading);
        Self { store, handle, after, ready, news, pace, has_kept_up: false }
    }

    /// Returns the sequence number of the last event that was returned.
    pub fn after(&self) -> u64 {
        self.after
    }

    /// Returns the next event as soon as there is one; `None` after the last of a closed chat.
    ///
    /// # Errors
    /// Fails when the reader is too slow: it can start again after its last event. Fails when the
    /// store cannot be read. Nothing follows an error.
    pub async fn next(&mut self) -> Option<Result<Arc<LiveEvent>, ChatError>> {
        loop {
            if let Some(event) = self.at_hand() {
                return Some(Ok(event));
            }
            match self.pace {
                Pace::Over => return None,
                Pace::Reading | Pace::Ending => {
                    if let Err(error) = self.read().await {
                        self.pace = Pace::Over;
                        return Some(Err(error));
                    }
                }
                Pace::Following => match self.receive().await {
                    Ok(()) => {}
                    Err(error) => {
                        self.pace = Pace::Over;
                        return Some(Err(error));
                    }
                },
            }
        }
    }

    /// Returns the next event if it is available now, so that events can be sent together.
    pub fn at_hand(&mut self) -> Option<Arc<LiveEvent>> {
        let event = self.ready.pop_front()?;
        self.after = event.seq;
        if Self::ends_with(&event) {
            self.ready.clear();
            self.pace = Pace::Over;
        }
        Some(event)
    }

    /// Whether an event is the last one.
    pub(super) fn ends_with(event: &ChatEvent) -> bool {
        event.kind == EventKind::State && event.body.starts_with(CLOSING)
    }

    /// Waits for new events.
    async fn receive(&mut self) -> Result<(), ChatError> {
        // Marked as seen before reading, so that later events are noticed.
        self.news.mark_unchanged();
        match self.handle.live.after(self.after, &mut self.ready) {
            Unseen::These => {}
            // Events are on disk before they are published.
            Unseen::OnDisk => self.pace = Pace::Reading,
            Unseen::Nothing => {
                if self.news.changed().await.is_err() {
                    self.pace = Pace::Over;
                }
            }
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), ChatError> {
        let (project, chat_id) = (self.handle.project.clone(), self.handle.chat_id.clone());
        let published = *self.news.borrow();
        if self.has_kept_up && self.handle.live.is_too_far_from(self.after) {
            return Err(ChatError::Behind { after: self.after });
        }
        let kept = self.store.chat_events(project, chat_id, self.after, PAGE).await?;
        if kept.is_empty() {
            self.has_kept_up = true;
            let is_ending = self.pace == Pace::Ending;
            self.pace = if is_ending { Pace::Over } else { Pace::Following };
            // Events that were published but are no longer stored were deleted by retention.
            self.after = self.after.max(published);
        }
        self.ready = kept.into_iter().map(|event| Arc::new(LiveEvent::new(event))).collect();
        Ok(())
    }

    /// Returns the same feed without new events.
    #[must_use]
    pub fn so_far(self) -> Self {
        Self { pace: Pace::Ending, ..self }
    }
}
