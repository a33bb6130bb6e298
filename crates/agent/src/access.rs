use std::collections::BTreeMap;

use ratchet_core::secret::Secret;

/// HTTP access to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAccess {
    /// Base URL without the path of an operation: `https://api.anthropic.com`.
    pub base_url: String,
    /// API key; some self-hosted servers need none.
    pub key: Option<Secret>,
    /// Extra headers of every request.
    pub headers: BTreeMap<String, Secret>,
}

impl ModelAccess {
    /// Creates access with a key and no extra headers.
    pub fn new(base_url: impl Into<String>, key: Secret) -> Self {
        Self { base_url: base_url.into(), key: Some(key), headers: BTreeMap::new() }
    }

    /// Redacts the key and the header values from a text.
    pub(crate) fn redact_secrets(&self, text: &str) -> String {
        redact_secrets(text, self.key.iter().chain(self.headers.values()))
    }
}

/// Redacts secrets from a text; very short ones are skipped, because they would match everywhere.
pub(crate) fn redact_secrets<'a>(text: &str, secrets: impl Iterator<Item = &'a Secret>) -> String {
    secrets
        .filter(|secret| secret.expose().len() >= 8)
        .fold(text.to_owned(), |text, secret| text.replace(secret.expose(), "***"))
}
