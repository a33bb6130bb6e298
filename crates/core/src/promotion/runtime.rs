//! Agent runtimes of Amazon Bedrock AgentCore: what the operator wants, and what a request says.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::agent_version::AgentVersion;
use crate::catalog::validation::Invalid;
use crate::experiment::target::TargetValue;

/// Environment variables that a runtime can have.
const MAX_VARIABLES: usize = 50;
/// The longest value of one.
const MAX_VALUE_CHARS: usize = 5_000;
/// The longest name of a runtime or endpoint.
const MAX_NAME_CHARS: usize = 48;
/// The endpoint that follows the newest version of a runtime.
pub const DEFAULT_ENDPOINT: &str = "DEFAULT";

/// The operator's file: runtimes by agent and environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeployFile {
    agents: BTreeMap<String, BTreeMap<String, RuntimeSettings>>,
}

/// The runtime of an agent in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeSettings {
    pub region: String,
    /// Name of the runtime.
    runtime: String,
    /// ARN of the role that it runs as.
    role: String,
    /// Container image; `{tools}` stands for the version's commit.
    image: Option<String>,
    code: Option<CodeArtifact>,
    /// Endpoint that users call, moved once the new version is ready.
    endpoint: Option<String>,
    #[serde(default)]
    subnets: Vec<String>,
    #[serde(default)]
    security_groups: Vec<String>,
    /// Protocol of the agent: HTTP, MCP or A2A.
    protocol: Option<String>,
    #[serde(default)]
    variables: BTreeMap<String, TargetValue>,
    /// Address of the control plane instead of AWS's own.
    pub control: Option<TargetValue>,
}

/// Code in S3.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeArtifact {
    bucket: String,
    prefix: String,
    runtime: String,
    entry_point: Vec<String>,
}

/// A runtime as it is to be, with secrets resolved.
#[derive(Clone, PartialEq)]
pub struct WantedRuntime {
    pub name: String,
    pub endpoint: String,
    /// Fields of the request that creates or updates it.
    fields: Value,
}

/// Secrets are among the fields.
impl std::fmt::Debug for WantedRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WantedRuntime").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the environment that a name means: `prod` is short for `production`.
pub fn environment_name(name: &str) -> &str {
    let is_production =
        ["prod", "production"].iter().any(|known| name.trim().eq_ignore_ascii_case(known));
    if is_production { "production" } else { name }
}

/// Returns the names that traces of an environment may have.
pub fn names_of_environment(name: &str) -> Vec<String> {
    match environment_name(name) {
        "production" => vec!["production".to_owned(), "prod".to_owned()],
        other => vec![other.to_owned()],
    }
}

impl DeployFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Names the field that is missing, unknown or invalid.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let read: Self = toml::from_str(text)
            .map_err(|error| invalid("deploy file", error.message().trim().to_owned()))?;
        let mut agents = BTreeMap::new();
        for (agent, environments) in read.agents {
            let mut named = BTreeMap::new();
            for (name, settings) in environments {
                settings.check()?;
                let name = environment_name(&name).to_owned();
                if named.insert(name.clone(), settings).is_some() {
                    let problem = format!("agent {agent} has {name} twice; prod is short for it");
                    return Err(invalid("agents", problem));
                }
            }
            agents.insert(agent, named);
        }
        Ok(Self { agents })
    }

    /// Returns the runtime of an agent in an environment.
    ///
    /// # Errors
    /// Names the table that is missing.
    pub fn settings(&self, agent: &str, environment: &str) -> Result<&RuntimeSettings, Invalid> {
        let environment = environment_name(environment);
        let found = self.agents.get(agent).and_then(|all| all.get(environment));
        found
            .ok_or_else(|| invalid("agents", format!("there is no [agents.{agent}.{environment}]")))
    }
}

impl RuntimeSettings {
    fn check(&self) -> Result<(), Invalid> {
        // It becomes part of a host name.
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !(1..=63).contains(&self.region.len()) || !self.region.bytes().all(is_word) {
            return Err(invalid("region", "must be a region such as eu-central-1"));
        }
        check_name("runtime", &self.runtime)?;
        if let Some(endpoint) = &self.endpoint {
            check_name("endpoint", endpoint)?;
        }
        if !self.role.starts_with("arn:") || !self.role.contains(":role/") {
            return Err(invalid("role", "must be the ARN of a role"));
        }
        if self.image.is_some() == self.code.is_some() {
            return Err(invalid("image", "name either image or code"));
        }
        if self.subnets.is_empty() != self.security_groups.is_empty() {
            return Err(invalid("subnets", "a VPC needs subnets and security_groups"));
        }
        if self.variables.len() > MAX_VARIABLES {
            return Err(invalid("variables", format!("at most {MAX_VARIABLES}")));
        }
        Ok(())
    }

