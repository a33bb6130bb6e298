//! Values that this process knows to be secret, such as API keys in its environment. They are
//! redacted in all stored text of every project, with or without rules: an agent that prints its
//! environment must not put a key on a page.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The replacement of a known secret.
pub const SECRET_REPLACEMENT: &str = "[secret]";

/// The minimum length of a value: shorter ones may be ordinary words.
const MIN_CHARS: usize = 16;
/// The minimum number of distinct characters: a row of stars is not a secret.
const MIN_DISTINCT: usize = 6;
/// The maximum length of a value.
const MAX_BYTES: usize = 8_192;
/// Length of the fragment that is searched first.
const FRAGMENT_BYTES: usize = 24;
/// Length of a prefix that may be emitted from a stream before the rest is known.
const UNSURE_BYTES: usize = 3;

/// A set of known secret values.
#[derive(Clone, Default)]
pub struct KnownSecrets(Option<Arc<[KnownSecret]>>);

struct KnownSecret {
    value: String,
    /// A fragment that is the same in every encoding of a text: letters, digits, dashes.
    fragment: String,
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} known secrets", self.all().len())
    }
}

impl KnownSecrets {
    /// Collects the values of environment variables whose names suggest secrets.
    ///
    /// ```
    /// use ratchet_core::record::redact::KnownSecrets;
    ///
    /// let key = ("OPENAI_API_KEY".to_owned(), "sk-proj-0123456789abcdef".to_owned());
    /// let secrets = KnownSecrets::from_environment([key]);
    /// assert_eq!(secrets.text("key: sk-proj-0123456789abcdef."), "key: [secret].");
    /// ```
    pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let secret = variables.into_iter().filter(|(name, _)| is_secret_name(name));
        Self::new(secret.map(|(_, value)| value))
    }

    /// Collects values; those too short or too uniform to distinguish from words are skipped.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values = values.into_iter().map(|value| value.trim().to_owned());
        let mut values: Vec<String> = values.filter(|value| is_telling(value)).collect();
        // Longest first: one may contain another.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        let known =
            values.into_iter().map(|value| KnownSecret { fragment: fragment_of(&value), value });
        let known: Arc<[KnownSecret]> = known.collect();
        Self(Some(known).filter(|known| !known.is_empty()))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Redacts the secrets in a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for known in self.all() {
            if clean.contains(&known.fragment) && clean.contains(&known.value) {
                clean = Cow::Owned(clean.replace(&known.value, SECRET_REPLACEMENT));
            }
        }
        clean
    }

    /// Returns whether a text may contain one, in any encoding. Fast, and nearly always false.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        self.all().iter().any(|known| text.contains(&known.fragment))
    }

    /// Returns whether one spans the emitted text and the next part, or starts at its end; then how
    /// many bytes of the emitted text belong to it.
    pub(crate) fn overlap(&self, emitted: &str, next: &str) -> Option<usize> {
        self.all().iter().filter_map(|known| known.overlap(emitted, next)).max()
    }

    fn all(&self) -> &[KnownSecret] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl KnownSecret {
    fn overlap(&self, emitted: &str, next: &str) -> Option<usize> {
        let value = self.value.as_str();
        let max_bytes = emitted.len().min(value.len());
        let across = (1..=max_bytes).rev().find(|bytes| {
            let split = value.split_at_checked(*bytes);
            split.is_some_and(|(prefix, rest)| {
                let goes_on =
                    next.starts_with(rest) || (!next.is_empty() && rest.starts_with(next));
                let is_sure = prefix.len() + next.len() > UNSURE_BYTES;
                emitted.ends_with(prefix) && goes_on && is_sure
            })
        });
        // One may span the boundary and another be within.
        let is_within = next.contains(value) || begins_at_end(value, next);
        across.or(is_within.then_some(0))
    }
}

/// Returns whether a text ends with a prefix of a value that is long enough to be conclusive.
fn begins_at_end(value: &str, text: &str) -> bool {
    let max_bytes = text.len().min(value.len());
    (UNSURE_BYTES + 1..=max_bytes)
        .any(|bytes| value.get(..bytes).is_some_and(|prefix| text.ends_with(prefix)))
}

