//! Which failed requests are retried, and when. Pure: randomness is an argument.

use std::time::Duration;

use ratchet_core::backoff::{Backoff, FailedAttempt};

/// Backoff of requests to a Langfuse server.
pub const CLIENT_BACKOFF: Backoff = Backoff {
    max_attempts: 6,
    first: Duration::from_millis(500),
    cap: Duration::from_secs(30),
    max_retry_after: Duration::from_secs(120),
    max_elapsed: Duration::MAX,
};

/// Whether a request may be sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotency {
    Idempotent,
    NotIdempotent,
}

/// The failure of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptError {
    NotSent,
    /// Sent, without a response.
    NoAnswer,
    /// An error status.
    Status {
        /// For example 429 or 503.
        code: u16,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
}

impl AttemptError {
    /// Returns the delay before the next attempt; `None` to give up.
    ///
    /// ```
    /// use ratchet_remote::langfuse::client::retry::{AttemptError, CLIENT_BACKOFF, Idempotency};
    ///
    /// let busy = AttemptError::Status { code: 429, retry_after: None };
    /// let wait = busy.delay(Idempotency::Idempotent, (1, 0.5), &CLIENT_BACKOFF);
    /// assert_eq!(wait.unwrap().as_millis(), 375);
    /// ```
    pub fn delay(
        self,
        repeat: Idempotency,
        (attempt, jitter): (u32, f64),
        backoff: &Backoff,
    ) -> Option<Duration> {
        if !may_repeat(self, repeat) {
            return None;
        }
        let retry_after = match self {
            Self::Status { retry_after, .. } => retry_after,
            Self::NotSent | Self::NoAnswer => None,
        };
        backoff.delay(FailedAttempt { attempt, elapsed: Duration::ZERO, retry_after, jitter })
    }
}

fn may_repeat(error: AttemptError, repeat: Idempotency) -> bool {
    match (error, repeat) {
        // These statuses mean that nothing was done.
        (AttemptError::NotSent | AttemptError::Status { code: 429 | 503, .. }, _) => true,
        (AttemptError::NoAnswer, Idempotency::Idempotent) => true,
        (AttemptError::Status { code, .. }, Idempotency::Idempotent) => code == 408 || code >= 500,
        (AttemptError::NoAnswer | AttemptError::Status { .. }, Idempotency::NotIdempotent) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: AttemptError, repeat: Idempotency, expected_millis: Option<u128>) {
        let wait = error.delay(repeat, (1, 0.5), &CLIENT_BACKOFF);
        assert_eq!(wait.map(|wait| wait.as_millis()), expected_millis);
    }

    const fn status(code: u16) -> AttemptError {
        AttemptError::Status { code, retry_after: None }
    }

    #[test]
    fn a_refusal_is_final() {
        for code in [400, 401, 403, 404, 409, 413, 422] {
            check(status(code), Idempotency::Idempotent, None);
        }
        check(status(500), Idempotency::Idempotent, Some(375));
        check(AttemptError::NoAnswer, Idempotency::Idempotent, Some(375));
    }

    #[test]
    fn non_idempotent_requests_are_retried_only_if_nothing_was_done() {
        check(AttemptError::NotSent, Idempotency::NotIdempotent, Some(375));
        check(status(429), Idempotency::NotIdempotent, Some(375));
        check(status(503), Idempotency::NotIdempotent, Some(375));
        check(status(500), Idempotency::NotIdempotent, None);
        check(AttemptError::NoAnswer, Idempotency::NotIdempotent, None);
    }

    #[test]
    fn retry_after_is_honoured() {
        let retry_after = Some(Duration::from_secs(40));
        let busy = AttemptError::Status { code: 429, retry_after };
        check(busy, Idempotency::Idempotent, Some(40_250));
    }
}
