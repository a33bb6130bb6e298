use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Who waits for which answer, on both sides.
#[derive(Debug)]
pub(super) struct PendingRequests(Mutex<PendingState>);

#[derive(Debug)]
struct PendingState {
    /// Our requests without an answer.
    ours: HashMap<String, oneshot::Sender<Outcome>>,
    /// Its requests without an answer.
    theirs: HashSet<String>,
    /// Whether it should be at work.
    is_busy: bool,
    /// When either side last said something.
    last: Instant,
    is_closed: bool,
}

/// What came of a request of ours.
#[derive(Debug)]
pub(super) enum Outcome {
    Success(Value),
    Error { why: String, code: Option<String> },
}

#[derive(Deserialize)]
struct Envelope {
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    subtype: String,
    request_id: String,
    #[serde(default)]
    response: Value,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    error_code: Option<String>,
}

impl PendingRequests {
    pub(super) fn new() -> Self {
        Self(Mutex::new(PendingState {
            ours: HashMap::new(),
            theirs: HashSet::new(),
            is_busy: false,
            last: Instant::now(),
            is_closed: false,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request of ours; `None` once the process has ended.
    pub(super) fn register(&self, id: &str) -> Option<oneshot::Receiver<Outcome>> {
        let mut state = self.lock();
        if state.is_closed {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.ours.insert(id.to_owned(), sender);
        state.last = Instant::now();
        Some(receiver)
    }

    /// Forgets a request of ours.
    pub(super) fn forget(&self, id: &str) {
        self.lock().ours.remove(id);
    }

    /// Delivers a response to its requester; false if there is none.
    pub(super) fn answered(&self, raw: &RawValue) -> bool {
        let Ok(Envelope { response }) = serde_json::from_str::<Envelope>(raw.get()) else {
            return false;
        };
        let Some(sender) = self.lock().ours.remove(&response.request_id) else { return false };
        let outcome = match response.subtype.as_str() {
            "success" => Outcome::Success(response.response),
            _ => {
                let why = response.error.unwrap_or_else(|| "it does not say why".to_owned());
                Outcome::Error { why, code: response.error_code }
            }
        };
        // The requester may have timed out.
        drop(sender.send(outcome));
        true
    }

    /// Registers a request of the program.
    pub(super) fn request_received(&self, id: &str) {
        self.lock().theirs.insert(id.to_owned());
    }

    /// Removes a request of the program that is answered or cancelled; false if it is unknown.
    pub(super) fn settle(&self, id: &str) -> bool {
        let mut state = self.lock();
        state.last = Instant::now();
        state.theirs.remove(id)
    }

    /// Marks the process as busy.
    pub(super) fn mark_busy(&self) {
        let mut state = self.lock();
        state.is_busy = true;
        state.last = Instant::now();
    }

    /// Records activity of the process; `is_done` ends its turn.
    pub(super) fn line_received(&self, is_done: bool) {
        let mut state = self.lock();
        state.is_busy = state.is_busy && !is_done;
        state.last = Instant::now();
    }

    /// Time since the last message in either direction.
    pub(super) fn quiet(&self) -> Duration {
        self.lock().last.elapsed()
    }

    /// Waits until a busy process has been idle for so long.
    pub(super) async fn wait_until_idle(&self, limit: Duration) {
        loop {
            let is_its_turn = {
                let state = self.lock();
                state.is_busy && state.theirs.is_empty()
            };
            let left = match is_its_turn {
                true => limit.saturating_sub(self.quiet()),
                // Whatever begins from now on has as long at least.
                false => limit,
            };
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    /// Fails all pending requests: there will be no response.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.ours.clear();
        state.theirs.clear();
    }
}
