use std::time::Duration;

/// Type of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverKind {
    /// A program that accepts a signed POST.
    Webhook,
    /// A browser, by Web Push.
    Browser,
}

impl ReceiverKind {
    pub const ALL: [Self; 2] = [Self::Webhook, Self::Browser];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Browser => "browser",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Result of a delivery attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryResult {
    Answered {
        status: u16,
        /// `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// No response, in time or at all.
    Nobody,
}

/// Backoff of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryPatience {
    /// First delay; each is twice the one before.
    pub first: Duration,
    /// Maximum delay.
    pub longest: Duration,
    /// Maximum age of a notification.
    pub whole: Duration,
}

impl Default for DeliveryPatience {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(5),
            longest: Duration::from_secs(60 * 60),
            whole: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// Decision after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    Delivered,
    /// Retry after a delay.
    Again(Duration),
    /// Give up: it cannot be delivered.
    GivenUp,
    /// Give up for good: the receiver no longer exists.
    Gone,
}

/// An attempt, and those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    pub receiver: ReceiverKind,
    /// Number of attempts, including this one.
    pub tries: u32,
    /// Age of the notification.
    pub age: Duration,
    /// Jitter from 0 to 1.
    pub chance: f64,
}

impl Attempt {
    /// Decides what follows an attempt.
    ///
    /// The owner of a webhook may fix whatever refuses it, so every response but *gone* is retried.
    /// A push service that rejects a message will always reject it.
    pub fn next_step(&self, reached: DeliveryResult, patience: &DeliveryPatience) -> RetryDecision {
        let DeliveryResult::Answered { status, retry_after } = reached else {
            return self.again(None, patience);
        };
        match (self.receiver, status) {
            (_, 200..=299) => RetryDecision::Delivered,
            (_, 410) | (ReceiverKind::Browser, 404) => RetryDecision::Gone,
            (ReceiverKind::Browser, 400..=499) if !matches!(status, 408 | 425 | 429) => {
                RetryDecision::GivenUp
            }
            _ => self.again(retry_after, patience),
        }
    }

    fn again(&self, wanted: Option<Duration>, patience: &DeliveryPatience) -> RetryDecision {
        let doublings = self.tries.saturating_sub(1).min(31);
        let pause = patience.first.saturating_mul(1 << doublings).min(patience.longest);
        let spread = pause.mul_f64(self.chance.clamp(0.0, 1.0) / 4.0);
        let pause = pause.saturating_add(spread).max(wanted.unwrap_or_default());
        match self.age.saturating_add(pause) <= patience.whole {
            true => RetryDecision::Again(pause),
            false => RetryDecision::GivenUp,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[track_caller]
    fn check(receiver: ReceiverKind, status: u16, expected: RetryDecision) {
        let attempt = Attempt { receiver, tries: 1, age: seconds(0), chance: 0.0 };
        let reached = DeliveryResult::Answered { status, retry_after: None };
        assert_eq!(attempt.next_step(reached, &DeliveryPatience::default()), expected);
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_is_gone_is_not() {
        let again = RetryDecision::Again(seconds(5));
        for (status, webhook, browser) in [
            (204, RetryDecision::Delivered, RetryDecision::Delivered),
            (201, RetryDecision::Delivered, RetryDecision::Delivered),
            (301, again, again),
            (400, again, RetryDecision::GivenUp),
            (404, again, RetryDecision::Gone),
            (410, RetryDecision::Gone, RetryDecision::Gone),
            (413, again, RetryDecision::GivenUp),
            (429, again, again),
            (500, again, again),
        ] {
            check(ReceiverKind::Webhook, status, webhook);
            check(ReceiverKind::Browser, status, browser);
        }
    }

    #[test]
    fn pauses_double_and_whoever_asks_for_more_gets_it() {
        let patience = DeliveryPatience::default();
        let after = |tries, reached| {
            let (receiver, age) = (ReceiverKind::Webhook, seconds(0));
            Attempt { receiver, tries, age, chance: 0.0 }.next_step(reached, &patience)
        };
        assert_eq!(after(3, DeliveryResult::Nobody), RetryDecision::Again(seconds(20)));
        assert_eq!(after(99, DeliveryResult::Nobody), RetryDecision::Again(seconds(3_600)));
        let busy =
            |wait| DeliveryResult::Answered { status: 429, retry_after: Some(seconds(wait)) };
        assert_eq!(after(1, busy(77)), RetryDecision::Again(seconds(77)));
        assert_eq!(after(1, busy(1)), RetryDecision::Again(seconds(5)));
        assert_eq!(after(1, busy(25 * 3_600)), RetryDecision::GivenUp);
    }

    proptest! {
        #[test]
        fn nothing_is_tried_for_ever(
            tries in 1u32.., age in 0u64..200_000, chance in 0.0f64..1.0,
            wait in proptest::option::of(0u64..), status in 100u16..600,
        ) {
            let patience = DeliveryPatience::default();
            let receiver = ReceiverKind::Webhook;
            let attempt = Attempt { receiver, tries, age: seconds(age), chance };
            let retry_after = wait.map(seconds);
            let step = attempt.next_step(DeliveryResult::Answered { status, retry_after }, &patience);
            if let RetryDecision::Again(pause) = step {
                prop_assert!(attempt.age + pause <= patience.whole && pause >= patience.first);
                prop_assert!(retry_after.is_none_or(|wait| pause >= wait));
            }
        }
    }
}
