use std::fmt;

/// The deployment environment of an agent: `beta`, `prod`, … Invariant: 1 to 40 of `a-z 0-9 - _`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Environment(Box<str>);

/// The environment of traces that name none.
pub const DEFAULT_ENVIRONMENT: &str = "default";

const MAX_CHARS: usize = 40;
/// Internal environments of evaluators (Ratchet's and Langfuse's); only these may have the reserved
/// prefix.
const INTERNAL: [&str; 3] =
    ["langfuse-llm-as-a-judge", "langfuse-prompt-experiment", "langfuse-code-eval"];
/// The environment that SDKs give to traces of experiments.
const SDK_EXPERIMENT: &str = "sdk-experiment";

impl Environment {
    /// Normalises a client's value: lowercased, without the reserved prefix, cut to 40 characters,
    /// and `default` when the result is still not a valid name.
    pub fn normalise(text: &str) -> Self {
        let lower = text.to_lowercase();
        if INTERNAL.contains(&lower.as_str()) {
            return Self(lower.into());
        }
        let mut bare = lower.as_str();
        // Repeatedly, so that normalisation is idempotent.
        while let Some(rest) = bare.strip_prefix("langfuse-").or(bare.strip_prefix("langfuse_")) {
            bare = rest;
        }
        let name: String = bare.chars().take(MAX_CHARS).collect();
        let is_valid = !name.is_empty() && name.chars().all(is_environment_char);
        if is_valid { Self(name.into()) } else { Self::default() }
    }

    /// Returns the environments of evaluators and experiments: no users are in them.
    pub const fn internal() -> [&'static str; 4] {
        [INTERNAL[0], INTERNAL[1], INTERNAL[2], SDK_EXPERIMENT]
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_environment_char(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9' | '-' | '_')
}

impl Default for Environment {
    fn default() -> Self {
        Self(DEFAULT_ENVIRONMENT.into())
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sent: &str, expected: &str) {
        assert_eq!(Environment::normalise(sent).as_str(), expected);
    }

    #[test]
    fn names_are_tidied() {
        check("Production", "production");
        check("langfuse-eu", "eu");
        check("langfuse_eu", "eu");
        check("langfuse-langfuse_eu", "eu");
        check(&"x".repeat(50), &"x".repeat(40));
    }

    #[test]
    fn internal_environments_keep_their_prefix() {
        check("langfuse-llm-as-a-judge", "langfuse-llm-as-a-judge");
    }

    #[test]
    fn invalid_names_fall_back() {
        for sent in ["", "eu west", "prod!", "langfuse-", "日本"] {
            check(sent, "default");
        }
    }
}
