use std::collections::VecDeque;
use std::sync::Arc;

use ratchet_core::major::event::{EventKind, SessionEvent};
use ratchet_store::telemetry::Telemetry;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::refusal::MajorError;
use super::room::Room;

/// Events that are read from the store at once.
const PAGE: u32 = 500;
/// How the last event of a session begins.
const CLOSING: &str = "{\"state\":\"closed\"";

/// The events of a session after a place in their order: first those that are kept, then those
/// that come, each once and none left out.
#[derive(Debug)]
pub struct Feed {
    store: Telemetry,
    room: Arc<Room>,
    /// The place of the last event that was given out.
    after: u64,
    kept: VecDeque<SessionEvent>,
    live: broadcast::Receiver<Arc<SessionEvent>>,
    pace: Pace,
}

/// Where the next event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// From the store.
    Reading,
    /// From the session, which may have run ahead while the store was read.
    CaughtUp,
    /// From the session.
    Following,
    /// From nowhere.
    Over,
}

impl Feed {
    pub(super) fn new(store: Telemetry, room: Arc<Room>, after: u64) -> Self {
        // Listening before reading, so that nothing falls in between.
        let live = room.live.subscribe();
        Self { store, room, after, kept: VecDeque::new(), live, pace: Pace::Reading }
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
    pub async fn next(&mut self) -> Option<Result<Arc<SessionEvent>, MajorError>> {
        loop {
            if let Some(event) = self.kept.pop_front() {
                return Some(Ok(self.give(Arc::new(event))));
            }
            match self.pace {
                Pace::Over => return None,
                Pace::Reading => {
                    if let Err(error) = self.read().await {
                        self.pace = Pace::Over;
                        return Some(Err(error));
                    }
                }
                Pace::CaughtUp | Pace::Following => match self.live.recv().await {
                    Ok(event) if event.seq <= self.after => {}
                    Ok(event) if event.seq == self.after + 1 => {
                        self.pace = Pace::Following;
                        return Some(Ok(self.give(event)));
                    }
                    // It is on disk already, or it would not have come here.
                    Ok(_) => self.pace = Pace::Reading,
                    Err(RecvError::Lagged(_)) if self.pace == Pace::CaughtUp => {
                        self.pace = Pace::Reading;
                    }
                    Err(RecvError::Lagged(_)) => {
                        self.pace = Pace::Over;
                        return Some(Err(MajorError::Behind { after: self.after }));
                    }
                    Err(RecvError::Closed) => self.pace = Pace::Over,
                },
            }
        }
    }

    async fn read(&mut self) -> Result<(), MajorError> {
        let (project, session) = (self.room.project.clone(), self.room.session.clone());
        let kept = self.store.session_events(project, session, self.after, PAGE).await?;
        if kept.is_empty() {
            self.pace = Pace::CaughtUp;
        }
        self.kept = kept.into();
        Ok(())
    }

    fn give(&mut self, event: Arc<SessionEvent>) -> Arc<SessionEvent> {
        self.after = event.seq;
        if event.kind == EventKind::State && event.body.starts_with(CLOSING) {
            self.pace = Pace::Over;
        }
        event
    }

    /// Says that no more will come than is kept: the session is closed.
    pub(super) async fn ending(mut self) -> Result<Self, MajorError> {
        self.read().await?;
        if self.kept.is_empty() {
            self.pace = Pace::Over;
        }
        Ok(self)
    }
}
