//! Telling browsers, by way of the push services of their makers (RFC 8030).
//!
//! What is told is encrypted for the browser alone (RFC 8291), and signed so that the service knows
//! who sends (RFC 8292). Whoever carries a message cannot read it.

/// Who we are to push services.
mod vapid;
/// What only the browser can read.
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

/// Bytes of a public key: a point, not compressed.
pub const POINT_BYTES: usize = 65;
/// Bytes of what a browser shares with us.
pub const AUTH_BYTES: usize = 16;
/// How long a push service keeps a message for a browser that is off, in seconds.
const KEPT_SECONDS: u32 = 24 * 60 * 60;
const MAX_ADDRESS: usize = 2_000;

/// A browser that wants to be told.
#[derive(Clone)]
pub struct PushTarget {
    endpoint: Url,
    point: [u8; POINT_BYTES],
    auth: [u8; AUTH_BYTES],
}

/// Why a browser cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// The address is none that push services have.
    #[error("endpoint: an https address of a push service")]
    Endpoint,
    /// The key is none.
    #[error("p256dh: a public key of P-256, in base64 for URLs")]
    Point,
    /// The shared secret is none.
    #[error("auth: 16 bytes, in base64 for URLs")]
    Auth,
    /// There is more to tell than fits into a message.
    #[error("the message is longer than push services take")]
    Length,
    /// The key of this server is none, or there is no randomness.
    #[error("the keys of this server cannot be used")]
    Keys,
}

impl PushTarget {
    /// Reads what a browser gives when it subscribes.
    ///
    /// # Errors
    /// Says which part makes no sense. Only what is on this machine may go without TLS.
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
        // A point that is not on the curve is found out by using it.
        seal(&target.point, &target.auth, b"", &SystemRandom::new()).map_err(
            |error| match error {
                PushError::Keys => PushError::Point,
                other => other,
            },
        )?;
        Ok(target)
    }

    /// Writes a message that only this browser can read.
    ///
    /// # Errors
    /// Fails if the message is too long.
    pub fn letter(
        &self,
        key: &VapidKey,
        (kind, message): (NotificationKind, &str),
        now: Timestamp,
    ) -> Result<OutgoingMessage, PushError> {
        let random = SystemRandom::new();
        let body = seal(&self.point, &self.auth, message.as_bytes(), &random)?;
        let urgency = match kind {
            NotificationKind::PersonNeeded => "high",
            NotificationKind::TurnEnded | NotificationKind::ChatFailed | NotificationKind::Test => {
                "normal"
            }
        };
        let headers = vec![
            ("content-type", "application/octet-stream".to_owned()),
            ("content-encoding", "aes128gcm".to_owned()),
            ("ttl", KEPT_SECONDS.to_string()),
            ("urgency", urgency.to_owned()),
            ("authorization", key.authorization(&self.endpoint, now)?),
        ];
        Ok(OutgoingMessage { url: self.endpoint.clone(), headers, body })
    }

    /// The address of the push service.
    pub fn url(&self) -> &Url {
        &self.endpoint
    }

    /// The address, for whoever keeps it.
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
