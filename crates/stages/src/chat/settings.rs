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

/// Settings of a chat's agent. Stored with the chat as a JSON object; valid for every process of
/// the chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChatSettings {
    /// Name of the model [default: the program's].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Permission mode, as the program names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Addition to the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Available tools; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Permission rules that allow tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// Permission rules that deny tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disallowed_tools: Vec<String>,
    /// Maximum number of model calls in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Budget in US dollars, including what was spent before a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_budget: Option<f64>,
    /// Whether trust in the workspace was withdrawn: it may not run code in this chat, even if the
    /// server trusts it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub distrusts_workspace: bool,
    /// Whether a local user named the workspace, which then is its own root if no roots are set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_root: bool,
}

impl ChatSettings {
    /// Parses stored settings.
    ///
    /// # Errors
    /// Fails if they are invalid.
    pub fn read(kept: &Json) -> Result<Self, ChatError> {
        let odd = |why: serde_json::Error| ChatError::Setting(format!("setting: {why}"));
        serde_json::from_str(kept.as_str()).map_err(odd)
    }

    /// The budget.
    pub fn limit(&self) -> Option<Money> {
        self.max_budget.and_then(Money::from_dollars)
    }

    /// Serializes the settings.
    pub fn write(&self) -> Json {
        // All fields serialize, so the whole does.
        serde_json::to_value(self)
            .map_or_else(|_| Json::from_value(&Value::Null), |value| Json::from_value(&value))
    }
}

/// A change to the settings of a chat. Absent fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatChange {
    pub mode: Option<PermissionMode>,
    pub model: Option<ModelChoice>,
    pub budget: Option<BudgetChoice>,
    /// Whether the workspace may run code, if the server trusts it. This does not grant trust.
    pub trust: Option<Trust>,
}

/// The budget of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetChoice {
    Unlimited,
    /// Maximum, including what is already spent.
    Limit(Money),
}

impl BudgetChoice {
    pub fn limit(self) -> Option<Money> {
        match self {
            Self::Unlimited => None,
            Self::Limit(limit) => Some(limit),
        }
    }
}

impl ChatChange {
    /// Names and new values of the changes.
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

    /// The changes in one line.
    pub(super) fn summary(&self) -> String {
        let words = self.words().into_iter().map(|(what, word)| format!("{what} {word}"));
        words.collect::<Vec<_>>().join(", ")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    Usual,
    Named(String),
}

impl ModelChoice {
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Usual => None,
            Self::Named(name) => Some(name),
        }
    }
}

pub const MAX_TITLE_CHARS: usize = 300;

/// A chat to create.
#[derive(Clone, Debug)]
pub struct NewChat {
    /// A UUID, because the agent's conversation has the same id.
    pub id: SessionId,
    pub title: Option<String>,
    /// Folder in which the agent works; the caller has checked that it may.
    pub workspace: PathBuf,
    pub settings: ChatSettings,
}

/// Folders and programs of chats.
#[derive(Clone, Debug)]
pub struct ChatFolders {
    /// The agent's program, as a path or a name in `PATH`.
    pub program: PathBuf,
    /// Contains a folder for each chat and its forks.
    pub families: PathBuf,
    /// Contains a folder for each chat; a short path, because sockets are in it.
    pub scratch: PathBuf,
    /// How agents are ended when this process is gone.
    pub supervision: Supervision,
}

/// Limits and timeouts of chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatLimits {
    /// Maximum number of processes that work at once; each takes about 200 MB.
    pub processes: usize,
    /// Time without activity after which a process ends.
    pub idle: Duration,
    /// Time to answer a prompt.
    pub answer: Duration,
    /// Maximum number of events that a reader may be behind.
    pub backlog: usize,
    /// Maximum bytes of one text in a trace.
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
