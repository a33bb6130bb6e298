mod arguments;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratchet_core::secret::Secret;
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::error::ClaudeError;
use super::hook::{self, HookRule};
use super::lines::ClaudeLines;
use super::mcp::McpHandler;
use super::options::{ClaudeOptions, SubagentText, SystemPrompt};
use super::process::{self, ClaudeProcess};
use super::process_slots::ProcessSlot;
use super::program;
use super::watchdog::Supervision;

/// Name of the MCP configuration file in the chat's temporary folder. It may hold secrets: the
/// host removes it once the program has started.
pub const MCP_FILE: &str = "mcp.json";

/// How the program is started, and where.
#[derive(Clone, Debug)]
pub struct ClaudeCommand {
    program: PathBuf,
    pub folders: ClaudeFolders,
    /// All that it sees of the environment; [`super::environment`] knows what it may.
    pub environment: Vec<(String, Secret)>,
    pub options: ClaudeOptions,
    /// What it asks us before and after it acts.
    pub hooks: Vec<HookRule>,
    /// Servers of tools that live in this process, by name.
    pub servers: BTreeMap<String, McpHandler>,
    /// How long we wait for it.
    pub timeouts: ClaudeTimeouts,
    supervision: Supervision,
}

/// The folders of a process.
#[derive(Clone, Debug)]
pub struct ClaudeFolders {
    /// What it works on. It must exist.
    pub workspace: PathBuf,
    /// Where it keeps conversations and settings: one for a conversation and all its forks.
    pub config: PathBuf,
    /// Folder for temporary files: one for each chat, so that whatever the
    /// program starts is known by it. Keep it short, for sockets lie in it.
    pub temp: PathBuf,
}

/// How long we wait for a process.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeTimeouts {
    /// Until it is ready.
    pub start: Duration,
    /// Until it answers a request.
    pub control: Duration,
    /// Idle timeout between two lines of a busy process; longer than its longest tool call.
    pub silence: Duration,
    /// Grace period between the request to end and the kill.
    pub end: Duration,
}

impl Default for ClaudeTimeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            control: Duration::from_secs(30),
            silence: Duration::from_secs(30 * 60),
            end: Duration::from_secs(10),
        }
    }
}

impl ClaudeCommand {
    /// The program at a path, or of that name in `PATH`, with no environment and no options; and who
    /// ends it when we are gone.
    pub fn new(
        program: impl Into<PathBuf>,
        folders: ClaudeFolders,
        supervision: Supervision,
    ) -> Self {
        Self {
            program: program::located(program.into()),
            folders,
            environment: Vec::new(),
            options: ClaudeOptions::default(),
            hooks: Vec::new(),
            servers: BTreeMap::new(),
            timeouts: ClaudeTimeouts::default(),
            supervision,
        }
    }

    /// The same, with this environment.
    #[must_use]
    pub fn with_environment(self, environment: Vec<(String, Secret)>) -> Self {
        Self { environment, ..self }
    }

    /// The same, with these options.
    #[must_use]
    pub fn with_options(self, options: ClaudeOptions) -> Self {
        Self { options, ..self }
    }

    /// Starts the program. It is there at once, and ready after
    /// [`ClaudeProcess::initialize`]; read its lines meanwhile if there are hooks.
    ///
    /// # Errors
    /// Says why it does not start, or which folder cannot be made.
    pub fn spawn(&self, slot: ProcessSlot) -> Result<(ClaudeProcess, ClaudeLines), ClaudeError> {
        self.folders.make()?;
        let mut command = Command::new(&self.program);
        command.env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value.expose())));
        program::with_pipes(&mut command)
            .args(arguments::of(&self.options, &self.folders)?)
            .env("CLAUDE_CONFIG_DIR", &self.folders.config)
            .env("TMPDIR", &self.folders.temp)
            .env("CLAUDE_CODE_ENTRYPOINT", "sdk-ratchet")
            // It tells when it waits for a person, and remembers files so that they can be had back.
            .env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1")
            .env("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true")
            .current_dir(&self.folders.workspace)
            // Signals for us are not for it, and one for its group reaches all it started.
            .process_group(0);
        // Before the agent, so that there is no moment in which it could go on without us.
        let supervisor = self.supervision.begin(&self.folders.temp)?;
        let child = command.spawn().map_err(|error| ClaudeError::NotStarted {
            why: program::start_error(&self.program, &error.to_string()),
        })?;
        process::supervise_process((child, supervisor), self, slot)
    }

    /// What `initialize` says: all that is too long, or too secret, for arguments.
    pub(super) fn initialize_request(&self) -> Value {
        let options = &self.options;
        let mut said = Map::new();
        match &options.system_prompt {
            SystemPrompt::Own => {}
            SystemPrompt::Append(text) => {
                drop(said.insert("appendSystemPrompt".into(), json!(text)))
            }
            SystemPrompt::Replace(text) => drop(said.insert("systemPrompt".into(), json!(text))),
        }
        if !self.hooks.is_empty() {
            said.insert("hooks".into(), hook::registration(&self.hooks));
        }
        if !options.agents.is_empty() {
            said.insert("agents".into(), json!(options.agents));
        }
        if !self.servers.is_empty() {
            said.insert("sdkMcpServers".into(), self.servers.keys().cloned().collect());
        }
        if options.subagent_text == SubagentText::Told {
            said.insert("forwardSubagentText".into(), json!(true));
        }
        if let Some(schema) = &options.json_schema {
            said.insert("jsonSchema".into(), schema.clone());
        }
        Value::Object(said)
    }
}

impl ClaudeFolders {
    /// Makes the folders that are ours to make, closed to others.
    fn make(&self) -> Result<(), ClaudeError> {
        for folder in [&self.config, &self.temp] {
            make_private(folder)
                .map_err(|source| ClaudeError::Folder { path: folder.clone(), source })?;
        }
        Ok(())
    }

    /// Writes a document that others must not read beside the temporary files of the chat.
    pub(super) fn write_private(
        &self,
        name: &str,
        document: &Value,
    ) -> Result<PathBuf, ClaudeError> {
        let path = self.temp.join(name);
        write_private(&path, document.to_string().as_bytes())
            .map_err(|source| ClaudeError::Folder { path: path.clone(), source })?;
        Ok(path)
    }
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.write(true).create(true).truncate(true).open(path)?;
    io::Write::write_all(&mut file, bytes)
}
