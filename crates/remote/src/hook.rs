//! Telling other programs of a report: Slack, and anyone who takes a signed POST.

/// What Slack understands.
mod slack;

use std::time::Duration;

use ratchet_core::report::WeekReport;
use ratchet_core::secret::Secret;
use reqwest::{StatusCode, Url};
use ring::hmac;
use serde_json::{Value, json};

use crate::http;
use crate::langfuse::client::pace::Pace;

/// How often something is sent before it is given up.
const TRIES: u32 = 4;
/// How long the first wait between tries is; each is twice the one before.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Holds when a message was signed, in seconds since 1970.
pub const TIME_HEADER: &str = "x-ratchet-timestamp";
/// Holds the signature: `sha256=` and the HMAC of time, a full stop and the body.
pub const SIGNATURE_HEADER: &str = "x-ratchet-signature";

/// Someone who is told.
#[derive(Clone, Debug)]
pub enum Hook {
    /// A channel of Slack, by the address of its webhook.
    Slack(Secret),
    /// Anyone, by address, with the secret that messages are signed with.
    Signed(Secret, Secret),
}

/// Why someone could not be told.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The address is none.
    #[error("the address of the {0} is not an http or https address")]
    Address(&'static str),
    /// Nobody answered.
    #[error("the {0} cannot be reached")]
    Unreachable(&'static str, #[source] reqwest::Error),
    /// They answered, but would not have it.
    #[error("the {0} answered {1}")]
    Refused(&'static str, StatusCode),
}

impl Hook {
    const fn name(&self) -> &'static str {
        match self {
            Self::Slack(_) => "Slack webhook",
            Self::Signed(..) => "webhook",
        }
    }

    /// Tells of a report. Tries again where that may help: when nobody answers, when they are
    /// busy, when they are broken.
    ///
    /// # Errors
    /// Says who could not be told; never the address, which is a secret.
    pub async fn tell(&self, report: &WeekReport, pace: &dyn Pace) -> Result<(), HookError> {
        let name = self.name();
        let (Self::Slack(address) | Self::Signed(address, _)) = self;
        let url = Url::parse(address.expose()).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or(HookError::Address(name))?;
        let client = http::toward(&url).timeout(PATIENCE).build();
        let client = client.map_err(|error| HookError::Unreachable(name, error.without_url()))?;
        let body = self.body(report).to_string();
        let mut wait = FIRST_WAIT;
        let mut tries = 1;
        loop {
            let answer = self.request(&client, &url, &body, pace).send().await;
            let failed = match answer {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => HookError::Refused(name, answer.status()),
                Err(error) => HookError::Unreachable(name, error.without_url()),
            };
            if tries == TRIES || !failed.may_pass() {
                return Err(failed);
            }
            pace.pause(wait.mul_f64(1.0 + pace.chance() / 4.0)).await;
            wait *= 2;
            tries += 1;
        }
    }

    fn body(&self, report: &WeekReport) -> Value {
        match self {
            Self::Slack(_) => slack::message(report),
            Self::Signed(..) => json!({ "event": "week.report", "report": report }),
        }
    }

    fn request(
        &self,
        client: &reqwest::Client,
        url: &Url,
        body: &str,
        pace: &dyn Pace,
    ) -> reqwest::RequestBuilder {
        let request = client
            .post(url.clone())
            .header("content-type", "application/json")
            .body(body.to_owned());
        match self {
            Self::Slack(_) => request,
            Self::Signed(_, secret) => {
                let time = (pace.now().millis() / 1_000).to_string();
                let signature = signature(secret, &time, body);
                request.header(TIME_HEADER, time).header(SIGNATURE_HEADER, signature)
            }
        }
    }
}

impl HookError {
    fn may_pass(&self) -> bool {
        match self {
            Self::Address(_) => false,
            Self::Unreachable(..) => true,
            Self::Refused(_, status) => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
        }
    }
}

/// The signature of a message: whoever has the secret can tell that we sent it, and when.
pub fn signature(secret: &Secret, time: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let tag = hmac::sign(&key, format!("{time}.{body}").as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_hmacs_of_time_and_body() {
        // Reference: printf '17.{}' | openssl dgst -sha256 -hmac key
        let signature = signature(&Secret::new("key".to_owned()), "17", "{}");
        assert_eq!(signature.len(), "sha256=".len() + 64);
        assert_eq!(signature, REFERENCE);
    }

    const REFERENCE: &str =
        "sha256=e66392eac42eafc68c35a01c712811e016386c12456975fc3af80c9268568e3a";
}
