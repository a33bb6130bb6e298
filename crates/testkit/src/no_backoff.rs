use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;

use crate::build::START;

/// A backoff that never waits, and records how long it should have. Clones share the record.
#[derive(Clone, Debug, Default)]
pub struct NoBackoff(Arc<Mutex<Vec<Duration>>>);

impl NoBackoff {
    pub fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl BackoffClock for NoBackoff {
    fn now(&self) -> Timestamp {
        START
    }

    fn jitter(&self) -> f64 {
        0.5
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(wait);
        Box::pin(std::future::ready(()))
    }
}
