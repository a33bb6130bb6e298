//! Webhooks: Slack messages and signed POST requests.
//!
//! Requests are signed as in Standard Webhooks, for which receivers have libraries: an HMAC of
//! message id, time and body, joined by full stops.

mod slack;
/// A weekly document in Slack.
mod report_blocks;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::improve::report::digest::ReportDigest;
use ratchet_core::message::Message;
use ratchet_core::outbound::{OutboundPolicy, OutboundRefused};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use reqwest::{StatusCode, Url};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Deserialize as _;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::backoff_clock::BackoffClock;
use crate::delivery;
use crate::delivery::{DeliveryError, OutgoingMessage};

/// Backoff of a message that somebody waits for.
const BACKOFF: Backoff = Backoff {
    max_attempts: 4,
    first: Duration::from_secs(2),
    cap: Duration::from_secs(10),
    max_retry_after: Duration::from_secs(60),
    max_elapsed: Duration::MAX,
};
/// Request timeout.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The header of the message id, which is the same for retries (idempotency key).
pub const ID_HEADER: &str = "webhook-id";
/// The header of the signing time, in seconds since 1970.
pub const TIME_HEADER: &str = "webhook-timestamp";
/// The header of the signature: `v1,` and the HMAC in base64.
pub const SIGNATURE_HEADER: &str = "webhook-signature";
/// The prefix of generated secrets; the rest is the key in base64.
pub const SECRET_PREFIX: &str = "whsec_";
/// Length of a generated key.
const KEY_BYTES: usize = 32;

/// A webhook receiver.
#[derive(Clone, Debug)]
pub enum Webhook {
    /// A Slack channel, by its webhook URL.
    Slack(Secret),
    /// A URL, and the signing secret.
    Signed(Secret, Secret),
}

