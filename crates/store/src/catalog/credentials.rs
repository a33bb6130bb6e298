//! Random keys and the hashes under which the catalog stores secrets.

use ratchet_core::secret::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::KeyPair;

/// A new random key pair, in the form that SDKs expect.
pub(super) fn random_pair() -> KeyPair {
    KeyPair {
        public_key: format!("pk-lf-{}", Uuid::new_v4()),
        secret_key: Secret::new(format!("sk-lf-{}", Uuid::new_v4())),
    }
}

/// Secrets are long and random, so a fast hash is enough; the salt keeps equal ones apart.
pub(super) fn hash_secret(salt: &str, secret: &str) -> String {
    let digest = Sha256::new().chain_update(salt).chain_update([0]).chain_update(secret).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a secret matches a hash. Constant time.
pub(super) fn matches(salt: &str, secret: &str, expected: &str) -> bool {
    hash_secret(salt, secret).as_bytes().ct_eq(expected.as_bytes()).into()
}

/// The hash of a token. Tokens are random and unique, so that it needs no salt and can be looked
/// up.
pub(super) fn hash_token(token: &Secret) -> String {
    hash_secret("", token.expose())
}

/// The last four characters of a secret that is long enough to show them.
pub(super) fn hint(secret: &str) -> String {
    let shown = if secret.chars().count() >= 16 { 4 } else { 0 };
    let skipped = secret.chars().count() - shown;
    secret.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_matches_only_its_own_hash() {
        let hash = hash_secret("salt", "sk-lf-1");
        assert!(matches("salt", "sk-lf-1", &hash));
        assert!(!matches("salt", "sk-lf-2", &hash));
        assert!(!matches("pepper", "sk-lf-1", &hash));
        assert!(!matches("", "", ""));
    }

    #[test]
    fn a_short_secret_gives_no_hint() {
        assert_eq!(hint("sk-lf-0123456789abcdef"), "cdef");
        assert_eq!(hint("hunter2"), "");
    }
}
