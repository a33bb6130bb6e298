//! Chat fixtures for the real and the scripted program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use ratchet_agent::claude::command::{ClaudeCommand, ClaudeFolders};
use ratchet_agent::claude::environment::{self, EnvNames};
use ratchet_agent::claude::exit::ClaudeEnd;
use ratchet_agent::claude::lines::{ClaudeLines, CliLine, FromClaude};
use ratchet_agent::claude::message::UserMessage;
use ratchet_agent::claude::process::ClaudeProcess;
use ratchet_agent::claude::process_slots::ProcessSlots;
use ratchet_agent::claude::request::{CliRequest, CliRequestKind, ToolPermissionRequest};
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::chat::reader::{LineReader, LineSignal};
use ratchet_core::money::Money;
use ratchet_testkit::claude;
use ratchet_testkit::scripted::ScriptedModel;
use ratchet_testkit::wait;
use serde_json::Value;
use uuid::Uuid;

/// Each real process takes 200 MB, and a core while it starts.
static PROCESS_SLOTS: LazyLock<ProcessSlots> = LazyLock::new(|| ProcessSlots::new(3));

/// Workspace folders and a scripted model.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    pub(crate) model: ScriptedModel,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder, model: ScriptedModel::start().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Path of a file in the workspace.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    pub(crate) fn real(&self) -> ClaudeCommand {
        self.command(&claude::real())
    }

    pub(crate) fn fake(&self) -> ClaudeCommand {
        self.command(&claude::fake())
    }

    fn command(&self, program: &Path) -> ClaudeCommand {
        let place = ClaudeFolders {
            workspace: self.path("work"),
            config: self.path("config"),
            temp: self.path("t"),
        };
        let environment = environment::inherited(&EnvNames::default());
        let environment = claude::surroundings(environment, &self.path("home"), &self.model);
        let mut command =
            ClaudeCommand::new(program, place, Supervision::Nobody).with_environment(environment);
        command.options.model = Some("claude-sonnet-5".to_owned());
        command
    }
}

/// A started chat.
pub(crate) struct Talk {
    pub(crate) process: ClaudeProcess,
    pub(crate) lines: ClaudeLines,
}

/// The outcome of waiting for a line.
#[derive(Debug)]
pub(crate) enum Until {
    Line(CliLine),
    Asked(CliRequest),
}

impl Talk {
    pub(crate) async fn start(command: &ClaudeCommand) -> Self {
        let (process, lines) = command.spawn(PROCESS_SLOTS.take().await).unwrap();
        process.initialize().await.unwrap();
        Self { process, lines }
    }

    pub(crate) async fn say(&self, words: &str) -> Uuid {
        let uuid = Uuid::new_v4();
        self.process.send_user(&UserMessage::text(uuid, words)).await.unwrap();
        uuid
    }

    /// Returns the next message.
    pub(crate) async fn next(&mut self) -> FromClaude {
        self.try_next().await.unwrap_or_else(|| panic!("the program has ended"))
    }

    /// Returns the next message; `None` after the last.
    pub(crate) async fn try_next(&mut self) -> Option<FromClaude> {
        wait::with_timeout("a line of the program", self.lines.next()).await
    }

    /// Returns how the program exited.
    pub(crate) async fn exit(&self) -> Arc<ClaudeEnd> {
        wait::with_timeout("the program's exit", self.process.wait()).await
    }

    /// Returns all lines up to the first match; a request of the program ends the wait.
    pub(crate) async fn until(
        &mut self,
        wanted: impl Fn(&CliLine) -> bool,
    ) -> (Vec<CliLine>, Until) {
        let mut passed = Vec::new();
        loop {
            match self.next().await {
                FromClaude::Line(line) if wanted(&line) => return (passed, Until::Line(line)),
                FromClaude::Line(line) => passed.push(line),
                FromClaude::Request(request) => return (passed, Until::Asked(request)),
                FromClaude::Withdrawn { .. } => {}
                other => panic!("{other:?} after {passed:#?}"),
            }
        }
    }

    /// Returns the result of the turn.
    pub(crate) async fn result(&mut self) -> Value {
        let (_, until) = self.until(|line| line.is("result")).await;
        match until {
            Until::Line(line) => json(&line),
            Until::Asked(request) => panic!("{request:?}"),
        }
    }

    /// Returns the cost of the turn as the chat reader computes it.
    pub(crate) async fn cost(&mut self, reader: &mut LineReader) -> Money {
        let (_, until) = self.until(|line| line.is("result")).await;
        let Until::Line(result) = until else { panic!("{until:?}") };
        match reader.take(result.raw.get(), None).sign {
            Some(LineSignal::Ended(end)) => end.cost.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the next request of the program, skipping lines before it.
    pub(crate) async fn asked(&mut self) -> CliRequest {
        let (passed, until) = self.until(|line| line.is("result")).await;
        match until {
            Until::Asked(request) => request,
            Until::Line(line) => panic!("{} after {passed:#?}", line.raw),
        }
    }

    /// Returns the next tool permission request.
    pub(crate) async fn asked_tool(&mut self) -> (String, ToolPermissionRequest) {
        let request = self.asked().await;
        match request.ask {
            CliRequestKind::Tool(ask) => (request.id, *ask),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn json(line: &CliLine) -> Value {
    serde_json::from_str(line.raw.get()).unwrap()
}

pub(crate) fn dollars(dollars: f64) -> Money {
    Money::from_dollars(dollars).unwrap()
}
