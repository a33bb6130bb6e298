use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ratchet_core::time::Timestamp;

/// The system clock, or a manual one for tests.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    /// Advanced by tests.
    Manual(ManualClock),
}

impl Clock {
    /// Wall-clock time. May jump.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => system_now(),
            Self::Manual(clock) => clock.start.plus_nanos(clock.nanos()),
        }
    }

    /// Monotonic time, for intervals.
    pub fn monotonic(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            Self::Manual(clock) => clock.origin + Duration::from_nanos(clock.elapsed()),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the server's clock")]
fn system_now() -> Timestamp {
    let nanos = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => Timestamp::from_nanos(nanos(after)),
        Err(before) => Timestamp::from_nanos(-nanos(before.duration())),
    }
}

/// A clock for tests. Clones show the same time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    start: Timestamp,
    origin: Instant,
    elapsed: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that starts at a moment.
    pub fn at(start: Timestamp) -> Self {
        Self { start, origin: Instant::now(), elapsed: Arc::default() }
    }

    pub fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.elapsed.fetch_add(nanos, Ordering::SeqCst);
    }

    fn elapsed(&self) -> u64 {
        self.elapsed.load(Ordering::SeqCst)
    }

    fn nanos(&self) -> i64 {
        i64::try_from(self.elapsed()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let manual = ManualClock::at(Timestamp::from_millis(1_000));
        let clock = Clock::Manual(manual.clone());
        let before = clock.monotonic();
        assert_eq!(clock.now(), Timestamp::from_millis(1_000));
        manual.advance(Duration::from_secs(2));
        assert_eq!(clock.now(), Timestamp::from_millis(3_000));
        assert_eq!(clock.monotonic() - before, Duration::from_secs(2));
    }
}
