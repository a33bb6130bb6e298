use std::path::{Path, PathBuf};

use ratchet_core::chat::attachment::{AttachedContent, Attachment, AttachmentError, MAX_PDF_BYTES};
use ratchet_core::chat::config_layer::Trust;
use ratchet_core::chat::mcp_servers::McpPlan;
use ratchet_core::chat::skills;
use ratchet_core::chat::system_prompt::{self, PastMessage, PromptError, PromptInputs};
use ratchet_core::chat::workspace::WorkspaceSource;
use ratchet_core::id::SessionId;
use ratchet_core::judge::judge_prompt::Seed;
use serde_json::{Value, json};

use super::confined_path::ConfinedPathError;
use super::prompt_layers::{AgentFilesError, LayerFolders};
use super::settings::ChatSettings;
use super::skill_sync;
use super::work_folder::{Boundary, WorkFolder, WorkFolderError};

/// Maximum tokens of the texts attached to one message.
const MESSAGE_TOKENS: u64 = 30_000;

/// Where agents may work, and what each of them is given there.
#[derive(Clone, Debug)]
pub struct WorkspacePolicy {
    pub boundary: Boundary,
    /// Workspaces whose own settings may run programs.
    pub trusted: Vec<PathBuf>,
    /// Folders with the configuration for all agents.
    pub layers: LayerFolders,
    /// Maximum tokens of a system prompt.
    pub prompt_tokens: u64,
    /// Unpredictable part of the markers around untrusted text.
    pub seed: Seed,
}

/// An attachment: its content, or a file of the workspace.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatAttachment {
    /// Content that came with the request.
    Here(Attachment),
    /// Path of a file, relative to the workspace.
    InWorkspace(String),
}

/// Requested settings and contents of a new chat.
#[derive(Clone, Debug, Default)]
pub struct ChatRequest {
    pub attached: Vec<ChatAttachment>,
    /// Messages of an earlier conversation.
    pub history: Vec<PastMessage>,
    /// As far as requested; the rest is filled in.
    pub settings: ChatSettings,
    pub workspace_source: WorkspaceSource,
}

/// A chat that is ready to be created.
#[derive(Debug)]
pub struct ReadyChat {
    /// The canonical path.
    pub workspace: PathBuf,
    pub settings: ChatSettings,
    /// Remarks: sources of MCP servers and skills, and what did not fit.
    pub notes: Vec<String>,
}

/// What an agent is given in a workspace now.
#[derive(Debug, Default)]
pub struct WorkspaceConfig {
    /// Whether the workspace may run code.
    pub trust: Trust,
    pub servers: McpPlan,
    /// Sources of MCP servers and skills.
    pub notes: Vec<String>,
}

