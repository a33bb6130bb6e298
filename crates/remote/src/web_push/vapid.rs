use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use reqwest::Url;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::PushError;

/// Lifetime of a VAPID token, in seconds; a day at most.
const TOKEN_SECONDS: i64 = 12 * 60 * 60;

/// The VAPID key pair of a server (RFC 8292).
#[derive(Clone)]
pub struct VapidKey {
    pair: Arc<EcdsaKeyPair>,
    /// The operator's contact for push services.
    contact: Option<String>,
}

impl VapidKey {
    /// Generates a key, to be stored. With a new one, browsers must subscribe again.
    ///
    /// # Errors
    /// Fails if the system has no randomness.
    pub fn make() -> Result<Secret, PushError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let document = document.map_err(|_| PushError::Keys)?;
        Ok(Secret::new(URL_SAFE_NO_PAD.encode(document)))
    }

    /// Parses a stored key. The contact is an `https` or `mailto` URL.
    ///
    /// # Errors
    /// Fails on an invalid key.
    pub fn read(stored: &Secret, contact: Option<String>) -> Result<Self, PushError> {
        let bytes = URL_SAFE_NO_PAD.decode(stored.expose()).map_err(|_| PushError::Keys)?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &random);
        Ok(Self { pair: Arc::new(pair.map_err(|_| PushError::Keys)?), contact })
    }

    /// Returns the public key in the format of browsers.
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key())
    }

    /// Returns the `Authorization` header for a push service.
    pub(super) fn authorization(
        &self,
        endpoint: &Url,
        now: Timestamp,
    ) -> Result<String, PushError> {
        let mut claims = json!({
            "aud": endpoint.origin().ascii_serialization(),
            "exp": now.millis() / 1_000 + TOKEN_SECONDS,
        });
        if let Some(contact) = &self.contact {
            claims["sub"] = contact.as_str().into();
        }
        let header = URL_SAFE_NO_PAD.encode(json!({"typ": "JWT", "alg": "ES256"}).to_string());
        let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
        let signed_text = format!("{header}.{claims}");
        let signature = self.pair.sign(&SystemRandom::new(), signed_text.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(signature.map_err(|_| PushError::Keys)?);
        Ok(format!("vapid t={signed_text}.{signature}, k={}", self.public()))
    }
}

impl std::fmt::Debug for VapidKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VapidKey").field("public", &self.public()).finish_non_exhaustive()
    }
}
