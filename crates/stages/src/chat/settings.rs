use std::path::PathBuf;
use std::time::Duration;

use ratchet_agent::claude::options::PermissionMode;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::chat::config_layer::Trust;
use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::ChatError;

/// How the agent of a session is started. It is kept with the session as a JSON object, and holds
/// for every process that the session gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChatSettings {
    /// Which model answers; the program's own choice when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What may be done without asking, in the program's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What the agent is told besides its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The tools there are; all when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Rules for tools that need no asking.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// Rules for tools that are refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disallowed_tools: Vec<String>,
    /// How often the model may be asked in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Dollars that the conversation may spend, with what it had spent before it was forked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_budget: Option<f64>,
    /// Whether someone took back the trust in what lies in the workspace: for this conversation it
    /// may not run code, whatever the server trusts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub distrusts_workspace: bool,
    /// Whether someone at this machine named the workspace, which is its own root where there are
    /// no others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_root: bool,
}

impl ChatSettings {
    /// Reads what is kept.
    ///
    /// # Errors
    /// Says what makes no sense.
    pub fn read(kept: &Json) -> Result<Self, ChatError> {
        let odd = |why: serde_json::Error| ChatError::Setting(format!("setting: {why}"));
        serde_json::from_str(kept.as_str()).map_err(odd)
    }

    /// What the conversation may spend.
    pub fn limit(&self) -> Option<Money> {
        self.max_budget.and_then(Money::from_dollars)
    }

    /// What is kept.
    pub fn write(&self) -> Json {
        // Every field is a text, a number or JSON, and so is the whole.
        serde_json::to_value(self)
            .map_or_else(|_| Json::from_value(&Value::Null), |value| Json::from_value(&value))
    }
}

/// What of a session's agent is to be another. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatChange {
    /// What it may do without asking.
    pub mode: Option<PermissionMode>,
    pub model: Option<ModelChoice>,
    /// What the conversation may spend.
    pub budget: Option<BudgetChoice>,
    /// Whether what lies in the workspace may run code, where the server trusts it. Nobody can have
    /// it trusted that way.
    pub trust: Option<Trust>,
}

/// What a conversation may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetChoice {
    Unlimited,
    /// So much, with what it has spent already.
    Limit(Money),
}

impl BudgetChoice {
    /// The limit, if there is one.
    pub fn limit(self) -> Option<Money> {
        match self {
            Self::Unlimited => None,
            Self::Limit(limit) => Some(limit),
        }
    }
}

impl ChatChange {
    /// What changes, and to what.
    pub(super) fn words(&self) -> Vec<(&'static str, String)> {
        let mode = self.mode.map(|mode| ("mode", mode.as_str().to_owned()));
        let model = self.model.as_ref().map(|model| model.name().unwrap_or("default"));
        let model = model.map(|model| ("model", model.to_owned()));
        let budget = self.budget.map(|budget| match budget.limit() {
            Some(limit) => ("budget", format!("${}", limit.dollars())),
            None => ("budget", "no limit".to_owned()),
        });
        let trust = self.trust.map(|trust| match trust {
            Trust::Trusted => ("trust", "as the server trusts the workspace".to_owned()),
            Trust::Untrusted => ("trust", "withdrawn".to_owned()),
        });
        [mode, model, budget, trust].into_iter().flatten().collect()
    }

    /// The same in one line.
    pub(super) fn summary(&self) -> String {
        let words = self.words().into_iter().map(|(what, word)| format!("{what} {word}"));
        words.collect::<Vec<_>>().join(", ")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    Usual,
    /// The one of that name.
    Named(String),
}

impl ModelChoice {
    /// The name, if there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Usual => None,
            Self::Named(name) => Some(name),
        }
    }
}

/// Characters of what people call a session.
pub const MAX_TITLE_CHARS: usize = 300;

/// A session to be made.
#[derive(Clone, Debug)]
pub struct NewChat {
    /// Which session: a UUID, for the agent gives its conversation the same name.
    pub id: SessionId,
    pub title: Option<String>,
    /// The folder that it works in; whoever asks has made sure that it may.
    pub workspace: PathBuf,
    /// How its agent is started.
    pub setting: ChatSettings,
}

/// Where sessions keep what is theirs.
#[derive(Clone, Debug)]
pub struct ChatFolders {
    /// The agent's program, as a path or a name in `PATH`.
    pub program: PathBuf,
    /// A folder with one for each family of conversations.
    pub families: PathBuf,
    /// A folder with one for each session; a short path, for sockets lie in it.
    pub scratch: PathBuf,
    /// Who ends agents when this process is gone.
    pub supervision: Supervision,
}

/// How much, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatLimits {
    /// Processes that run at once; each takes about 200 MB.
    pub processes: usize,
    /// How long a session may do nothing before its process is ended.
    pub idle: Duration,
    /// How long a person may take to answer.
    pub answer: Duration,
    /// Events that a reader may be behind.
    pub backlog: usize,
    /// Bytes of one text in a trace.
    pub text_bytes: usize,
}

impl Default for ChatLimits {
    fn default() -> Self {
        Self {
            processes: 8,
            idle: Duration::from_secs(10 * 60),
            answer: Duration::from_secs(60 * 60),
            backlog: 4_096,
            text_bytes: 8 * 1024 * 1024,
        }
    }
}
