use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use super::token::TokenFault;

/// Accepted signature algorithms. Anything else, `none` in particular, is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

impl Algorithm {
    /// Parses the `alg` value of a token.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            _ => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
        }
    }
}

/// The provider's signing keys (JWKS).
#[derive(Clone, Debug, Deserialize)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

/// A JWK as received; its fields depend on the key type.
#[derive(Clone, Debug, Deserialize)]
struct Key {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Verifies a signature with the key of the given id, or any key without one.
    pub(super) fn verify(
        &self,
        algorithm: Algorithm,
        named: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), TokenFault> {
        let is_named = |key: &&Key| named.is_none_or(|named| key.kid.as_deref() == Some(named));
        let mut fitting =
            self.keys.iter().filter(is_named).filter(|key| key.fits(algorithm)).peekable();
        if fitting.peek().is_none() {
            return Err(TokenFault::UnknownKey);
        }
        let is_right = fitting.any(|key| key.signed(algorithm, message, signature).is_some());
        if is_right { Ok(()) } else { Err(TokenFault::Signature) }
    }
}

impl Key {
    /// The algorithm is determined by the key, not by the token.
    fn fits(&self, algorithm: Algorithm) -> bool {
        let is_of_type = match algorithm {
            Algorithm::Rs256 => self.kty == "RSA",
            Algorithm::Es256 => self.kty == "EC" && self.crv.as_deref() == Some("P-256"),
        };
        is_of_type
            && self.alg.as_deref().is_none_or(|alg| alg == algorithm.as_str())
            && self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
    }

    fn signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Option<()> {
        let bytes = |part: &Option<String>| URL_SAFE_NO_PAD.decode(part.as_ref()?).ok();
        match algorithm {
            Algorithm::Rs256 => {
                let (n, e) = (bytes(&self.n)?, bytes(&self.e)?);
                let key = RsaPublicKeyComponents { n: unpadded(&n), e: unpadded(&e) };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).ok()
            }
            Algorithm::Es256 => {
                let point = [&[4], bytes(&self.x)?.as_slice(), bytes(&self.y)?.as_slice()].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).ok()
            }
        }
    }
}

/// Strips leading zeros, which some providers add.
fn unpadded(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}
