use std::collections::BTreeMap;
use std::path::PathBuf;

use ratchet_core::chat::config_layer::Trust;
use ratchet_core::money::Money;
use serde_json::Value;
use uuid::Uuid;

/// Options of a run. Unset options have the program's defaults.
#[derive(Clone, Debug, Default)]
pub struct ClaudeOptions {
    pub conversation: ChatThread,
    pub system_prompt: SystemPrompt,
    pub model: Option<String>,
    /// Which ones do when it cannot, in order.
    pub fallback_models: Vec<String>,
    /// What it may do without asking.
    pub permission_mode: Option<PermissionMode>,
    /// Whether a switch to [`PermissionMode::Bypass`] is possible later.
    pub bypass: BypassSwitch,
    /// How often the model may be asked in one turn.
    pub max_turns: Option<u32>,
    /// What this process may spend; once spent, every further turn fails.
    pub max_budget: Option<Money>,
    /// The tools there are; all when `None`.
    pub tools: Option<Vec<String>>,
    /// Rules for tools that need no asking.
    pub allowed_tools: Vec<String>,
    /// Rules for tools that are refused.
    pub disallowed_tools: Vec<String>,
    /// Servers of tools that the program starts or calls: `{"mcpServers": {…}}`.
    pub mcp_config: Option<Value>,
    pub mcp_scope: McpScope,
    /// Whose settings count. Those of an untrusted workspace never do.
    pub setting_sources: Vec<SettingSource>,
    /// Whether what lies in the workspace may run code.
    pub trust: Trust,
    /// Settings on top, as in a settings file.
    pub settings: Option<Value>,
    pub plugin_dirs: Vec<PathBuf>,
    /// Folders besides the workspace that tools may touch.
    pub add_dirs: Vec<PathBuf>,
    /// Sub-agents by name, as the program describes them.
    pub agents: BTreeMap<String, Value>,
    /// Whether texts of sub-agents are forwarded, besides their tool calls.
    pub subagent_text: SubagentText,
    /// How many tokens make the program shorten the conversation by itself.
    pub autocompact: Option<u32>,
    /// Whether transcript lines are mirrored to stdout.
    pub kept_lines: TranscriptMirror,
    /// The schema of the answer, when it is to be a document.
    pub json_schema: Option<Value>,
}

/// Which conversation a process goes on with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatThread {
    /// A new one, under an id of the program's choice.
    #[default]
    Unnamed,
    /// A new one, under our id.
    New(Uuid),
    /// One that exists. Only one process may: the program does not lock it.
    Resume {
        id: Uuid,
        /// The last message that still counts; all when `None`.
        at: Option<Uuid>,
    },
    /// A copy of one that exists, which stays as it is. It needs the folder of its original.
    Fork {
        of: Uuid,
        /// The last message that is copied; all when `None`.
        at: Option<Uuid>,
        id: Uuid,
    },
}

/// The system prompt of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SystemPrompt {
    /// What it says by itself.
    #[default]
    Own,
    Append(String),
    Replace(String),
}

/// What the program may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    Default,
    AcceptEdits,
    /// Nothing but reading and planning.
    Plan,
    /// What rules allow; the rest is refused without asking.
    DontAsk,
    /// What a model thinks harmless.
    Auto,
    Bypass,
}

/// Whose settings count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SettingSource {
    /// Those in the configuration folder.
    User,
    /// Those in the workspace that everyone shares.
    Project,
    /// Those in the workspace that are one person's.
    Local,
}

/// Whose servers of tools count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpScope {
    /// Only those that are handed in.
    #[default]
    Given,
    /// Those of the settings that count, too.
    Settings,
}

/// Whether a switch to skipping all permissions is possible while the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BypassSwitch {
    /// It is not.
    #[default]
    Never,
    Possible,
}

/// Whether texts of sub-agents are forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubagentText {
    /// Only what they do.
    #[default]
    Hidden,
    Told,
}

/// Whether transcript lines are mirrored to stdout, as `transcript_mirror`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TranscriptMirror {
    /// It is not.
    #[default]
    Off,
    On,
}

impl PermissionMode {
    pub const ALL: [Self; 6] =
        [Self::Default, Self::AcceptEdits, Self::Plan, Self::DontAsk, Self::Auto, Self::Bypass];

    /// The program's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::Auto => "auto",
            Self::Bypass => "bypassPermissions",
        }
    }

    /// The mode of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

impl SettingSource {
    /// The program's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }

    fn is_in_the_workspace(self) -> bool {
        match self {
            Self::User => false,
            Self::Project | Self::Local => true,
        }
    }
}

impl ClaudeOptions {
    /// Whose settings count after all: those in the workspace run code, so they need its trust.
    pub fn effective_sources(&self) -> Vec<SettingSource> {
        let is_trusted = self.trust == Trust::Trusted;
        let may_count = |source: &SettingSource| is_trusted || !source.is_in_the_workspace();
        self.setting_sources.iter().copied().filter(may_count).collect()
    }
}
