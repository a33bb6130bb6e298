use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::key::{Algorithm, KeySet};

/// Allowed clock skew.
const LEEWAY_SECONDS: f64 = 60.0;

/// The verified claims of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The provider's permanent user id.
    pub subject: String,
    /// The email address, if the provider has verified it.
    pub verified_email: Option<String>,
    pub name: Option<String>,
}

/// Error of verifying an ID token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not a JWT.
    #[error("it is malformed")]
    Malformed,
    /// An unsupported algorithm, or none.
    #[error("it is signed neither with RS256 nor with ES256")]
    Algorithm,
    #[error("its key is not among the provider's")]
    UnknownKey,
    #[error("its signature is wrong")]
    Signature,
    /// Another issuer.
    #[error("it is by another issuer")]
    Issuer,
    /// Another audience.
    #[error("it is for another audience")]
    Audience,
    #[error("it has expired")]
    Expired,
    /// Not valid yet.
    #[error("it is not valid yet")]
    Future,
    /// The nonce of another login attempt.
    #[error("it is for another sign-in")]
    Nonce,
    #[error("it has no subject")]
    Subject,
}

/// The expected claims.
#[derive(Debug)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a Secret,
    pub(super) now: Timestamp,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
}

#[derive(Deserialize)]
struct Body {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: f64,
    iat: Option<f64>,
    nonce: Option<String>,
    email: Option<String>,
    #[serde(default, deserialize_with = "bool_or_text")]
    email_verified: bool,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Some providers send booleans as strings.
fn bool_or_text<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    let value = serde_json::Value::deserialize(value)?;
    Ok(value == true || value == "true")
}

/// Verifies a token: first its signature, then its claims.
pub(super) fn check(
    token: &str,
    keys: &KeySet,
    expected: &Expected<'_>,
) -> Result<Claims, TokenFault> {
    let (message, signature) = token.rsplit_once('.').ok_or(TokenFault::Malformed)?;
    let (header, body) = message.split_once('.').ok_or(TokenFault::Malformed)?;
    let header: Header = read(header)?;
    let algorithm = Algorithm::parse(&header.alg).ok_or(TokenFault::Algorithm)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenFault::Malformed)?;
    keys.verify(algorithm, header.kid.as_deref(), message.as_bytes(), &signature)?;
    let body: Body = read(body)?;
    believe(&body, expected)?;
    let verified_email = body.email.filter(|_| body.email_verified);
    Ok(Claims { subject: body.sub, verified_email, name: body.name })
}

fn read<T: DeserializeOwned>(part: &str) -> Result<T, TokenFault> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFault::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenFault::Malformed)
}

fn believe(body: &Body, expected: &Expected<'_>) -> Result<(), TokenFault> {
    let is_ours = |audience: &str| audience == expected.client_id;
    let is_for_us = match &body.aud {
        Audience::One(one) => is_ours(one),
        Audience::Many(many) => many.iter().any(|one| is_ours(one)),
    };
    let is_for_others = matches!(&body.aud, Audience::Many(many) if many.len() > 1);
    // A token with several audiences must name the authorized party.
    let is_authorized_party = body.azp.as_deref().map_or(!is_for_others, is_ours);
    let now = expected.now.millis() as f64 / 1e3;
    if body.iss != expected.issuer {
        return Err(TokenFault::Issuer);
    }
    if !is_for_us || !is_authorized_party {
        return Err(TokenFault::Audience);
    }
    if body.exp + LEEWAY_SECONDS <= now {
        return Err(TokenFault::Expired);
    }
    if body.iat.is_some_and(|since| since - LEEWAY_SECONDS > now) {
        return Err(TokenFault::Future);
    }
    if body.nonce.as_deref() != Some(expected.nonce.expose()) {
        return Err(TokenFault::Nonce);
    }
    if body.sub.is_empty() || body.sub.len() > 255 {
        return Err(TokenFault::Subject);
    }
    Ok(())
}
