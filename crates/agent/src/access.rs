use std::collections::BTreeMap;

use ratchet_core::secret::Secret;

/// How a provider over HTTP is reached: where, and with what key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAccess {
    /// Where it is, without the path of a single operation: `https://api.anthropic.com`.
    pub base_url: String,
    /// What opens it; some servers in the house want none.
    pub key: Option<Secret>,
    /// Headers that go with every question.
    pub headers: BTreeMap<String, Secret>,
}

impl ModelAccess {
    /// Access with a key and nothing else.
    pub fn new(base_url: impl Into<String>, key: Secret) -> Self {
        Self { base_url: base_url.into(), key: Some(key), headers: BTreeMap::new() }
    }

    /// A text without the secrets, should someone have put them there.
    pub(crate) fn scrub(&self, text: &str) -> String {
        scrub(text, self.key.iter().chain(self.headers.values()))
    }
}

/// A text without secrets; those too short to be any would only make it hard to read.
pub(crate) fn scrub<'a>(text: &str, secrets: impl Iterator<Item = &'a Secret>) -> String {
    secrets
        .filter(|secret| secret.expose().len() >= 8)
        .fold(text.to_owned(), |text, secret| text.replace(secret.expose(), "***"))
}
