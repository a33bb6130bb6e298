//! Throttling of failed logins: exponential delay per account or address.

use std::time::Duration;

use crate::time::Timestamp;

/// The interval after which one failure is forgotten: an office behind one address with occasional
/// typos is not locked out for days, and a password guesser gains little.
const FORGIVEN_EVERY: Duration = Duration::from_secs(10 * 60);
/// Without failures for this long, the history is dropped.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// Throttling parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottlePolicy {
    /// Failures without delay, for typos.
    pub free: u32,
    /// The maximum delay. The first is one second; each further failure doubles it.
    pub longest: Duration,
}

/// Recent failures of one account or address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    pub count: u32,
    pub last: Timestamp,
}

impl Failures {
    /// Returns the delay before the next attempt; `None` if it is allowed now.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ratchet_core::catalog::throttle::{Failures, ThrottlePolicy};
    /// use ratchet_core::time::Timestamp;
    ///
    /// let policy = ThrottlePolicy { free: 5, longest: Duration::from_secs(300) };
    /// let now = Timestamp::from_millis(1_000);
    /// let failures = Failures { count: 7, last: now };
    /// assert_eq!(failures.wait(policy, now), Some(Duration::from_secs(4)));
    /// ```
    pub fn wait(self, policy: ThrottlePolicy, now: Timestamp) -> Option<Duration> {
        let beyond = self.unforgiven(now).checked_sub(policy.free)?;
        let seconds = 1u64.checked_shl(beyond);
        let whole = seconds.map_or(policy.longest, Duration::from_secs).min(policy.longest);
        let left = whole.saturating_sub(self.elapsed(now));
        (!left.is_zero()).then_some(left)
    }

    /// Returns the history with one more failure at this time.
    #[must_use]
    pub fn and_one(self, now: Timestamp) -> Self {
        let earlier = if self.is_expired(now) { 0 } else { self.unforgiven(now) };
        Self { count: earlier.saturating_add(1), last: now }
    }

    /// Returns the number of failures that still count.
    fn unforgiven(self, now: Timestamp) -> u32 {
        let forgiven = self.elapsed(now).as_secs() / FORGIVEN_EVERY.as_secs();
        self.count.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX))
    }

    /// Returns whether the history is old enough to be deleted.
    pub fn is_expired(self, now: Timestamp) -> bool {
        self.elapsed(now) >= FORGOTTEN_AFTER
    }

    /// Returns the cutoff before which histories can be deleted.
    pub fn history_start(now: Timestamp) -> Timestamp {
        now.plus_nanos(-i64::try_from(FORGOTTEN_AFTER.as_nanos()).unwrap_or(i64::MAX))
    }

    /// A clock that was set back counts as stopped: otherwise the delay could last years.
    fn elapsed(self, now: Timestamp) -> Duration {
        Duration::from_nanos(u64::try_from(now.since(self.last)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACE: ThrottlePolicy = ThrottlePolicy { free: 3, longest: Duration::from_secs(60) };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[track_caller]
    fn check(count: u32, elapsed: i64, expected: Option<u64>) {
        let wait = Failures { count, last: at(0) }.wait(PACE, at(elapsed));
        assert_eq!(wait, expected.map(Duration::from_secs), "{count} failures, {elapsed} s ago");
    }

    #[test]
    fn each_failure_beyond_the_free_ones_doubles_the_wait() {
        check(0, 0, None);
        check(2, 0, None);
        check(3, 0, Some(1));
        check(4, 0, Some(2));
        check(6, 3, Some(5));
        check(6, 8, None);
    }

    #[test]
    fn no_wait_is_longer_than_the_longest() {
        check(9, 0, Some(60));
        check(u32::MAX, 0, Some(60));
        check(50, -1_000_000, Some(60));
    }

    #[test]
    fn time_forgives() {
        let day = 24 * 3_600;
        let many = Failures { count: 9, last: at(0) };
        assert_eq!(many.and_one(at(599)).count, 10);
        assert_eq!(many.and_one(at(600)).count, 9);
        assert_eq!(many.and_one(at(day - 1)).count, 1);
        assert_eq!(many.and_one(at(day)), Failures { count: 1, last: at(day) });
        assert_eq!(Failures::history_start(at(day)), at(0));
    }

    proptest! {
        #[test]
        fn one_failure_more_never_shortens_the_wait(count in 0u32..200, now in any::<i64>()) {
            let (fewer, now) = (Failures { count, last: at(5) }, Timestamp::from_nanos(now));
            let more = Failures { count: count + 1, ..fewer };
            prop_assert!(more.wait(PACE, now) >= fewer.wait(PACE, now));
        }
    }
}