/// Why a chat cannot be created, or a file not be attached.
#[derive(Debug, thiserror::Error)]
pub enum WorkspacePolicyError {
    /// The agent may not work there.
    #[error(transparent)]
    Folder(#[from] WorkFolderError),
    /// The configuration for agents is invalid.
    #[error(transparent)]
    AgentFiles(#[from] AgentFilesError),
    #[error("attachments: {0}")]
    File(#[from] ConfinedPathError),
    #[error("attachments: the workspace has no file {0}")]
    NoFile(String),
    #[error("attachments: {0}")]
    Attachment(#[from] AttachmentError),
    /// Only texts fit into a system prompt.
    #[error("attachments: {0} is no text: send it with a message")]
    NoText(String),
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl WorkspacePolicy {
    /// Prepares a new chat: checks its folder and its configuration, and writes the system prompt.
    ///
    /// # Errors
    /// Returns what is refused, and why.
    pub fn prepare(
        &self,
        chat_id: &SessionId,
        named: &Path,
        request: ChatRequest,
    ) -> Result<ReadyChat, WorkspacePolicyError> {
        let work = self.boundary.open(named, request.workspace_source)?;
        // Evaluated again whenever the agent starts; errors are reported now.
        let mut notes = self.given(&work, &request.settings)?.notes;
        let attachments = attachments(&work, request.attached)?;
        if let Some(odd) = attachments.iter().find(|one| one.block().is_some()) {
            return Err(WorkspacePolicyError::NoText(odd.name().to_owned()));
        }
        let workspace = work.path();
        let brief = PromptInputs {
            base: &self.layers.base_prompt()?,
            workspace: &workspace.display().to_string(),
            attachments: &attachments,
            history: &request.history,
        };
        let prompt = system_prompt::compose(&brief, chat_id, &self.seed, self.prompt_tokens)?;
        notes.extend(prompt.cuts.iter().map(ToString::to_string));
        let own_root = request.workspace_source == WorkspaceSource::OwnMachine;
        let settings = ChatSettings { prompt: Some(prompt.text), own_root, ..request.settings };
        Ok(ReadyChat { workspace, settings, notes })
    }

    /// Determines what an agent is given in a workspace now, and copies skills there if it is
    /// trusted.
    ///
    /// # Errors
    /// Returns what is refused, and why.
    pub fn given(
        &self,
        work: &WorkFolder,
        settings: &ChatSettings,
    ) -> Result<WorkspaceConfig, WorkspacePolicyError> {
        let trust = match settings.distrusts_workspace {
            true => Trust::Untrusted,
            false => self.trust(work),
        };
        let servers = self.layers.servers(work, trust)?;
        let mut notes: Vec<String> = servers.explanation().lines().map(str::to_owned).collect();
        if trust == Trust::Trusted {
            let plan = skill_sync::sync(&self.layers, work.files(), skills::FOLDER)?;
            let skills = plan.fates.iter().map(|(name, fate)| format!("skill {name}: {fate}"));
            notes.extend(skills);
        }
        Ok(WorkspaceConfig { trust, servers, notes })
    }

    /// Returns the attachments of a message as content blocks.
    ///
    /// # Errors
    /// Fails if a file of the workspace cannot be read, or no model reads its type.
    pub fn enclosures(
        &self,
        chat_id: &SessionId,
        (workspace, by): (&Path, WorkspaceSource),
        attached: Vec<ChatAttachment>,
    ) -> Result<Vec<Value>, WorkspacePolicyError> {
        if attached.is_empty() {
            return Ok(Vec::new());
        }
        // Its path may lead elsewhere by now.
        let work = self.boundary.reopen(workspace, by)?;
        let attachments = attachments(&work, attached)?;
        let mut blocks: Vec<Value> = attachments.iter().filter_map(Attachment::block).collect();
        let is_text = |one: &&Attachment| match one.content() {
            AttachedContent::Entity { .. } | AttachedContent::Text(_) => true,
            AttachedContent::Image { .. } | AttachedContent::Pdf(_) => false,
        };
        let texts: Vec<Attachment> = attachments.iter().filter(is_text).cloned().collect();
        if !texts.is_empty() {
            let (text, _) = system_prompt::enclose(&texts, chat_id, &self.seed, MESSAGE_TOKENS);
            blocks.push(json!({"type": "text", "text": text}));
        }
        Ok(blocks)
    }

    /// Whether a workspace is trusted: it or one of its parents is listed.
    fn trust(&self, work: &WorkFolder) -> Trust {
        let canonical = self.trusted.iter().filter_map(|path| path.canonicalize().ok());
        let path = work.path();
        match canonical.into_iter().any(|trusted| path.starts_with(trusted)) {
            true => Trust::Trusted,
            false => Trust::Untrusted,
        }
    }
}

fn attachments(
    work: &WorkFolder,
    attached: Vec<ChatAttachment>,
) -> Result<Vec<Attachment>, WorkspacePolicyError> {
    let read = |one| match one {
        ChatAttachment::Here(attachment) => Ok(attachment),
        ChatAttachment::InWorkspace(path) => {
            let bytes = work.files().read(&path, MAX_PDF_BYTES)?;
            let bytes = bytes.ok_or_else(|| WorkspacePolicyError::NoFile(path.clone()))?;
            Ok(Attachment::read(&path, bytes)?)
        }
    };
    attached.into_iter().map(read).collect()
}
