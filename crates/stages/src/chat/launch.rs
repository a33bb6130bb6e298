/// Transcripts of conversations, as the agent stores them.
pub(super) mod thread;
/// Transcript lines of one turn.
pub(super) mod turn_lines;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_agent::claude::command::{ClaudeCommand, ClaudeFolders, ClaudeTimeouts, MCP_FILE};
use ratchet_agent::claude::options::{
    ChatThread, ClaudeOptions, PermissionMode, SettingSource, SubagentText, SystemPrompt,
    TranscriptMirror,
};
use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_core::secret::Secret;
use ratchet_store::catalog::Chat;
use serde_json::json;
use uuid::Uuid;

use super::error::ChatError;
use super::settings::{ChatFolders, ChatSettings};
use super::work_folder::WorkFolder;
use super::workspace_policy::{WorkspaceConfig, WorkspacePolicy};

/// Minimum budget of a process: a ten-thousandth of a cent.
const LEAST: Money = Money::from_pico(1_000_000);

/// Retention of the agent's transcripts in days: practically forever. Zero would disable them.
const KEPT_DAYS: u32 = 36_500;
/// Addition to the system prompt of an agent whose transcript is lost.
const GONE_PROMPT: &str = "Your transcript of the earlier part of this conversation has been lost: \
    you remember nothing of it, while the user still sees it. If the user refers to it, say so.";

/// Starts processes for chats.
#[derive(Clone, Debug)]
pub struct Launcher {
    pub folders: ChatFolders,
    /// The complete environment of agents.
    pub environment: Arc<Vec<(String, Secret)>>,
    pub timeouts: ClaudeTimeouts,
    /// Where agents may work and what each is given, evaluated whenever one starts; no restriction
    /// and nothing when `None`.
    pub policy: Option<WorkspacePolicy>,
}

/// Whether an agent has the transcript of its chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentMemory {
    /// All that its process ever stored.
    Whole,
    /// The transcript of the chat, or of the one it was forked from, is missing.
    Gone,
}

impl AgentMemory {
    /// Warning for people, if there is one.
    pub(super) fn warning(self, config: &Path) -> Option<String> {
        let folder = config.display();
        (self == Self::Gone).then(|| {
            format!(
                "the agent's transcript of this conversation is gone, so it remembers nothing of \
                 what was said before; what you see here is still kept, and a backup of {folder} \
                 would bring its memory back"
            )
        })
    }
}

impl Launcher {
    /// Returns the command that starts the process of a chat, its folder, which must stay open
    /// until then, and whether the agent has its transcript.
    ///
    /// # Errors
    /// Fails if the settings are invalid, or the folder is no longer permitted.
    pub(super) fn command(
        &self,
        chat: &Chat,
    ) -> Result<(ClaudeCommand, Option<WorkFolder>, AgentMemory), ChatError> {
        let settings = ChatSettings::read(&chat.settings)?;
        let own_root = settings.own_root;
        let config = self.family(chat);
        let named = PathBuf::from(&chat.workspace);
        let wrong = |why: String| ChatError::Setting(why);
        let again = |policy: &WorkspacePolicy| {
            policy.boundary.reopen(&named, policy.boundary.workspace_source(own_root))
        };
        let held = self.policy.as_ref().map(again).transpose();
        let held = held.map_err(|why| wrong(why.to_string()))?;
        let given = match self.policy.as_ref().zip(held.as_ref()) {
            Some((policy, work)) => policy.given(work, &settings),
            None => Ok(WorkspaceConfig::default()),
        };
        let given = given.map_err(|why| wrong(why.to_string()))?;
        let left = settings.limit().map(|limit| left(limit, chat.status.spent()));
        let (conversation, memory) = thread(chat, &config)?;
        let words = settings.prompt.into_iter();
        let words = words.chain((memory == AgentMemory::Gone).then(|| GONE_PROMPT.to_owned()));
        let words: Vec<String> = words.collect();
        let options = ClaudeOptions {
            conversation,
            system_prompt: match words.is_empty() {
                true => SystemPrompt::Own,
                false => SystemPrompt::Append(words.join("\n\n")),
            },
            model: settings.model,
            permission_mode: settings.mode.as_deref().map(mode).transpose()?,
            max_turns: settings.max_turns,
            max_budget: left,
            tools: settings.tools,
            allowed_tools: settings.allowed_tools,
            disallowed_tools: settings.disallowed_tools,
            mcp_config: (!given.servers.is_empty()).then(|| given.servers.config()),
            // By default the program deletes transcripts older than a month whenever it starts.
            settings: Some(json!({ "cleanupPeriodDays": KEPT_DAYS })),
            // Skills are in the workspace; the rest of its settings requires trust.
            setting_sources: vec![SettingSource::Project],
            trust: given.trust,
            subagent_text: SubagentText::Told,
            kept_lines: TranscriptMirror::On,
            ..ClaudeOptions::default()
        };
        let workspace = held.as_ref().map_or(named, WorkFolder::start_path);
        let folders = ClaudeFolders { workspace, config, temp: self.scratch(&chat.id) };
        let supervision = self.folders.supervision.clone();
        let command = ClaudeCommand::new(&self.folders.program, folders, supervision);
        let command = command.with_environment(self.environment.to_vec());
        let mut command = command.with_options(options);
        command.timeouts = self.timeouts;
        Ok((command, held, memory))
    }