/// Error of a webhook.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// An invalid URL.
    #[error("the address of the {0} is not an http or https address")]
    Address(&'static str),
    /// The outbound policy forbids the address.
    #[error("the {0} was not notified: {1}")]
    Forbidden(&'static str, OutboundRefused),
    #[error("the {0} cannot be reached")]
    Unreachable(&'static str, #[source] reqwest::Error),
    /// The receiver responded with an error status.
    #[error("the {0} answered {1}")]
    Refused(&'static str, StatusCode),
}

impl Webhook {
    const fn name(&self) -> &'static str {
        match self {
            Self::Slack(_) => "Slack webhook",
            Self::Signed(..) => "webhook",
        }
    }

    /// Sends a message. Retries on timeouts, rate limits and server errors.
    ///
    /// # Errors
    /// Names the receiver; never the URL, which is a secret.
    pub async fn send(
        &self,
        message: &Message,
        policy: &OutboundPolicy,
        pace: &dyn BackoffClock,
    ) -> Result<(), WebhookError> {
        self.send_body(&self.body(message), (policy, pace)).await
    }

    /// Sends a weekly document, with the same retries.
    ///
    /// # Errors
    /// Names the receiver; never the URL, which is a secret.
    pub async fn send_report(
        &self,
        digest: &ReportDigest,
        policy: &OutboundPolicy,
        pace: &dyn BackoffClock,
    ) -> Result<(), WebhookError> {
        let body = match self {
            Self::Slack(_) => slack_report(digest),
            Self::Signed(..) => json!({
                "event": "improvement.report",
                "title": digest.title(),
                "text": digest.headline(),
                "url": digest.url,
                "report": digest,
            }),
        };
        self.send_body(&body, (policy, pace)).await
    }

    async fn send_body(
        &self,
        body: &Value,
        (policy, pace): (&OutboundPolicy, &dyn BackoffClock),
    ) -> Result<(), WebhookError> {
        let name = self.name();
        let (Self::Slack(address) | Self::Signed(address, _)) = self;
        let url = delivery::address(address.expose()).ok_or(WebhookError::Address(name))?;
        let (id, body) = (Uuid::new_v4().to_string(), body.to_string());
        let mut attempt = 1;
        loop {
            let now = pace.now();
            let letter = self.request(url.clone(), (&id, &body), now);
            let (failed, retry_after) = match letter.deliver(policy, TIMEOUT, now).await {
                Ok(receipt) if receipt.status.is_success() => return Ok(()),
                Ok(receipt) => (WebhookError::Refused(name, receipt.status), receipt.retry_after),
                Err(DeliveryError::Refused(why)) => (WebhookError::Forbidden(name, why), None),
                Err(DeliveryError::Unreachable(error)) => {
                    (WebhookError::Unreachable(name, error), None)
                }
            };
            let (elapsed, jitter) = (Duration::ZERO, pace.jitter());
            let delay = BACKOFF.delay(FailedAttempt { attempt, elapsed, retry_after, jitter });
            let Some(delay) = delay.filter(|_| failed.may_pass()) else { return Err(failed) };
            pace.pause(delay).await;
            attempt += 1;
        }
    }

    fn body(&self, message: &Message) -> Value {
        match self {
            Self::Slack(_) => slack::blocks(message),
            Self::Signed(..) => signed_body(message),
        }
    }

    fn request(&self, url: Url, (id, body): (&str, &str), now: Timestamp) -> OutgoingMessage {
        match self {
            Self::Slack(_) => OutgoingMessage {
                url,
                headers: vec![("content-type", "application/json".to_owned())],
                body: body.into(),
            },
            Self::Signed(_, secret) => signed(url, secret, (id, body), now),
        }
    }
}

/// The body of a signed message: what people read, and the data for programs beside it.
fn signed_body(message: &Message) -> Value {
    let mut body = json!({
        "event": message.event,
        "title": message.title,
        "text": message.text,
        "url": message.link,
    });
    if let (Some(body), Some(data)) = (body.as_object_mut(), message.data.as_object()) {
        body.extend(data.clone());
    }
    body
}

/// Creates a Slack message from the payload of a notification.
pub fn slack_notice(url: Url, payload: &str) -> OutgoingMessage {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    let report = ReportDigest::deserialize(&payload["data"]["report"]);
    let body = match report {
        Ok(report) => slack_report(&report).to_string(),
        Err(_) => slack::blocks(&slack::notice(&payload)).to_string(),
    };
    let headers = vec![("content-type", "application/json".to_owned())];
    OutgoingMessage { url, headers, body: body.into() }
}

/// Returns the message that the payload of a notification is about.
pub fn notice_message(payload: &str) -> Message {
    slack::notice(&serde_json::from_str(payload).unwrap_or_default())
}

/// Returns the blocks of a weekly document in Slack.
pub fn slack_report(digest: &ReportDigest) -> Value {
    report_blocks::blocks(digest)
}

/// Creates a signed message.
pub fn signed(
    url: Url,
    secret: &Secret,
    (id, body): (&str, &str),
    now: Timestamp,
) -> OutgoingMessage {
    let time = (now.millis() / 1_000).to_string();
    let signature = signature(secret, (id, &time), body);
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        (ID_HEADER, id.to_owned()),
        (TIME_HEADER, time),
        (SIGNATURE_HEADER, signature),
    ];
    OutgoingMessage { url, headers, body: body.into() }
}

impl WebhookError {
    fn may_pass(&self) -> bool {
        match self {
            Self::Address(_) | Self::Forbidden(..) => false,
            Self::Unreachable(..) => true,
            Self::Refused(_, status) => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
        }
    }
}

/// Returns the signature of a message.
pub fn signature(secret: &Secret, (id, time): (&str, &str), body: &str) -> String {
    let text = secret.expose();
    // A secret chosen by the user is used as the key unchanged.
    let decoded = text.strip_prefix(SECRET_PREFIX).and_then(|key| STANDARD.decode(key).ok());
    let key = decoded.as_deref().unwrap_or(text.as_bytes());
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let tag = hmac::sign(&key, format!("{id}.{time}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}

/// Generates a signing secret; `None` if the system has no randomness.
pub fn new_secret() -> Option<Secret> {
    let mut key = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut key).ok()?;
    Some(Secret::new(format!("{SECRET_PREFIX}{}", STANDARD.encode(key))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        // The example of the specification's reference libraries.
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signature = signature(&secret, (id, "1614265330"), r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_custom_secret_is_used_as_the_key_unchanged() {
        // Reference: printf 'a.17.{}' | openssl dgst -sha256 -hmac key -binary | base64
        let signature = signature(&Secret::new("key"), ("a", "17"), "{}");
        assert_eq!(signature, REFERENCE);
    }

    #[test]
    fn new_secrets_differ() {
        assert_ne!(new_secret(), new_secret());
        assert!(new_secret().unwrap().expose().starts_with(SECRET_PREFIX));
    }

    const REFERENCE: &str = "v1,wlpekMxoKUyMIAYrQ6VKW67+P4di2MzLqw+87ZEl2T0=";
}