/// Returns whether a variable name suggests a secret.
fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 8] = [
        "_API_KEY",
        "_APIKEY",
        "_TOKEN",
        "_ACCESS_KEY",
        "_PRIVATE_KEY",
        "_PASSWORD",
        "_CREDENTIAL",
        "_CREDENTIALS",
    ];
    let name = name.to_ascii_uppercase();
    // These name a file, an address or a count.
    let points_elsewhere = ["_FILE", "_PATH", "_URL", "_URI", "_ARN", "_NAME", "_ID"];
    if points_elsewhere.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    name.contains("SECRET")
        || name.contains("BEARER_TOKEN")
        || ENDS.iter().any(|end| name.ends_with(end))
}

fn is_telling(value: &str) -> bool {
    let mut distinct: Vec<char> = value.chars().collect();
    let chars = distinct.len();
    distinct.sort_unstable();
    distinct.dedup();
    // A path is not a secret; the file's content is.
    let is_path = value.starts_with('/') && !value.contains('+') && !value.contains('=');
    chars >= MIN_CHARS && distinct.len() >= MIN_DISTINCT && value.len() <= MAX_BYTES && !is_path
}

/// Returns the longest fragment of a value that no encoder changes, shortened for a fast search.
fn fragment_of(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let longest = value.split(|c| !is_plain(c)).max_by_key(|part| part.len()).unwrap_or_default();
    longest.get(..FRAGMENT_BYTES).unwrap_or(longest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-ant-api03-AbCd/0123456789+xyz==";

    fn secrets() -> KnownSecrets {
        KnownSecrets::new([KEY.to_owned()])
    }

    fn from(name: &str, value: &str) -> bool {
        !KnownSecrets::from_environment([(name.to_owned(), value.to_owned())]).is_empty()
    }

    #[test]
    fn names_tell_what_is_secret() {
        for name in [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_BEARER_TOKEN_BEDROCK",
            "RATCHET_SECRET_KEY",
            "CLIENT_SECRET_V2",
            "DB_PASSWORD",
            "openai_api_key",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ] {
            assert!(from(name, KEY), "{name}");
        }
        for name in ["PATH", "HOME", "AWS_WEB_IDENTITY_TOKEN_FILE", "MAX_TOKENS", "SECRET_PATH"] {
            assert!(!from(name, KEY), "{name}");
        }
    }

    #[test]
    fn short_values_are_not_treated_as_secrets() {
        for value in ["", "true", "fifteen-letters", "****************", "/run/secrets/the-api-key"]
        {
            assert!(!from("X_API_KEY", value), "{value}");
        }
    }

    #[test]
    fn a_secret_is_found_in_text_and_in_any_encoding() {
        let secrets = secrets();
        assert_eq!(secrets.text(&format!("a {KEY} b {KEY}")), "a [secret] b [secret]");
        assert_eq!(secrets.text("nothing here"), "nothing here");
        let escaped = KEY.replace('/', "\\/").replace('+', "\\u002b");
        assert!(secrets.may_be_in(&escaped));
        assert!(!secrets.may_be_in("sk-ant-api03"));
        assert!(!format!("{secrets:?}").contains("sk-"));
    }

    #[test]
    fn a_secret_is_detected_across_any_split() {
        let secrets = secrets();
        for cut in 1..KEY.len() {
            let (emitted, next) = KEY.split_at(cut);
            let found = secrets.overlap(&format!("key: {emitted}"), next);
            assert_eq!(found, Some(cut), "{emitted}|{next}");
        }
        assert_eq!(secrets.overlap("", "sk-a"), Some(0));
        assert_eq!(secrets.overlap("words s", "k-"), None, "three letters tell nothing");
        assert_eq!(secrets.overlap("words s", "k-a"), Some(1));
        assert_eq!(secrets.overlap("sk-", "y is blue"), None);
        assert_eq!(secrets.overlap("plain", " words"), None);
    }
}
