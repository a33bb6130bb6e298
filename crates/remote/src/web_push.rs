//! Web push: notifications to browsers through push services (RFC 8030).
//!
//! Messages are encrypted for the browser (RFC 8291) and authenticated to the push service with
//! VAPID (RFC 8292). The push service cannot read them.

/// VAPID authentication.
mod vapid;
/// Message encryption.
mod seal;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use reqwest::Url;
use ring::rand::SystemRandom;

use crate::delivery::OutgoingMessage;
use crate::http;
pub use seal::{MAX_BYTES, seal};
pub use vapid::VapidKey;

/// Length of a public key: an uncompressed point.
pub const POINT_BYTES: usize = 65;
/// Length of the authentication secret.
pub const AUTH_BYTES: usize = 16;
/// TTL of a message at the push service, in seconds.
const TTL_SECONDS: u32 = 24 * 60 * 60;
const MAX_ADDRESS: usize = 2_000;

/// The push subscription of a browser.
#[derive(Clone)]
pub struct PushTarget {
    endpoint: Url,
    point: [u8; POINT_BYTES],
    auth: [u8; AUTH_BYTES],
}

/// Error of a push message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// An invalid endpoint URL.
    #[error("endpoint: an https address of a push service")]
    Endpoint,
    /// An invalid public key.
    #[error("p256dh: a public key of P-256, in base64 for URLs")]
    Point,
    /// An invalid authentication secret.
    #[error("auth: 16 bytes, in base64 for URLs")]
    Auth,
    /// The message is too long.
    #[error("the message is longer than push services take")]
    Length,
    /// An invalid VAPID key, or no randomness.
    #[error("the keys of this server cannot be used")]
    Keys,
}

impl PushTarget {
    /// Parses the push subscription of a browser.
    ///
    /// # Errors
    /// Names the invalid field. TLS is required, except on this machine.
    pub fn read(endpoint: &str, p256dh: &str, auth: &str) -> Result<Self, PushError> {
        let url = Url::parse(endpoint).ok().filter(|_| endpoint.len() <= MAX_ADDRESS);
        let url = url.filter(|url| {
            let is_safe =
                url.scheme() == "https" || (url.scheme() == "http" && http::is_loopback(url));
            is_safe && url.has_host() && url.username().is_empty() && url.password().is_none()
        });
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let point = bytes(p256dh).and_then(|point| <[u8; POINT_BYTES]>::try_from(point).ok());
        let auth = bytes(auth).and_then(|auth| auth.try_into().ok());
        let target = Self {
            endpoint: url.ok_or(PushError::Endpoint)?,
            point: point.filter(|point| point[0] == 4).ok_or(PushError::Point)?,
            auth: auth.ok_or(PushError::Auth)?,
        };
        // Encrypting a test message detects a point that is not on the curve.
        seal(&target.point, &target.auth, b"", &SystemRandom::new()).map_err(
            |error| match error {
                PushError::Keys => PushError::Point,
                other => other,
            },
        )?;
        Ok(target)
    }

    /// Creates an encrypted message for this browser.
    ///
    /// # Errors
    /// Fails if the message is too long.
    pub fn message(
        &self,
        key: &VapidKey,
        (kind, message): (NotificationKind, &str),
        now: Timestamp,
    ) -> Result<OutgoingMessage, PushError> {
        let random = SystemRandom::new();
        let body = seal(&self.point, &self.auth, message.as_bytes(), &random)?;
        let urgency = match kind {
            NotificationKind::PersonNeeded => "high",
            NotificationKind::TurnEnded
            | NotificationKind::ChatFailed
            | NotificationKind::WeekReport
            | NotificationKind::ImprovementReport
            | NotificationKind::Proposal
            | NotificationKind::FailurePattern
            | NotificationKind::ReviewDrawn
            | NotificationKind::ReviewAlert
            | NotificationKind::GateBlocked
            | NotificationKind::Promotion
            | NotificationKind::Test => "normal",
        };
        let headers = vec![
            ("content-type", "application/octet-stream".to_owned()),
            ("content-encoding", "aes128gcm".to_owned()),
            ("ttl", TTL_SECONDS.to_string()),
            ("urgency", urgency.to_owned()),
            ("authorization", key.authorization(&self.endpoint, now)?),
        ];
        Ok(OutgoingMessage { url: self.endpoint.clone(), headers, body })
    }

    /// Returns the URL of the push service.
    pub fn url(&self) -> &Url {
        &self.endpoint
    }

    /// Returns the endpoint for storage.
    pub fn endpoint(&self) -> Secret {
        Secret::new(self.endpoint.as_str())
    }
}

impl std::fmt::Debug for PushTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushTarget").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    #[test]
    fn only_what_browsers_give_is_taken() {
        let read = |endpoint, point, auth| PushTarget::read(endpoint, point, auth).err();
        let there = "https://push.example.net/push/x";
        assert_eq!(read(there, POINT, AUTH), None);
        assert_eq!(read("http://127.0.0.1:9/x", POINT, AUTH), None);
        for odd in ["http://push.example.net/x", "ftp://x/y", "x", "https://u:p@push.example.net/"]
        {
            assert_eq!(read(odd, POINT, AUTH), Some(PushError::Endpoint), "{odd}");
        }
        let off = POINT.replace("BCVx", "BCVy");
        for odd in [off.as_str(), "", "AAAA", AUTH] {
            assert_eq!(read(there, odd, AUTH), Some(PushError::Point), "{odd}");
        }
        assert_eq!(read(there, POINT, "BTBZ"), Some(PushError::Auth));
    }
}
