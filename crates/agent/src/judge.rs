use ratchet_core::judge::offline;
use std::collections::BTreeMap;
use std::fmt;

/// The default model of each provider.
const DEFAULT_MODELS: &str = include_str!("judge/models.toml");

/// The name of a judge: `offline`, `anthropic:claude-sonnet-5`, `connection:NAME`, …
///
/// ```
/// use ratchet_agent::judge::{DefaultModels, JudgeName};
///
/// let models = DefaultModels::builtin();
/// let judge = JudgeName::parse("bedrock:anthropic.claude-v1:0", &models)?;
/// assert_eq!(judge.to_string(), "bedrock:anthropic.claude-v1:0");
/// # Ok::<(), ratchet_agent::judge::JudgeNameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeName {
    /// The rule-based judge, without a model.
    Offline,
    /// A model of a provider whose key is in the environment.
    Model { provider: ProviderName, model: String },
    /// A model behind one of the project's LLM connections.
    Connection {
        name: String,
        /// Defaults to the first model of the connection.
        model: Option<String>,
    },
}

/// A provider of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderName {
    Anthropic,
    Bedrock,
    /// OpenAI's API and compatible servers.
    OpenAi,
    /// The `claude` program on this machine.
    Claude,
}

impl ProviderName {
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Bedrock, Self::OpenAi, Self::Claude];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
            Self::OpenAi => "openai",
            Self::Claude => "claude",
        }
    }

    /// Parses the name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == name)
    }
}

/// Error of parsing a judge name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeNameError {
    #[error("there is no judge {0:?}; {known}", known = possible(.1))]
    Unknown(String, DefaultModels),
    /// The model is missing.
    #[error("{0} needs a model: {0}:MODEL")]
    NoModel(&'static str),
    /// The connection is missing.
    #[error("connection needs a name: connection:NAME or connection:NAME:MODEL")]
    NoConnection,
    /// An invalid file of default models.
    #[error("the default models cannot be read: {0}")]
    Models(String),
}

fn possible(models: &DefaultModels) -> String {
    let providers = ProviderName::ALL.map(|provider| match models.of(provider) {
        Some(model) => format!("{}[:MODEL] ({model})", provider.as_str()),
        None => format!("{}:MODEL", provider.as_str()),
    });
    format!("there are offline, {} and connection:NAME[:MODEL]", providers.join(", "))
}

impl JudgeName {
    /// Parses a name. Without a model, the provider's default applies.
    ///
    /// # Errors
    /// Lists the valid names.
    pub fn parse(text: &str, models: &DefaultModels) -> Result<Self, JudgeNameError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        if text == offline::NAME {
            return Ok(Self::Offline);
        }
        if name == "connection" {
            let (name, model) = rest.split_once(':').unwrap_or((rest, ""));
            if name.is_empty() {
                return Err(JudgeNameError::NoConnection);
            }
            let model = Some(model.to_owned()).filter(|model| !model.is_empty());
            return Ok(Self::Connection { name: name.to_owned(), model });
        }
        let provider = ProviderName::parse(name);
        let provider =
            provider.ok_or_else(|| JudgeNameError::Unknown(text.to_owned(), models.clone()))?;
        let explicit = Some(rest).filter(|rest| !rest.is_empty());
        let model = explicit.or_else(|| models.of(provider));
        let model = model.ok_or(JudgeNameError::NoModel(provider.as_str()))?.to_owned();
        Ok(Self::Model { provider, model })
    }
}

impl fmt::Display for JudgeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline => f.write_str(offline::NAME),
            Self::Model { provider, model } => write!(f, "{}:{model}", provider.as_str()),
            Self::Connection { name, model: None } => write!(f, "connection:{name}"),
            Self::Connection { name, model: Some(model) } => write!(f, "connection:{name}:{model}"),
        }
    }
}

/// The default model of each provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultModels(BTreeMap<ProviderName, String>);

impl DefaultModels {
    /// Returns the built-in defaults.
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test parses it")]
    pub fn builtin() -> Self {
        Self(BTreeMap::new()).with(DEFAULT_MODELS).expect("the built-in file is well-formed")
    }

    /// Overrides defaults from TOML: a model by provider.
    ///
    /// # Errors
    /// Names the invalid line or the unknown provider.
    pub fn with(mut self, toml: &str) -> Result<Self, JudgeNameError> {
        let table: BTreeMap<String, String> =
            toml::from_str(toml).map_err(|error| JudgeNameError::Models(error.to_string()))?;
        for (name, model) in table {
            let provider = ProviderName::parse(&name);
            let provider = provider
                .ok_or_else(|| JudgeNameError::Models(format!("unknown provider {name}")))?;
            self.0.insert(provider, model);
        }
        Ok(self)
    }

    /// Returns the default model of a provider.
    pub fn of(&self, provider: ProviderName) -> Option<&str> {
        self.0.get(&provider).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let found = JudgeName::parse(text, &DefaultModels::builtin());
        match expected {
            Ok(name) => assert_eq!(found.unwrap().to_string(), name),
            Err(words) => {
                let why = found.unwrap_err().to_string();
                assert!(why.contains(words), "{why} does not say {words}");
            }
        }
    }

    #[test]
    fn names_are_read_as_people_write_them() {
        check("offline", Ok("offline"));
        check("anthropic", Ok("anthropic:claude-sonnet-5"));
        check("claude:opus", Ok("claude:opus"));
        check("bedrock:us.anthropic.claude-v1:0", Ok("bedrock:us.anthropic.claude-v1:0"));
        check("connection:ours", Ok("connection:ours"));
        check("connection:ours:gpt-4o:free", Ok("connection:ours:gpt-4o:free"));
    }

    #[test]
    fn a_wrong_name_learns_what_is_possible() {
        check("gpt", Err("offline, anthropic[:MODEL] (claude-sonnet-5), bedrock:MODEL"));
        check("", Err("offline"));
        check("offline:x", Err("there is no judge"));
        check("openai", Err("openai:MODEL"));
        check("connection:", Err("connection:NAME"));
    }

    #[test]
    fn defaults_can_be_replaced() {
        let models = DefaultModels::builtin().with("openai = \"local\"").unwrap();
        assert_eq!(JudgeName::parse("openai", &models).unwrap().to_string(), "openai:local");
        assert!(DefaultModels::builtin().with("someone = \"x\"").is_err());
    }
}
