use std::time::Duration;

use tracing::warn;
use uuid::Uuid;

use crate::error::ModelError;

/// The retry policy of model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Total attempts, the first included.
    pub attempts: u32,
    /// The delay after the first failure; doubled after each further one.
    pub first: Duration,
    /// The maximum delay, unless the provider asks for more.
    pub longest: Duration,
    /// The maximum total delay of one request, `Retry-After` included.
    pub together: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 6,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            together: Duration::from_secs(300),
        }
    }
}

impl Retries {
    /// Returns a policy without retries.
    pub fn none() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// Returns the delay after so many failures; `None` to give up.
    ///
    /// Honours `Retry-After`. `chance`, from 0 to 1, adds jitter, so that requests that failed
    /// together are spread.
    pub fn pause(
        &self,
        failures: u32,
        retry_after: Option<Duration>,
        paused: Duration,
        chance: f64,
    ) -> Option<Duration> {
        if failures >= self.attempts {
            return None;
        }
        let doubled = 2u32.saturating_pow(failures.saturating_sub(1));
        let backoff = self.first.saturating_mul(doubled).min(self.longest);
        let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 1.0 };
        let pause = match retry_after {
            Some(retry_after) => retry_after.saturating_add(self.first.mul_f64(chance)),
            None => backoff.mul_f64(0.5 + chance / 2.0),
        };
        (paused.saturating_add(pause) <= self.together).then_some(pause)
    }
}

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
        retries: &Retries,
        failure: ModelError,
    ) -> Result<(), ModelError> {
        self.failures += 1;
        let pause = retries.pause(self.failures, failure.retry_after(), self.paused, chance());
        let Some(pause) = pause.filter(|_| failure.is_passing()) else { return Err(failure) };
        warn!(failures = self.failures, %failure, "the provider does not answer: asking again");
        tokio::time::sleep(pause).await;
        self.paused += pause;
        Ok(())
    }
}

/// Returns a random number from 0 to 1. The only source of randomness in this crate.
pub(crate) fn chance() -> f64 {
    let (number, ..) = Uuid::new_v4().as_fields();
    f64::from(number) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pauses_are_bounded(
            failures in 0u32..2_000,
            retry_after in proptest::option::of(0u64..1_000_000),
            paused in 0u64..1_000,
            chance in any::<f64>(),
        ) {
            let retries = Retries::default();
            let retry_after = retry_after.map(Duration::from_secs);
            let paused = Duration::from_secs(paused);
            let pause = retries.pause(failures, retry_after, paused, chance);
            let has_time = retry_after.is_none() && paused + retries.longest <= retries.together;
            prop_assert!(pause.is_some() || !has_time || failures >= retries.attempts);
            if let Some(pause) = pause {
                prop_assert!(paused + pause <= retries.together);
                prop_assert!(retry_after.is_none_or(|retry_after| pause >= retry_after));
                prop_assert!(retry_after.is_some() || pause <= retries.longest);
            }
        }
    }

    #[test]
    fn pauses_double() {
        let retries = Retries::default();
        let pause = |failures| retries.pause(failures, None, Duration::ZERO, 1.0).unwrap();
        assert_eq!([pause(1), pause(2), pause(3)].map(|pause| pause.as_secs()), [1, 2, 4]);
        assert_eq!(retries.pause(6, None, Duration::ZERO, 1.0), None);
    }

    #[test]
    fn a_provider_that_asks_for_too_much_is_given_up() {
        let retry_after = Some(Duration::from_secs(3_600));
        assert_eq!(Retries::default().pause(1, retry_after, Duration::ZERO, 0.0), None);
    }
}