    /// Returns the runtime for a version. `lookup` reads environment variables, for secrets.
    ///
    /// # Errors
    /// A placeholder has no value in this version, or a variable is not set.
    pub fn wanted(
        &self,
        version: &AgentVersion,
        environment: &str,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<WantedRuntime, Invalid> {
        let filled = Placeholders { version, environment: environment_name(environment) };
        let mut variables = BTreeMap::new();
        for (name, value) in &self.variables {
            let value = match value {
                TargetValue::Text(text) => filled.fill("variables", text, |_| true)?,
                TargetValue::Reference(_) => value
                    .resolve(&format!("variables.{name}"), lookup)
                    .map_err(|missing| invalid("variables", missing.to_string()))?,
            };
            if value.chars().count() > MAX_VALUE_CHARS {
                return Err(invalid("variables", format!("{name} is too long")));
            }
            variables.insert(name, value);
        }
        let network = match self.subnets.is_empty() {
            true => json!({ "networkMode": "PUBLIC" }),
            false => json!({
                "networkMode": "VPC",
                "networkModeConfig": {
                    "subnets": self.subnets, "securityGroups": self.security_groups,
                },
            }),
        };
        let fields = json!({
            "agentRuntimeArtifact": self.artifact(&filled)?,
            "roleArn": self.role,
            "networkConfiguration": network,
            "protocolConfiguration": {
                "serverProtocol": self.protocol.as_deref().unwrap_or("HTTP"),
            },
            "environmentVariables": variables,
        });
        let endpoint = self.endpoint.as_deref().unwrap_or(DEFAULT_ENDPOINT).to_owned();
        Ok(WantedRuntime { name: self.runtime.clone(), endpoint, fields })
    }

    /// Users choose the commit. In the place of an artifact it is one word, so that it leads to no
    /// other repository or folder.
    fn artifact(&self, filled: &Placeholders<'_>) -> Result<Value, Invalid> {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
        if let Some(image) = &self.image {
            let image = filled.fill("image", image, is_plain)?;
            return Ok(json!({ "containerConfiguration": { "containerUri": image } }));
        }
        let Some(code) = &self.code else { return Err(invalid("image", "is missing")) };
        let prefix = filled.fill("code.prefix", &code.prefix, is_plain)?;
        Ok(json!({ "codeConfiguration": {
            "code": { "s3": { "bucket": code.bucket, "prefix": prefix } },
            "runtime": code.runtime,
            "entryPoint": code.entry_point,
        } }))
    }
}

impl WantedRuntime {
    /// Returns the request that creates the runtime.
    pub fn create(&self) -> Value {
        let mut request = self.with_token("create", "");
        request["agentRuntimeName"] = json!(self.name);
        request
    }

    /// Returns the request that updates the runtime, as it was seen last: the same change of the
    /// same runtime has the same token, and going back to an earlier version another one.
    pub fn update(&self, seen: &Value) -> Value {
        let state = format!("{} {}", seen["agentRuntimeVersion"], seen["lastUpdatedAt"]);
        self.with_token("update", &state)
    }

    fn with_token(&self, action: &str, state: &str) -> Value {
        let mut request = self.fields.clone();
        request["clientToken"] = json!(token(&[action, &self.name, state, &request.to_string()]));
        request
    }

    /// Returns whether a runtime is as it is to be.
    pub fn is_same(&self, seen: &Value) -> bool {
        let fields = self.fields.as_object();
        fields.is_some_and(|fields| {
            fields.iter().all(|(name, wanted)| covers(&seen[name.as_str()], wanted))
        })
    }
}

/// Whether what was seen has all that is wanted. AWS adds defaults of its own to structures, but
/// not to environment variables, whose values are texts.
fn covers(seen: &Value, wanted: &Value) -> bool {
    match (seen, wanted) {
        (Value::Object(seen), Value::Object(wanted)) => {
            let is_texts =
                wanted.values().all(Value::is_string) && seen.values().all(Value::is_string);
            let is_longer = is_texts && seen.len() > wanted.len();
            !is_longer
                && wanted
                    .iter()
                    .all(|(name, value)| seen.get(name).is_some_and(|found| covers(found, value)))
        }
        // An empty map may be left out.
        (Value::Null, Value::Object(wanted)) => wanted.is_empty(),
        _ => seen == wanted,
    }
}

/// Returns an idempotency token of AWS: at least 33 characters.
pub fn token(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Placeholders<'a> {
    version: &'a AgentVersion,
    environment: &'a str,
}

impl Placeholders<'_> {
    /// Fills `{tools}`, `{model}` and `{settings.NAME}` in.
    fn fill(
        &self,
        field: &'static str,
        text: &str,
        is_allowed: impl Fn(char) -> bool,
    ) -> Result<String, Invalid> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) =
                after.split_once('}').ok_or_else(|| invalid(field, "a placeholder has no end"))?;
            let value = self.value(name).ok_or_else(|| {
                invalid(field, format!("the agent version has no value for {{{name}}}"))
            })?;
            if value.is_empty() || !value.chars().all(&is_allowed) {
                let problem =
                    format!("the value of {{{name}}} may have letters, digits, -, _ and .");
                return Err(invalid(field, problem));
            }
            filled.push_str(before);
            filled.push_str(value);
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str) -> Option<&str> {
        match (name, name.strip_prefix("settings.")) {
            ("tools", _) => self.version.tools.as_deref(),
            ("model", _) => self.version.model.as_deref(),
            (_, Some(setting)) => {
                let settings = &self.version.settings;
                let found =
                    settings.iter().find(|(key, _)| environment_name(key) == self.environment);
                found.and_then(|(_, values)| values.get(setting)).map(String::as_str)
            }
            _ => None,
        }
    }
}

fn check_name(field: &'static str, name: &str) -> Result<(), Invalid> {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_word = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if starts && is_word && name.len() <= MAX_NAME_CHARS {
        return Ok(());
    }
    let problem = format!("a letter, then up to {} letters, digits or _", MAX_NAME_CHARS - 1);
    Err(invalid(field, problem))
}

fn invalid(field: &'static str, problem: impl Into<String>) -> Invalid {
    Invalid { field, problem: problem.into() }
}

#[cfg(test)]
mod tests;
