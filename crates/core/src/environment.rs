use std::fmt;

/// The deployment environment of an agent: `beta`, `prod`, … Invariant: 1 to 40 of `a-z 0-9 - _`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Environment(Box<str>);

/// The environment of traces that name none.
pub const DEFAULT_ENVIRONMENT: &str = "default";

const MAX_CHARS: usize = 40;
/// Internal environments of evaluators (Ratchet's and Langfuse's); only these may have the reserved
/// prefix.
const INTERNAL: [&str; 3] = [JUDGE_ENVIRONMENT, "langfuse-prompt-experiment", "langfuse-code-eval"];
/// The environment of the calls of judges.
const JUDGE_ENVIRONMENT: &str = "langfuse-llm-as-a-judge";
/// The environment of experiments that an SDK runs.
const EXPERIMENT_ENVIRONMENT: &str = "sdk-experiment";

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

    /// Returns the environments of judges and experiments, which evaluators, samples and metrics
    /// leave out.
    pub const fn internal() -> [&'static str; 4] {
        [INTERNAL[0], INTERNAL[1], INTERNAL[2], EXPERIMENT_ENVIRONMENT]
    }

    /// Returns the environment of the calls of judges.
    pub fn of_judges() -> Self {
        Self(JUDGE_ENVIRONMENT.into())
    }

    /// Returns whether its traces are production traffic: neither calls of judges nor experiments,
    /// which evaluators, samples and metrics leave out.
    pub fn is_production_traffic(&self) -> bool {
        !Self::internal().contains(&self.as_str())
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
    fn calls_of_judges_and_experiments_are_no_production_traffic() {
        assert!(!Environment::of_judges().is_production_traffic());
        assert!(!Environment::normalise("sdk-experiment").is_production_traffic());
        assert!(!Environment::normalise("langfuse-prompt-experiment").is_production_traffic());
        assert!(Environment::default().is_production_traffic());
        assert!(Environment::normalise("beta").is_production_traffic());
    }

    #[test]
    fn invalid_names_fall_back() {
        for sent in ["", "eu west", "prod!", "langfuse-", "日本"] {
            check(sent, "default");
        }
    }
}
