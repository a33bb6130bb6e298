use std::time::Duration;

use crate::backoff::{Backoff, FailedAttempt};

/// Type of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverKind {
    /// A program that accepts a signed POST.
    Webhook,
    /// A Slack channel, by its incoming webhook.
    Slack,
    /// A browser, by Web Push.
    Browser,
    /// A person, by SMTP. Its statuses are those of SMTP.
    Email,
    /// The issues of a repository on GitHub.
    Github,
    /// The issues of a project in Jira.
    Jira,
}

impl ReceiverKind {
    pub const ALL: [Self; 6] =
        [Self::Webhook, Self::Slack, Self::Browser, Self::Email, Self::Github, Self::Jira];
    /// Receivers that make a task of each proposal, and get nothing else.
    pub const TRACKERS: [Self; 2] = [Self::Github, Self::Jira];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Browser => "browser",
            Self::Email => "email",
            Self::Github => "github",
            Self::Jira => "jira",
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
        retry_after: Option<Duration>,
    },
    /// No response, in time or at all.
    Nobody,
}

/// Backoff of deliveries: for a day, at most once an hour.
pub const DELIVERY_BACKOFF: Backoff = Backoff {
    // More than fit into a day.
    max_attempts: 100,
    first: Duration::from_secs(5),
    cap: Duration::from_secs(60 * 60),
    max_retry_after: DAY,
    max_elapsed: DAY,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

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

impl DeliveryResult {
    /// Decides what follows an attempt.
    ///
    /// The owner of a webhook may fix whatever refuses it, so every response but *gone* is retried.
    /// A push service that rejects a message will always reject it.
    pub fn next_step(
        self,
        receiver: ReceiverKind,
        attempt: FailedAttempt,
        backoff: &Backoff,
    ) -> RetryDecision {
        let retry_after = match (receiver, self) {
            (_, Self::Answered { status: 200..=299, .. }) => return RetryDecision::Delivered,
            (_, Self::Answered { status: 410, .. })
            | (ReceiverKind::Browser, Self::Answered { status: 404, .. }) => {
                return RetryDecision::Gone;
            }
            (ReceiverKind::Browser, Self::Answered { status: status @ 400..=499, .. })
                if !matches!(status, 408 | 425 | 429) =>
            {
                return RetryDecision::GivenUp;
            }
            // The server will never take it: no such mailbox, or a message it rejects. Its operator may
            // correct settings of the login meanwhile.
            (ReceiverKind::Email, Self::Answered { status: status @ 500..=599, .. })
                if !matches!(status, 530 | 534 | 535 | 538) =>
            {
                return RetryDecision::GivenUp;
            }
            (_, Self::Answered { retry_after, .. }) => retry_after,
            (_, Self::Nobody) => None,
        };
        let delay = backoff.delay(FailedAttempt { retry_after, ..attempt });
        delay.map_or(RetryDecision::GivenUp, RetryDecision::Again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn first() -> FailedAttempt {
        FailedAttempt { attempt: 1, jitter: 1.0, ..FailedAttempt::default() }
    }

    #[track_caller]
    fn check(receiver: ReceiverKind, status: u16, expected: RetryDecision) {
        let reached = DeliveryResult::Answered { status, retry_after: None };
        assert_eq!(reached.next_step(receiver, first(), &DELIVERY_BACKOFF), expected);
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
    fn a_mail_server_that_refuses_for_good_is_not_asked_again() {
        for (status, step) in [
            (250, RetryDecision::Delivered),
            (421, RetryDecision::Again(seconds(5))),
            (451, RetryDecision::Again(seconds(5))),
            (535, RetryDecision::Again(seconds(5))),
            (550, RetryDecision::GivenUp),
        ] {
            check(ReceiverKind::Email, status, step);
        }
    }

    #[test]
    fn a_receiver_that_asks_for_more_time_gets_it_for_a_day() {
        let after = |wait| {
            let busy = DeliveryResult::Answered { status: 429, retry_after: Some(seconds(wait)) };
            let attempt = FailedAttempt { jitter: 0.0, ..first() };
            busy.next_step(ReceiverKind::Webhook, attempt, &DELIVERY_BACKOFF)
        };
        assert_eq!(after(77), RetryDecision::Again(seconds(77)));
        assert_eq!(after(25 * 3_600), RetryDecision::GivenUp);
        let old = FailedAttempt { elapsed: seconds(24 * 3_600), ..first() };
        let step = DeliveryResult::Nobody.next_step(ReceiverKind::Webhook, old, &DELIVERY_BACKOFF);
        assert_eq!(step, RetryDecision::GivenUp);
    }
}