    /// Removes the MCP configuration of a chat: a running agent has read it, and it may contain
    /// keys.
    pub(super) fn forget_given(&self, chat_id: &SessionId) {
        let file = self.scratch(chat_id).join(MCP_FILE);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, file = %file.display(), "cannot remove keys of tool servers");
            }
            _ => {}
        }
    }

    /// The folder that a chat shares with its forks.
    pub(super) fn family(&self, chat: &Chat) -> PathBuf {
        self.folders.families.join(chat.origin.family.to_string())
    }

    /// The folder of the chat's temporary files.
    pub(super) fn scratch(&self, chat_id: &SessionId) -> PathBuf {
        self.folders.scratch.join(chat_id.to_string())
    }
}

/// Budget of a process: what is left of the chat's budget. A process that starts for something else
/// than a turn gets the minimum.
fn left(limit: Money, spent: Money) -> Money {
    if spent < limit { limit - spent } else { LEAST }
}

/// Parses a permission mode.
///
/// # Errors
/// Lists the valid modes.
pub(super) fn mode(word: &str) -> Result<PermissionMode, ChatError> {
    PermissionMode::parse(word).ok_or_else(|| {
        let words: Vec<&str> = PermissionMode::ALL.iter().map(|mode| mode.as_str()).collect();
        ChatError::Setting(format!("mode: {word} is none of {}", words.join(", ")))
    })
}

/// The conversation that the agent continues, and whether its transcript is complete. The agent's
/// files decide: a process may have died before it stored anything.
fn thread(chat: &Chat, config: &Path) -> Result<(ChatThread, AgentMemory), ChatError> {
    let id = uuid(&chat.id)?;
    if thread::is_kept(config, id) {
        return Ok((ChatThread::Resume { id, at: None }, AgentMemory::Whole));
    }
    // A turn that has ended was stored.
    let memory = if chat.status.turns > 0 { AgentMemory::Gone } else { AgentMemory::Whole };
    let Some(parent) = &chat.origin.parent else { return Ok((ChatThread::New(id), memory)) };
    let of = uuid(parent)?;
    let at = chat.origin.fork_at.as_deref().and_then(|at| Uuid::parse_str(at).ok());
    // Later messages of the parent are not part of the fork.
    let had_begun = at.is_some_and(|at| at != thread::BEGINNING);
    Ok(match had_begun && thread::is_kept(config, of) {
        true => (ChatThread::Fork { of, at, id }, memory),
        false if had_begun => (ChatThread::New(id), AgentMemory::Gone),
        false => (ChatThread::New(id), memory),
    })
}

/// Returns the id of a chat as the agent needs it.
///
/// # Errors
/// Fails if it is not a UUID.
pub(super) fn uuid(chat_id: &SessionId) -> Result<Uuid, ChatError> {
    let odd = |_| ChatError::Setting(format!("id: {chat_id} is no UUID"));
    Uuid::parse_str(&chat_id.to_string()).map_err(odd)
}
