use std::time::Duration;

use crate::time::Timestamp;

/// A retry policy: exponential delays with jitter, a cap, `Retry-After` as a minimum, and limits
/// after which to give up.
///
/// ```
/// use std::time::Duration;
///
/// use ratchet_core::backoff::{Backoff, FailedAttempt};
///
/// let backoff = Backoff { first: Duration::from_secs(2), ..Backoff::default() };
/// let failed = FailedAttempt { attempt: 2, jitter: 1.0, ..FailedAttempt::default() };
/// assert_eq!(backoff.delay(failed), Some(Duration::from_secs(4)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Total attempts, the first included.
    pub max_attempts: u32,
    /// The delay after the first failure; doubled after each further one.
    pub first: Duration,
    /// The maximum delay, unless `Retry-After` is longer.
    pub cap: Duration,
    /// The longest `Retry-After` that is waited for.
    pub max_retry_after: Duration,
    /// The maximum time from the first attempt to the start of the last one.
    pub max_elapsed: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            max_attempts: 6,
            first: Duration::from_secs(1),
            cap: Duration::from_secs(60),
            max_retry_after: Duration::from_secs(120),
            max_elapsed: Duration::MAX,
        }
    }
}

/// A failed attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FailedAttempt {
    /// Number of attempts so far, this one included.
    pub attempt: u32,
    /// Time since the first attempt.
    pub elapsed: Duration,
    /// The minimum delay that the other side asks for.
    pub retry_after: Option<Duration>,
    /// Random share of the delay, from 0 to 1; see [`jitter`].
    pub jitter: f64,
}

impl Backoff {
    /// Returns the delay before the next attempt; `None` to give up.
    ///
    /// Half of a delay is fixed and half is random, and some is added to `Retry-After`, so that
    /// requests that failed together are spread.
    pub fn delay(&self, failed: FailedAttempt) -> Option<Duration> {
        if failed.attempt >= self.max_attempts {
            return None;
        }
        let doubled = 2u32.saturating_pow(failed.attempt.saturating_sub(1));
        let full = self.first.saturating_mul(doubled).min(self.cap);
        let jitter = if failed.jitter.is_nan() { 1.0 } else { failed.jitter.clamp(0.0, 1.0) };
        let own = (full / 2).saturating_add((full / 2).mul_f64(jitter));
        let delay = match failed.retry_after {
            Some(wait) if wait > self.max_retry_after => return None,
            Some(wait) => wait.saturating_add(self.first.mul_f64(jitter)).max(own),
            None => own,
        };
        (failed.elapsed.saturating_add(delay) <= self.max_elapsed).then_some(delay)
    }
}

/// Returns the jitter of random bits, from 0 (inclusive) to 1 (exclusive).
///
/// ```
/// use ratchet_core::backoff::jitter;
///
/// assert_eq!((jitter(0), jitter(1 << 31)), (0.0, 0.5));
/// assert!(jitter(u32::MAX) < 1.0);
/// ```
pub fn jitter(random: u32) -> f64 {
    f64::from(random) / (f64::from(u32::MAX) + 1.0)
}

/// Parses the `Retry-After` header: seconds, which some servers send with a fraction, or a date.
/// A date is read only if the time is known.
pub fn parse_retry_after(header: &str, now: Option<Timestamp>) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let nanos = Timestamp::parse_http_date(header)?.since(now?);
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
}

/// Reads how long a response asks to wait: `retry-after-ms`, or `Retry-After`, whose date is relative
/// to the response's own `Date`. `header` returns a header by its name in lower case.
pub fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    if let Some(millis) = header("retry-after-ms").and_then(|millis| millis.trim().parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    parse_retry_after(header("retry-after")?, header("date").and_then(Timestamp::parse_http_date))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn backoff() -> Backoff {
        Backoff {
            max_attempts: 4,
            first: Duration::from_secs(1),
            cap: Duration::from_secs(3),
            max_retry_after: Duration::from_secs(60),
            max_elapsed: Duration::from_secs(100),
        }
    }

    fn failed(attempt: u32) -> FailedAttempt {
        FailedAttempt { attempt, jitter: 0.5, ..FailedAttempt::default() }
    }

    #[track_caller]
    fn check(failed: FailedAttempt, expected_millis: Option<u128>) {
        let delay = backoff().delay(failed);
        assert_eq!(delay.map(|delay| delay.as_millis()), expected_millis);
    }

    #[test]
    fn delays_double_up_to_the_cap_and_attempts_end() {
        check(failed(1), Some(750));
        check(failed(2), Some(1_500));
        check(failed(3), Some(2_250));
        check(failed(4), None);
        check(failed(u32::MAX), None);
    }

    #[test]
    fn retry_after_is_a_minimum_up_to_its_limit() {
        let busy = |seconds| FailedAttempt {
            retry_after: Some(Duration::from_secs(seconds)),
            ..failed(1)
        };
        check(busy(0), Some(750));
        check(busy(40), Some(40_500));
        check(busy(61), None);
    }

    #[test]
    fn no_attempt_starts_after_the_time_limit() {
        let late = |seconds| FailedAttempt { elapsed: Duration::from_secs(seconds), ..failed(1) };
        check(late(99), Some(750));
        check(late(100), None);
    }

    #[test]
    fn the_header_holds_seconds_or_a_date() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
        let seconds = |header| parse_retry_after(header, Some(now)).map(|wait| wait.as_secs());
        assert_eq!(seconds(" 7 "), Some(7));
        assert_eq!(seconds("Sun, 15 Nov 2026 12:00:30 GMT"), Some(30));
        assert_eq!(seconds("Sun, 15 Nov 2026 11:00:00 GMT"), Some(0));
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("-1"), None);
        assert_eq!(parse_retry_after("0.25", None), Some(Duration::from_millis(250)));
        assert_eq!(parse_retry_after("Sun, 15 Nov 2026 12:00:30 GMT", None), None);
    }

    proptest! {
        #[test]
        fn delays_stay_within_their_bounds(
            attempt in any::<u32>(),
            elapsed in 0u64..200,
            retry_after in proptest::option::of(any::<u64>()),
            jitter in any::<f64>(),
        ) {
            let retry_after = retry_after.map(Duration::from_secs);
            let elapsed = Duration::from_secs(elapsed);
            let failed = FailedAttempt { attempt, elapsed, retry_after, jitter };
            let rule = backoff();
            if let Some(delay) = rule.delay(failed) {
                prop_assert!(attempt < rule.max_attempts);
                prop_assert!(elapsed + delay <= rule.max_elapsed);
                prop_assert!(delay >= retry_after.unwrap_or(rule.first / 2));
                let most = retry_after.map_or(rule.cap, |wait| (wait + rule.first).max(rule.cap));
                prop_assert!(delay <= most);
            }
        }
    }
}
