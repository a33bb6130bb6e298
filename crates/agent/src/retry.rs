use std::time::Duration;

use ratchet_core::backoff::{self, Backoff, FailedAttempt};
use tracing::warn;
use uuid::Uuid;

use crate::error::ModelError;

/// Backoff of model calls.
pub const MODEL_BACKOFF: Backoff = Backoff {
    max_attempts: 6,
    first: Duration::from_secs(1),
    cap: Duration::from_secs(60),
    max_retry_after: Duration::from_secs(300),
    max_elapsed: Duration::from_secs(300),
};

/// The attempts and delays of one request so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RetryState {
    failures: u32,
    paused: Duration,
}

impl RetryState {
    /// Waits after a transient failure; returns any other error, and the last one when attempts are
    /// used up.
    pub(crate) async fn pause(
        &mut self,
        backoff: &Backoff,
        failure: ModelError,
    ) -> Result<(), ModelError> {
        self.failures += 1;
        let pause = backoff.delay(failed(self.failures, &failure, self.paused));
        let Some(pause) = pause.filter(|_| failure.is_passing()) else { return Err(failure) };
        warn!(failures = self.failures, %failure, "the provider does not answer: asking again");
        tokio::time::sleep(pause).await;
        self.paused += pause;
        Ok(())
    }
}

/// Returns what the backoff needs to know of a failure. Time is counted in delays: the calls
/// themselves have limits of their own.
pub(crate) fn failed(attempt: u32, failure: &ModelError, paused: Duration) -> FailedAttempt {
    FailedAttempt { attempt, elapsed: paused, retry_after: failure.retry_after(), jitter: jitter() }
}

/// Returns random jitter. The only source of randomness in this crate.
pub(crate) fn jitter() -> f64 {
    let (random, ..) = Uuid::new_v4().as_fields();
    backoff::jitter(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_asks_for_too_much_is_given_up() {
        let busy =
            |seconds| ModelError::RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
        let delay = |seconds| MODEL_BACKOFF.delay(failed(1, &busy(seconds), Duration::ZERO));
        assert!(delay(100).is_some_and(|delay| delay >= Duration::from_secs(100)));
        assert_eq!(delay(3_600), None);
    }
}
