/// What the agent has kept of conversations.
pub(super) mod thread;
/// What it has kept of one turn.
pub(super) mod turn_lines;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_agent::claude::command::{ClaudeCommand, ClaudePatience, ClaudePlace};
use ratchet_agent::claude::options::{
    ChatThread, ClaudeOptions, KeptLines, PermissionMode, SettingSource, SubagentText, SystemPrompt,
};
use ratchet_core::id::SessionId;
use ratchet_core::major::layer::Trust;
use ratchet_core::money::Money;
use ratchet_core::secret::Secret;
use ratchet_store::catalog::Chat;
use uuid::Uuid;

use super::refusal::MajorError;
use super::setting::{ChatSetting, MajorPlaces};
use super::work_folder::{Boundary, WorkFolder};

/// How processes are started for sessions.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Where sessions keep what is theirs.
    pub places: MajorPlaces,
    /// All that agents see of the environment.
    pub environment: Arc<Vec<(String, Secret)>>,
    /// How long they are waited for.
    pub patience: ClaudePatience,
    /// Where agents may work, looked at anew whenever one is started; anywhere when `None`.
    pub boundary: Option<Boundary>,
}

impl Launcher {
    /// What starts the process of a session, and its folder, which is to be held until it has.
    ///
    /// # Errors
    /// Says what is wrong with the session's setting, or with its folder by now.
    pub(super) fn command(
        &self,
        chat: &Chat,
    ) -> Result<(ClaudeCommand, Option<WorkFolder>), MajorError> {
        let setting = ChatSetting::read(&chat.setting)?;
        let config = self.family(chat);
        let options = ClaudeOptions {
            conversation: thread(chat, &config)?,
            system_prompt: setting.prompt.map_or(SystemPrompt::Own, SystemPrompt::Append),
            model: setting.model,
            permission_mode: setting.mode.as_deref().map(mode).transpose()?,
            max_turns: setting.max_turns,
            max_budget: setting.max_budget.and_then(Money::from_dollars),
            tools: setting.tools,
            allowed_tools: setting.allowed_tools,
            disallowed_tools: setting.disallowed_tools,
            mcp_config: setting.mcp,
            // Skills lie in the workspace; the rest of its settings needs its trust.
            setting_sources: vec![SettingSource::Project],
            trust: match setting.trusts_workspace {
                true => Trust::Trusted,
                false => Trust::Untrusted,
            },
            subagent_text: SubagentText::Told,
            kept_lines: KeptLines::Told,
            ..ClaudeOptions::default()
        };
        let named = PathBuf::from(&chat.workspace);
        let held = self.boundary.as_ref().map(|boundary| boundary.again(&named)).transpose();
        let held = held.map_err(|why| MajorError::Setting(why.to_string()))?;
        let workspace = held.as_ref().map_or(named, WorkFolder::entrance);
        let place = ClaudePlace { workspace, config, temp: self.scratch(&chat.id) };
        let supervision = self.places.supervision.clone();
        let command = ClaudeCommand::new(&self.places.program, place, supervision);
        let command = command.with_environment(self.environment.to_vec());
        let mut command = command.with_options(options);
        command.patience = self.patience;
        Ok((command, held))
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

/// Reads the word for what may be done without asking.
///
/// # Errors
/// Lists the words there are.
pub(super) fn mode(word: &str) -> Result<PermissionMode, MajorError> {
    PermissionMode::parse(word).ok_or_else(|| {
        let words: Vec<&str> = PermissionMode::ALL.iter().map(|mode| mode.as_str()).collect();
        MajorError::Setting(format!("mode: {word} is none of {}", words.join(", ")))
    })
}

/// Which conversation the agent goes on with. What it has kept itself decides: a process may have
/// died before it kept anything.
fn thread(chat: &Chat, config: &Path) -> Result<ChatThread, MajorError> {
    let id = uuid(&chat.id)?;
    if thread::is_kept(config, id) {
        return Ok(ChatThread::Resume { id, at: None });
    }
    let Some(parent) = &chat.origin.parent else { return Ok(ChatThread::New(id)) };
    let of = uuid(parent)?;
    let at = chat.origin.fork_at.as_deref().and_then(|at| Uuid::parse_str(at).ok());
    // What the parent has said since it was forked is not the fork's.
    let had_begun = at.is_some_and(|at| at != thread::BEGINNING);
    Ok(match had_begun && thread::is_kept(config, of) {
        true => ChatThread::Fork { of, at, id },
        false => ChatThread::New(id),
    })
}

/// The session's id as the agent wants it.
///
/// # Errors
/// Fails if it is no UUID.
pub(super) fn uuid(session: &SessionId) -> Result<Uuid, MajorError> {
    let odd = |_| MajorError::Setting(format!("id: {session} is no UUID"));
    Uuid::parse_str(&session.to_string()).map_err(odd)
}
