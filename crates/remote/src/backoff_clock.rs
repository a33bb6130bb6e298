use std::fmt;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use ratchet_core::backoff;
use ratchet_core::time::Timestamp;

/// Clock and randomness for retries.
pub trait BackoffClock: fmt::Debug + Send + Sync {
    fn now(&self) -> Timestamp;

    /// Returns a random number from 0 (inclusive) to 1 (exclusive).
    fn jitter(&self) -> f64;

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The system's clock and randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemBackoffClock;

impl BackoffClock for SystemBackoffClock {
    #[expect(clippy::disallowed_methods, reason = "this is the client's clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }

    fn jitter(&self) -> f64 {
        // The first 32 bits do not include the UUID's version.
        let (random, ..) = uuid::Uuid::new_v4().as_fields();
        backoff::jitter(random)
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_its_bounds_and_moves() {
        let rolls: Vec<f64> = (0..100).map(|_| SystemBackoffClock.jitter()).collect();
        assert!(rolls.iter().all(|roll| (0.0..1.0).contains(roll)));
        assert!(rolls.iter().any(|roll| *roll != rolls[0]));
    }
}
