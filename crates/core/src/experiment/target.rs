//! Target files: how an agent is called, in TOML.

/// The kinds of targets and their fields.
mod kind;
/// Reading of a target file.
mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use file::InvalidTarget;
pub use kind::{
    AgentCoreArnSpec, AgentCoreSpec, AwsKeys, ClaudeSpec, CommandSpec, HttpSpec, PromptSpec,
    TargetKind,
};

/// How long a call may take, unless the target says otherwise.
const DEFAULT_TIMEOUT_SECONDS: u64 = 120;
/// The most bytes of an answer, unless the target says otherwise.
const DEFAULT_OUTPUT_BYTES: u64 = 1_000_000;
/// Calls at a time, unless the target says otherwise.
const DEFAULT_CONCURRENCY: u32 = 4;
/// Further calls after an infrastructure fault, unless the target says otherwise.
const DEFAULT_RETRIES: u32 = 2;

/// An agent that can be called, and the limits of its calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    pub kind: TargetKind,
    #[serde(flatten)]
    pub options: TargetOptions,
}

/// What all kinds of targets have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetOptions {
    /// The name in lists; the file's name by default.
    pub name: Option<String>,
    /// The version of the agent, such as a commit. Answers are cached only for a named version.
    pub version: Option<TargetValue>,
    /// How long a call may take.
    #[serde(default = "default_timeout")]
    pub timeout_seconds: u64,
    /// The most bytes of an answer.
    #[serde(default = "default_output")]
    pub max_output_bytes: u64,
    /// Calls at a time.
    #[serde(default = "default_concurrency")]
    pub concurrency: u32,
    /// Calls a minute.
    pub requests_per_minute: Option<u32>,
    /// Further calls after an infrastructure fault.
    #[serde(default = "default_retries")]
    pub retries: u32,
    /// Variables in every environment, for programs and for references of other fields.
    #[serde(default)]
    pub variables: BTreeMap<String, TargetValue>,
    /// Environments by name, such as `beta` and `prod`.
    #[serde(default)]
    pub environments: BTreeMap<String, TargetEnvironment>,
}

/// What differs in one environment of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetEnvironment {
    /// Variables, which replace those of the target.
    #[serde(default)]
    pub variables: BTreeMap<String, TargetValue>,
    /// The URL or ARN, if it is another one here.
    pub url: Option<TargetValue>,
}

/// A value in a target file: the text itself, or a reference to an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a text, or a reference { env = \"NAME\" }")]
pub enum TargetValue {
    Text(String),
    Reference(EnvReference),
}

/// A reference to a variable of the environment or the target, or else of the process that calls the
/// target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvReference {
    pub env: String,
}

const fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT_SECONDS
}
const fn default_output() -> u64 {
    DEFAULT_OUTPUT_BYTES
}
const fn default_concurrency() -> u32 {
    DEFAULT_CONCURRENCY
}
const fn default_retries() -> u32 {
    DEFAULT_RETRIES
}

/// Error: an environment variable that a target refers to is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: the environment variable {name} is not set")]
pub struct MissingVariable {
    pub field: String,
    pub name: String,
}

impl TargetValue {
    /// Returns the text. `lookup` reads environment variables.
    ///
    /// # Errors
    /// Fails if the variable is not set.
    pub fn resolve(
        &self,
        field: &str,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<String, MissingVariable> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Reference(EnvReference { env }) => lookup(env)
                .ok_or_else(|| MissingVariable { field: field.to_owned(), name: env.clone() }),
        }
    }
}

impl Target {
    /// Returns how long a call may take.
    pub const fn timeout(&self) -> Duration {
        Duration::from_secs(self.options.timeout_seconds)
    }

    /// Returns the environment of a name.
    ///
    /// # Errors
    /// Fails if the target has environments, but none of that name.
    pub fn environment(&self, name: Option<&str>) -> Result<TargetEnvironment, InvalidTarget> {
        let Some(name) = name else { return Ok(TargetEnvironment::default()) };
        let all = &self.options.environments;
        match all.get(name) {
            Some(found) => Ok(found.clone()),
            None if all.is_empty() => Ok(TargetEnvironment::default()),
            None => {
                let known: Vec<&str> = all.keys().map(String::as_str).collect();
                let problem = format!("there is no {name}; the target has {}", known.join(", "));
                Err(InvalidTarget::new("environments", problem))
            }
        }
    }

    /// Returns whether the target sets variables in any environment.
    pub fn has_variables(&self) -> bool {
        let options = &self.options;
        let mut environments = options.environments.values();
        !options.variables.is_empty() || environments.any(|one| !one.variables.is_empty())
    }

    /// Returns the names of all variables that the target refers to.
    pub fn references(&self) -> BTreeSet<&str> {
        let options = &self.options;
        let environments = options.environments.values();
        let of_environments = environments
            .flat_map(|environment| environment.variables.values().chain(&environment.url));
        let values = self.kind.values().into_iter().chain(&options.version);
        let values = values.chain(options.variables.values()).chain(of_environments);
        values
            .filter_map(|value| match value {
                TargetValue::Reference(EnvReference { env }) => Some(env.as_str()),
                TargetValue::Text(_) => None,
            })
            .collect()
    }

    /// Returns where secrets of the target are sent: addresses in all environments.
    pub fn addresses(&self) -> Vec<&TargetValue> {
        let environments = self.options.environments.values();
        let others = environments.filter_map(|environment| environment.url.as_ref());
        self.kind.addresses().into_iter().chain(others).collect()
    }

    /// Returns a hash of the definition, the environment and the named version. Secrets are part of
    /// it by reference only.
    pub fn fingerprint(&self, environment: Option<&str>, version: Option<&str>) -> String {
        // Variables and limits of calls are part of it: an answer may depend on them.
        let words = serde_json::json!([self, environment, version]);
        let digest = Sha256::digest(words.to_string());
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}
