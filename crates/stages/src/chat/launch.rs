/// What the agent has kept of conversations.
pub(super) mod thread;
/// What it has kept of one turn.
pub(super) mod turn_lines;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_agent::claude::command::{ClaudeCommand, ClaudeFolders, ClaudeTimeouts, MCP_FILE};
use ratchet_agent::claude::options::{
    ChatThread, ClaudeOptions, KeptLines, PermissionMode, SettingSource, SubagentText, SystemPrompt,
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
use super::workspace_policy::{Given, WorkspacePolicy};

/// The least that a process may be allowed to spend: a ten-thousandth of a cent.
const LEAST: Money = Money::from_pico(1_000_000);

/// How long agents keep their transcripts, in days: as good as forever. Zero would mean never.
const KEPT_DAYS: u32 = 36_500;
/// What an agent is told that has lost its memory.
const GONE_PROMPT: &str = "Your transcript of the earlier part of this conversation has been lost: \
    you remember nothing of it, while the user still sees it. If the user refers to it, say so.";

/// How processes are started for sessions.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Where sessions keep what is theirs.
    pub places: ChatFolders,
    /// All that agents see of the environment.
    pub environment: Arc<Vec<(String, Secret)>>,
    /// How long they are waited for.
    pub patience: ClaudeTimeouts,
    /// Where agents may work and what each is given, worked out anew whenever one is started;
    /// anywhere, and nothing, when `None`.
    pub ground: Option<WorkspacePolicy>,
}

/// Whether an agent remembers what was said in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentMemory {
    /// All of it, as far as its process ever kept it.
    Whole,
    /// Its transcript, or that of the session it was forked from, is not there any more.
    Gone,
}

impl AgentMemory {
    /// What people are told of it, if there is anything to tell.
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
    /// What starts the process of a session, its folder, which is to be held until it has, and
    /// whether its agent will remember what was said.
    ///
    /// # Errors
    /// Says what is wrong with the session's setting, or with its folder by now.
    pub(super) fn command(
        &self,
        chat: &Chat,
    ) -> Result<(ClaudeCommand, Option<WorkFolder>, AgentMemory), ChatError> {
        let setting = ChatSettings::read(&chat.setting)?;
        let own_root = setting.own_root;
        let config = self.family(chat);
        let named = PathBuf::from(&chat.workspace);
        let wrong = |why: String| ChatError::Setting(why);
        let again = |ground: &WorkspacePolicy| {
            ground.boundary.again(&named, ground.boundary.exposure_of(own_root))
        };
        let held = self.ground.as_ref().map(again).transpose();
        let held = held.map_err(|why| wrong(why.to_string()))?;
        let given = match self.ground.as_ref().zip(held.as_ref()) {
            Some((ground, work)) => ground.given(work, &setting),
            None => Ok(Given::default()),
        };
        let given = given.map_err(|why| wrong(why.to_string()))?;
        let left = setting.limit().map(|limit| left(limit, chat.standing.spent()));
        let (conversation, memory) = thread(chat, &config)?;
        let words = setting.prompt.into_iter();
        let words = words.chain((memory == AgentMemory::Gone).then(|| GONE_PROMPT.to_owned()));
        let words: Vec<String> = words.collect();
        let options = ClaudeOptions {
            conversation,
            system_prompt: match words.is_empty() {
                true => SystemPrompt::Own,
                false => SystemPrompt::Append(words.join("\n\n")),
            },
            model: setting.model,
            permission_mode: setting.mode.as_deref().map(mode).transpose()?,
            max_turns: setting.max_turns,
            max_budget: left,
            tools: setting.tools,
            allowed_tools: setting.allowed_tools,
            disallowed_tools: setting.disallowed_tools,
            mcp_config: (!given.servers.is_empty()).then(|| given.servers.config()),
            // By itself the program deletes transcripts that are a month old, whenever it starts.
            settings: Some(json!({ "cleanupPeriodDays": KEPT_DAYS })),
            // Skills lie in the workspace; the rest of its settings needs its trust.
            setting_sources: vec![SettingSource::Project],
            trust: given.trust,
            subagent_text: SubagentText::Told,
            kept_lines: KeptLines::Told,
            ..ClaudeOptions::default()
        };
        let workspace = held.as_ref().map_or(named, WorkFolder::entrance);
        let place = ClaudeFolders { workspace, config, temp: self.scratch(&chat.id) };
        let supervision = self.places.supervision.clone();
        let command = ClaudeCommand::new(&self.places.program, place, supervision);
        let command = command.with_environment(self.environment.to_vec());
        let mut command = command.with_options(options);
        command.patience = self.patience;
        Ok((command, held, memory))
    }

    /// Removes what a session was given in a file: a running agent has read it, and it may hold keys
    /// of tool servers.
    pub(super) fn forget_given(&self, session: &SessionId) {
        let file = self.scratch(session).join(MCP_FILE);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, file = %file.display(), "cannot remove keys of tool servers");
            }
            _ => {}
        }
    }

    /// The folder that a conversation shares with its forks.
    pub(super) fn family(&self, chat: &Chat) -> PathBuf {
        self.places.families.join(chat.origin.family.to_string())
    }

    /// The folder of what a session does not need tomorrow.
    pub(super) fn scratch(&self, session: &SessionId) -> PathBuf {
        self.places.scratch.join(session.to_string())
    }
}

/// What a process may spend: what is left of the conversation's budget. A process that is started
/// for something else than a turn gets the least there is.
fn left(limit: Money, spent: Money) -> Money {
    if spent < limit { limit - spent } else { LEAST }
}

/// Reads the word for what may be done without asking.
///
/// # Errors
/// Lists the words there are.
pub(super) fn mode(word: &str) -> Result<PermissionMode, ChatError> {
    PermissionMode::parse(word).ok_or_else(|| {
        let words: Vec<&str> = PermissionMode::ALL.iter().map(|mode| mode.as_str()).collect();
        ChatError::Setting(format!("mode: {word} is none of {}", words.join(", ")))
    })
}

/// Which conversation the agent goes on with, and whether that is all that was said. What it has
/// kept itself decides: a process may have died before it kept anything.
fn thread(chat: &Chat, config: &Path) -> Result<(ChatThread, AgentMemory), ChatError> {
    let id = uuid(&chat.id)?;
    if thread::is_kept(config, id) {
        return Ok((ChatThread::Resume { id, at: None }, AgentMemory::Whole));
    }
    // A turn that has ended was kept.
    let memory = if chat.standing.turns > 0 { AgentMemory::Gone } else { AgentMemory::Whole };
    let Some(parent) = &chat.origin.parent else { return Ok((ChatThread::New(id), memory)) };
    let of = uuid(parent)?;
    let at = chat.origin.fork_at.as_deref().and_then(|at| Uuid::parse_str(at).ok());
    // What the parent has said since it was forked is not the fork's.
    let had_begun = at.is_some_and(|at| at != thread::BEGINNING);
    Ok(match had_begun && thread::is_kept(config, of) {
        true => (ChatThread::Fork { of, at, id }, memory),
        false if had_begun => (ChatThread::New(id), AgentMemory::Gone),
        false => (ChatThread::New(id), memory),
    })
}

/// The session's id as the agent wants it.
///
/// # Errors
/// Fails if it is no UUID.
pub(super) fn uuid(session: &SessionId) -> Result<Uuid, ChatError> {
    let odd = |_| ChatError::Setting(format!("id: {session} is no UUID"));
    Uuid::parse_str(&session.to_string()).map_err(odd)
}
