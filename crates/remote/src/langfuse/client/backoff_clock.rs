use std::fmt;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use ratchet_core::time::Timestamp;

/// Clock and randomness for retries.
pub trait BackoffClock: fmt::Debug + Send + Sync {
    fn now(&self) -> Timestamp;

    /// Returns a random number from 0 (inclusive) to 1 (exclusive).
    fn chance(&self) -> f64;

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

    fn chance(&self) -> f64 {
        let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
        // The first 32 bits do not include the UUID's version.
        f64::from(u32::try_from(high >> 32).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_stays_within_its_bounds_and_moves() {
        let rolls: Vec<f64> = (0..100).map(|_| SystemBackoffClock.chance()).collect();
        assert!(rolls.iter().all(|roll| (0.0..1.0).contains(roll)));
        assert!(rolls.iter().any(|roll| *roll != rolls[0]));
    }
}
