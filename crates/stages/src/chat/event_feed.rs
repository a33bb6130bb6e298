use std::collections::VecDeque;
use std::sync::Arc;

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_store::telemetry::Telemetry;
use tokio::sync::watch;

use super::chat_handle::ChatHandle;
use super::error::ChatError;
use super::live_updates::{LiveEvent, Unseen};

/// Events that are read from the store at once.
const PAGE: u32 = 500;
/// How the last event of a session begins.
const CLOSING: &str = "{\"state\":\"closed\"";

/// The events of a session after a place in their order: first those that are kept, then those
/// that come, each once and none left out.
#[derive(Debug)]
pub struct EventFeed {
    store: Telemetry,
    room: Arc<ChatHandle>,
    /// The place of the last event that was given out.
    after: u64,
    /// What is at hand, in order.
    ready: VecDeque<Arc<LiveEvent>>,
    news: watch::Receiver<u64>,
    pace: Pace,
    /// Whether it has seen all there was once: from then on it has to keep up.
    has_kept_up: bool,
}

/// Where the next event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Reading,
    /// From the store, and from nowhere else.
    Ending,
    Following,
    Over,
}

impl EventFeed {
    pub(super) fn new(store: Telemetry, room: Arc<ChatHandle>, after: u64) -> Self {
        // Listening before reading, so that nothing falls in between.
        let news = room.live.listen();
        let (ready, pace) = (VecDeque::new(), Pace::Reading);
        Self { store, room, after, ready, news, pace, has_kept_up: false }
    }

    /// The place of the last event that was given out.
    pub fn after(&self) -> u64 {
        self.after
    }

    /// Returns the next event as soon as there is one; `None` after the last of a closed session.
    ///
    /// # Errors
    /// Fails when the reader is too slow: it is to begin anew after the last event that it got.
    /// And when the store cannot be read. Nothing comes after an error.
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
                Pace::Following => match self.hear().await {
                    Ok(()) => {}
                    Err(error) => {
                        self.pace = Pace::Over;
                        return Some(Err(error));
                    }
                },
            }
        }
    }

    /// Returns the next event if it is at hand, so that what comes together can go on together.
    pub fn at_hand(&mut self) -> Option<Arc<LiveEvent>> {
        let event = self.ready.pop_front()?;
        self.after = event.seq;
        if Self::ends_with(&event) {
            self.ready.clear();
            self.pace = Pace::Over;
        }
        Some(event)
    }

    /// Whether nothing comes after an event.
    pub(super) fn ends_with(event: &ChatEvent) -> bool {
        event.kind == EventKind::State && event.body.starts_with(CLOSING)
    }

    /// Takes what the session tells, once it tells something.
    async fn hear(&mut self) -> Result<(), ChatError> {
        // Seen before looking, so that whatever comes later is news.
        self.news.mark_unchanged();
        match self.room.live.after(self.after, &mut self.ready) {
            Unseen::These => {}
            // It is on disk already, or it would not have been told.
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
        let (project, session) = (self.room.project.clone(), self.room.session.clone());
        let told = *self.news.borrow();
        if self.has_kept_up && self.room.live.is_too_far_from(self.after) {
            return Err(ChatError::Behind { after: self.after });
        }
        let kept = self.store.session_events(project, session, self.after, PAGE).await?;
        if kept.is_empty() {
            self.has_kept_up = true;
            let is_ending = self.pace == Pace::Ending;
            self.pace = if is_ending { Pace::Over } else { Pace::Following };
            // What was told and is not kept any more was too old: it will not come.
            self.after = self.after.max(told);
        }
        self.ready = kept.into_iter().map(|event| Arc::new(LiveEvent::new(event))).collect();
        Ok(())
    }

    /// The same without what is yet to come.
    #[must_use]
    pub fn so_far(self) -> Self {
        Self { pace: Pace::Ending, ..self }
    }
}
