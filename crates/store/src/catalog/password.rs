use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use ratchet_core::secret::Secret;

use crate::blocking::BlockingPool;
use crate::{StoreError, StoreResult};

/// Hashes and verifies passwords with a slow hash, because people's passwords are short. The work
/// runs on blocking threads outside any transaction, with a concurrency limit: each hash takes 19
/// MB and a core.
#[derive(Clone, Debug)]
pub(super) struct Passwords(BlockingPool);

/// A hash to verify against when there is no such user, so that timing reveals nothing.
static DUMMY_HASH: LazyLock<Option<String>> = LazyLock::new(|| {
    let nobodys = uuid::Uuid::new_v4().to_string();
    hash(&Secret::new(nobodys)).ok()
});

impl Default for Passwords {
    fn default() -> Self {
        Self(BlockingPool::per_core())
    }
}

impl Passwords {
    pub(super) async fn hash(&self, password: Secret) -> StoreResult<String> {
        self.0.run(move || hash(&password)).await?
    }

    /// Whether a password matches a hash. Takes the same time if there is no hash.
    pub(super) async fn verify(
        &self,
        password: Secret,
        known: Option<String>,
    ) -> StoreResult<bool> {
        let verify = move || {
            let is_known = known.is_some();
            let hash = known.as_ref().or(DUMMY_HASH.as_ref());
            let is_right = hash.is_some_and(|hash| {
                let bytes = password.expose().as_bytes();
                Argon2::default().verify_password(bytes, hash.as_str()).is_ok()
            });
            is_known && is_right
        };
        self.0.run(verify).await
    }
}

fn hash(password: &Secret) -> StoreResult<String> {
    let hash = Argon2::default().hash_password(password.expose().as_bytes());
    // Fails only if the system has no randomness, or on gigabytes of password.
    let hash =
        hash.map_err(|why| StoreError::BadQuery(format!("cannot hash a password: {why}")))?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_password_that_was_hashed_is_right() {
        let passwords = Passwords::default();
        let hash = passwords.hash(Secret::new("correct horse")).await.unwrap();
        assert!(hash.starts_with("$argon2id$") && !hash.contains("horse"));
        let check = async |typed: &str, known: Option<&str>| {
            let known = known.map(str::to_owned);
            passwords.verify(Secret::new(typed), known).await.unwrap()
        };
        assert!(check("correct horse", Some(&hash)).await);
        assert!(!check("correct hors", Some(&hash)).await);
        assert!(!check("correct horse", None).await);
        assert!(!check("", Some("")).await);
    }
}
