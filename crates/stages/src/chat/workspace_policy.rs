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
use super::prompt_layers::{GivenError, LayerFolders};
use super::settings::ChatSettings;
use super::skill_sync;
use super::work_folder::{Boundary, WorkFolder, WorkFolderError};

/// How many tokens the texts that go with one message may have.
const MESSAGE_TOKENS: u64 = 30_000;

/// On what ground agents stand here: where they may work, and what each of them is given.
#[derive(Clone, Debug)]
pub struct WorkspacePolicy {
    pub boundary: Boundary,
    /// Workspaces whose own settings may run programs.
    pub trusted: Vec<PathBuf>,
    /// Where the platform and the user keep what every agent gets.
    pub layers: LayerFolders,
    /// How long a system prompt may be.
    pub prompt_tokens: u64,
    /// What nobody can guess, for the markers around what others wrote.
    pub seed: Seed,
}

/// Something that is attached: here already, or a file of the workspace.
#[derive(Clone, Debug, PartialEq)]
pub enum Attached {
    /// It came with the request.
    Here(Attachment),
    /// It is to be read, by its path from the workspace.
    InWorkspace(String),
}

/// What a session is begun with.
#[derive(Clone, Debug, Default)]
pub struct ChatRequest {
    pub attached: Vec<Attached>,
    /// What was said in an earlier conversation.
    pub history: Vec<PastMessage>,
    /// How its agent is started, as far as someone said; the rest is filled in.
    pub setting: ChatSettings,
    pub exposure: WorkspaceSource,
}

/// A session that can be begun.
#[derive(Debug)]
pub struct ReadyChat {
    /// Where it works: the canonical path.
    pub workspace: PathBuf,
    /// How its agent is started.
    pub setting: ChatSettings,
    /// What is worth knowing: where tool servers and skills come from, what did not fit.
    pub notes: Vec<String>,
}

/// What an agent is given in a workspace, as things stand.
#[derive(Debug, Default)]
pub struct Given {
    /// Whether what lies in the workspace may run code.
    pub trust: Trust,
    pub servers: McpPlan,
    /// Where tool servers and skills come from.
    pub notes: Vec<String>,
}

/// Why a session cannot be begun, or something not be attached.
#[derive(Debug, thiserror::Error)]
pub enum WorkspacePolicyError {
    /// The agent may not work there.
    #[error(transparent)]
    Folder(#[from] WorkFolderError),
    /// What it should get is not in order.
    #[error(transparent)]
    Given(#[from] GivenError),
    /// A file of the workspace cannot be attached.
    #[error("attachments: {0}")]
    File(#[from] ConfinedPathError),
    /// The workspace has no such file.
    #[error("attachments: the workspace has no file {0}")]
    NoFile(String),
    /// It is of a kind that no model reads.
    #[error("attachments: {0}")]
    Attachment(#[from] AttachmentError),
    /// Only texts are told before the conversation begins.
    #[error("attachments: {0} is no text: send it with a message")]
    NoText(String),
    /// The general words are too long.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl WorkspacePolicy {
    /// Gets everything ready that a new session needs: looks at its folder and at what it would be
    /// given, and writes the system prompt.
    ///
    /// # Errors
    /// Says what is not in order, and where.
    pub fn prepare(
        &self,
        session: &SessionId,
        named: &Path,
        wish: ChatRequest,
    ) -> Result<ReadyChat, WorkspacePolicyError> {
        let work = self.boundary.open(named, wish.exposure)?;
        // It is worked out again whenever the agent is started; what is wrong is told at once.
        let mut notes = self.given(&work, &wish.setting)?.notes;
        let attachments = attachments(&work, wish.attached)?;
        if let Some(odd) = attachments.iter().find(|one| one.block().is_some()) {
            return Err(WorkspacePolicyError::NoText(odd.name().to_owned()));
        }
        let workspace = work.path();
        let brief = PromptInputs {
            base: &self.layers.base_prompt()?,
            workspace: &workspace.display().to_string(),
            attachments: &attachments,
            history: &wish.history,
        };
        let prompt = system_prompt::compose(&brief, session, &self.seed, self.prompt_tokens)?;
        notes.extend(prompt.cuts.iter().map(ToString::to_string));
        let own_root = wish.exposure == WorkspaceSource::OwnMachine;
        let setting = ChatSettings { prompt: Some(prompt.text), own_root, ..wish.setting };
        Ok(ReadyChat { workspace, setting, notes })
    }

    /// Works out what an agent is given in a workspace as things stand, and brings skills there if
    /// it is trusted.
    ///
    /// # Errors
    /// Says what is not in order, and where.
    pub fn given(
        &self,
        work: &WorkFolder,
        setting: &ChatSettings,
    ) -> Result<Given, WorkspacePolicyError> {
        let trust = match setting.distrusts_workspace {
            true => Trust::Untrusted,
            false => self.trust(work),
        };
        let servers = self.layers.servers(work, trust)?;
        let mut notes: Vec<String> = servers.explanation().lines().map(str::to_owned).collect();
        if trust == Trust::Trusted {
            let plan = skill_sync::sync(&self.layers, work.files(), skills::FOLDER)?;
            let told = plan.fates.iter().map(|(name, fate)| format!("skill {name}: {fate}"));
            notes.extend(told);
        }
        Ok(Given { trust, servers, notes })
    }

    /// What goes with a message, as blocks beside its words.
    ///
    /// # Errors
    /// A file of the workspace cannot be read, or is of a kind that no model reads.
    pub fn enclosures(
        &self,
        session: &SessionId,
        (workspace, by): (&Path, WorkspaceSource),
        attached: Vec<Attached>,
    ) -> Result<Vec<Value>, WorkspacePolicyError> {
        if attached.is_empty() {
            return Ok(Vec::new());
        }
        // Its path may lead elsewhere by now.
        let work = self.boundary.again(workspace, by)?;
        let attachments = attachments(&work, attached)?;
        let mut blocks: Vec<Value> = attachments.iter().filter_map(Attachment::block).collect();
        let is_text = |one: &&Attachment| match one.content() {
            AttachedContent::Entity { .. } | AttachedContent::Text(_) => true,
            AttachedContent::Image { .. } | AttachedContent::Pdf(_) => false,
        };
        let texts: Vec<Attachment> = attachments.iter().filter(is_text).cloned().collect();
        if !texts.is_empty() {
            let (text, _) = system_prompt::enclose(&texts, session, &self.seed, MESSAGE_TOKENS);
            blocks.push(json!({"type": "text", "text": text}));
        }
        Ok(blocks)
    }

    /// A workspace is trusted if someone named it, or a folder around it.
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
    attached: Vec<Attached>,
) -> Result<Vec<Attachment>, WorkspacePolicyError> {
    let read = |one| match one {
        Attached::Here(attachment) => Ok(attachment),
        Attached::InWorkspace(path) => {
            let bytes = work.files().read(&path, MAX_PDF_BYTES)?;
            let bytes = bytes.ok_or_else(|| WorkspacePolicyError::NoFile(path.clone()))?;
            Ok(Attachment::read(&path, bytes)?)
        }
    };
    attached.into_iter().map(read).collect()
}
