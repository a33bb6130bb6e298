//! Whether to ask again, and when. Pure: the caller brings the clock and the dice.

use std::time::Duration;

use ratchet_core::time::Timestamp;

/// How often to ask and how long to wait in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryRule {
    /// Attempts in all, the first included.
    pub attempts: u32,
    /// The wait after the first attempt; it doubles from there.
    pub first_wait: Duration,
    /// The longest wait of our own choosing.
    pub longest_wait: Duration,
    /// The longest wait that a server may ask for; beyond it, waiting is for the caller to decide.
    pub longest_asked: Duration,
}

impl Default for RetryRule {
    fn default() -> Self {
        Self {
            attempts: 6,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            longest_asked: Duration::from_secs(120),
        }
    }
}

/// Whether a request may reach the server twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The second changes nothing that the first did not.
    Harmless,
    Doubles,
}

/// What went wrong with one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptError {
    /// It never left.
    NotSent,
    /// It left, and no answer came back.
    NoAnswer,
    /// It was answered with a status that is no success.
    Status {
        /// 429, 503 …
        code: u16,
        /// How long the server asks to wait.
        asked: Option<Duration>,
    },
}

impl RetryRule {
    /// How long to wait before asking again; `None` to give up.
    ///
    /// `chance` spreads clients that failed together: the wait is half certain and half luck.
    /// A server that says how long to wait is believed, and never asked earlier.
    ///
    /// ```
    /// use ratchet_remote::langfuse::client::retry::{Repeat, RetryRule, AttemptError};
    ///
    /// let busy = AttemptError::Status { code: 429, asked: None };
    /// let wait = RetryRule::default().wait(busy, Repeat::Harmless, 1, 0.5);
    /// assert_eq!(wait.unwrap().as_millis(), 375);
    /// ```
    pub fn wait(
        &self,
        trouble: AttemptError,
        repeat: Repeat,
        attempt: u32,
        chance: f64,
    ) -> Option<Duration> {
        if attempt >= self.attempts || !may_repeat(trouble, repeat) {
            return None;
        }
        let doubled = 2u32.saturating_pow(attempt.saturating_sub(1));
        let full = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
        let chance = if chance.is_nan() { 0.0 } else { chance.clamp(0.0, 1.0) };
        let own = (full / 2) + (full / 2).mul_f64(chance);
        match trouble {
            AttemptError::Status { asked: Some(asked), .. } if asked > self.longest_asked => None,
            AttemptError::Status { asked: Some(asked), .. } => Some(asked.max(own)),
            AttemptError::Status { asked: None, .. }
            | AttemptError::NotSent
            | AttemptError::NoAnswer => Some(own),
        }
    }
}

fn may_repeat(trouble: AttemptError, repeat: Repeat) -> bool {
    match (trouble, repeat) {
        // These say that nothing was done.
        (AttemptError::NotSent | AttemptError::Status { code: 429 | 503, .. }, _) => true,
        (AttemptError::NoAnswer, Repeat::Harmless) => true,
        (AttemptError::Status { code, .. }, Repeat::Harmless) => code == 408 || code >= 500,
        (AttemptError::NoAnswer | AttemptError::Status { .. }, Repeat::Doubles) => false,
    }
}

/// Reads `Retry-After`: seconds, or the time of day to come back at.
pub fn asked_wait(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let nanos = Timestamp::parse_http_date(header)?.since(now);
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> RetryRule {
        RetryRule {
            attempts: 4,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(3),
            longest_asked: Duration::from_secs(60),
        }
    }

    #[track_caller]
    fn check(trouble: AttemptError, repeat: Repeat, attempt: u32, expected_millis: Option<u128>) {
        let wait = rule().wait(trouble, repeat, attempt, 0.5);
        assert_eq!(wait.map(|wait| wait.as_millis()), expected_millis);
    }

    const fn status(code: u16) -> AttemptError {
        AttemptError::Status { code, asked: None }
    }

    #[test]
    fn waits_double_up_to_a_bound_and_attempts_end() {
        check(AttemptError::NotSent, Repeat::Harmless, 1, Some(750));
        check(AttemptError::NoAnswer, Repeat::Harmless, 2, Some(1_500));
        check(status(500), Repeat::Harmless, 3, Some(2_250));
        check(status(500), Repeat::Harmless, 4, None);
        check(status(500), Repeat::Harmless, u32::MAX, None);
    }

    #[test]
    fn a_refusal_is_final() {
        for code in [400, 401, 403, 404, 409, 413, 422] {
            check(status(code), Repeat::Harmless, 1, None);
        }
    }

    #[test]
    fn what_would_double_is_repeated_only_if_nothing_was_done() {
        check(AttemptError::NotSent, Repeat::Doubles, 1, Some(750));
        check(status(429), Repeat::Doubles, 1, Some(750));
        check(status(503), Repeat::Doubles, 1, Some(750));
        check(status(500), Repeat::Doubles, 1, None);
        check(AttemptError::NoAnswer, Repeat::Doubles, 1, None);
    }

    #[test]
    fn a_server_is_believed_unless_it_asks_for_too_much() {
        let busy =
            |seconds| AttemptError::Status { code: 429, asked: Some(Duration::from_secs(seconds)) };
        check(busy(0), Repeat::Harmless, 1, Some(750));
        check(busy(40), Repeat::Harmless, 1, Some(40_000));
        check(busy(61), Repeat::Harmless, 1, None);
    }

    #[test]
    fn chance_never_leaves_the_bounds() {
        for chance in [-1.0, 0.0, 1.0, 7.0, f64::NAN] {
            let wait = rule().wait(AttemptError::NotSent, Repeat::Harmless, 1, chance);
            assert!((500..=1_000).contains(&wait.unwrap().as_millis()), "{chance}");
        }
    }

    #[test]
    fn the_header_holds_seconds_or_a_date() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
        let seconds = |header| asked_wait(header, now).map(|wait| wait.as_secs());
        assert_eq!(seconds(" 7 "), Some(7));
        assert_eq!(seconds("Sun, 15 Nov 2026 12:00:30 GMT"), Some(30));
        assert_eq!(seconds("Sun, 15 Nov 2026 11:00:00 GMT"), Some(0));
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("-1"), None);
    }
}
