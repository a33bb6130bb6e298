use std::path::PathBuf;
use std::time::Duration;

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::calendar::Week;
use ratchet_core::improve::code::CodeFile;
use ratchet_core::improve::events::{self, WeekEvent};
use ratchet_store::blocking::run_blocking;

use super::{codebase, repository_log};

/// A priority from which on a proposal becomes a task: 1% of traffic for a change of text.
const TASK_PRIORITY: f64 = 0.01;
const COOL_DOWN: Duration = Duration::from_secs(24 * 60 * 60);

/// What weekly documents are made from besides recordings, and when they are sent.
#[derive(Clone, Debug)]
pub struct FeedbackSettings {
    /// The folder of the agent's code.
    pub code: Option<PathBuf>,
    /// Repositories whose commits are events.
    pub repositories: Vec<PathBuf>,
    /// A file with incidents.
    pub incidents: Option<PathBuf>,
    /// Who ends `git` with this process; without it repositories are not read.
    pub supervision: Option<Supervision>,
    /// The least priority of a task.
    pub task_priority: f64,
    /// Failures from which on a new pattern is announced between two documents; `None` for never.
    pub threshold: Option<usize>,
    /// The least time between two announcements of new patterns of an agent.
    pub cool_down: Duration,
    /// Whether a document's evidence on a Langfuse server gets comments.
    pub comments: bool,
}

impl Default for FeedbackSettings {
    fn default() -> Self {
        Self {
            code: None,
            repositories: Vec::new(),
            incidents: None,
            supervision: None,
            task_priority: TASK_PRIORITY,
            threshold: None,
            cool_down: COOL_DOWN,
            comments: false,
        }
    }
}

/// Files and events that were read.
#[derive(Clone, Debug, Default)]
pub struct ReadInput {
    pub code: Vec<CodeFile>,
    pub events: Vec<WeekEvent>,
}

impl FeedbackSettings {
    /// Reads code, commits and incidents. What cannot be read is missing in the document, which must
    /// not fail because of it, and is reported in the log.
    pub async fn read(&self, week: &Week) -> ReadInput {
        let mut read = ReadInput::default();
        if let Some(root) = self.code.clone() {
            match run_blocking(move || codebase::read(&root)).await {
                Ok(Ok(files)) => read.code = files,
                Ok(Err(error)) => tracing::warn!(%error, "cannot read feedback.code"),
                Err(error) => tracing::warn!(%error, "cannot read feedback.code"),
            }
        }
        for folder in &self.repositories {
            let Some(supervision) = self.supervision.clone() else { break };
            match repository_log::commits(folder, week, supervision).await {
                Ok(commits) => read.events.extend(commits),
                Err(error) => tracing::warn!(%error, "cannot read feedback.repository"),
            }
        }
        if let Some(file) = &self.incidents {
            let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
            match text.and_then(|text| events::read_incidents(&text)) {
                Ok(incidents) => read.events.extend(incidents),
                Err(error) => tracing::warn!(error, "cannot read feedback.incidents"),
            }
        }
        read
    }
}
