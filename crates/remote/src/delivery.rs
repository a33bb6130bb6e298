use std::error::Error;
use std::time::Duration;

use ratchet_core::backoff::parse_retry_after;
use ratchet_core::chat::delivery_retry::DeliveryResult;
use ratchet_core::outbound::{OutboundPolicy, OutboundRefused};
use ratchet_core::time::Timestamp;
use reqwest::header::RETRY_AFTER;
use reqwest::{StatusCode, Url};

use crate::http;

/// An outgoing HTTP message.
#[derive(Clone, Debug)]
pub struct OutgoingMessage {
    pub url: Url,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// The response to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryResponse {
    pub status: StatusCode,
    pub retry_after: Option<Duration>,
}

impl OutgoingMessage {
    /// Sends a message once. Redirects are not followed: the message is for the configured receiver
    /// only, and a redirect could reach an internal address.
    ///
    /// # Errors
    /// Fails if the policy forbids the receiver's address, and on timeouts and connection errors.
    /// The error contains only the host of the URL: the rest is a secret.
    pub async fn deliver(
        self,
        policy: &OutboundPolicy,
        patience: Duration,
        now: Timestamp,
    ) -> Result<DeliveryResponse, DeliveryError> {
        http::check_resolved(&self.url, policy).await?;
        let client = http::client_for_entered_url(&self.url, policy)?.timeout(patience).build();
        let client = client.map_err(DeliveryError::unsent)?;
        let headers = self.headers.into_iter();
        let request = headers
            .fold(client.post(self.url).body(self.body), |request, (name, value)| {
                request.header(name, value)
            });
        let answer = request.send().await.map_err(DeliveryError::unsent)?;
        let retry_after = answer.headers().get(RETRY_AFTER).and_then(|text| text.to_str().ok());
        let retry_after = retry_after.and_then(|text| parse_retry_after(text, Some(now)));
        Ok(DeliveryResponse { status: answer.status(), retry_after })
    }
}

/// Error of sending a message.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The policy forbids the receiver's address.
    #[error(transparent)]
    Refused(#[from] OutboundRefused),
    #[error("no response")]
    Unreachable(#[source] reqwest::Error),
}

impl DeliveryError {
    fn unsent(error: reqwest::Error) -> Self {
        let first: &(dyn Error + 'static) = &error;
        let mut causes = std::iter::successors(Some(first), |cause| (*cause).source());
        let refused = causes.find_map(|cause| cause.downcast_ref::<OutboundRefused>()).cloned();
        refused.map_or_else(|| Self::Unreachable(error.without_url()), Self::Refused)
    }
}

impl From<DeliveryResponse> for DeliveryResult {
    fn from(receipt: DeliveryResponse) -> Self {
        let DeliveryResponse { status, retry_after } = receipt;
        Self::Answered { status: status.as_u16(), retry_after }
    }
}

/// Parses a receiver URL: `https` or `http`.
pub fn address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}
