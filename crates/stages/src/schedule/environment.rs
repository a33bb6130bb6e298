use std::fmt;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::judge::JudgeName;
use ratchet_core::catalog::evaluator::document::CodeLanguage;
use ratchet_core::judge::evaluator;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::money::Money;
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::secret::Secret;
use ratchet_remote::langfuse::client::ServerCredentials;
use ratchet_store::project::ProjectId;

use crate::improve::settings::FeedbackSettings;
use crate::score::judge::Judge;

/// What scheduled jobs need from the machine that runs them. It is asked for each run, so that
/// changed files and variables count.
pub trait JobEnvironment: fmt::Debug + Send + Sync {
    /// Prepares a judge; no model is called yet.
    fn judge<'a>(
        &'a self,
        project: &'a ProjectId,
        name: &'a JudgeName,
        max_cost: Option<Money>,
    ) -> BoxFuture<'a, Result<Judge, EnvironmentError>>;

    /// Returns the rubric of this name.
    ///
    /// # Errors
    /// Fails if there is none, or if its file is invalid.
    fn rubric(&self, name: &str) -> Result<Rubric, EnvironmentError>;

    /// Returns the general instructions of online evaluators.
    ///
    /// # Errors
    /// Fails if the user's file cannot be read.
    fn evaluator_instructions(&self) -> Result<String, EnvironmentError> {
        Ok(evaluator::SHIPPED.to_owned())
    }

    /// Returns what runs evaluators in a language, if the operator has named a command.
    fn code_interpreter(&self, _language: CodeLanguage) -> Option<CodeInterpreter> {
        None
    }

    /// Returns the texts that suggestions are made from.
    ///
    /// # Errors
    /// Fails if the user's files are invalid.
    fn suggestion_texts(&self) -> Result<SuggestionTexts, EnvironmentError>;

    /// Returns the settings of a project's reports.
    ///
    /// # Errors
    /// Fails if they are incomplete.
    fn report_settings(&self, project: &ProjectId) -> Result<ReportSettings, EnvironmentError>;

    /// Returns the secret that signs messages to webhooks.
    ///
    /// # Errors
    /// Fails if it is not set.
    fn webhook_secret(&self) -> Result<Secret, EnvironmentError>;
}

/// What runs evaluators of type code.
#[derive(Clone, Debug)]
pub struct CodeInterpreter {
    /// The program and its arguments, as the operator wrote them.
    pub command: Vec<String>,
    /// Who ends it with this process.
    pub supervision: Supervision,
}

/// The settings of a project's reports.
#[derive(Clone, Debug, Default)]
pub struct ReportSettings {
    /// The data folder that gets reports as files.
    pub data: Option<PathBuf>,
    /// The file that suggestions are appended to, where a schedule names none.
    pub learnings: Option<PathBuf>,
    /// The Langfuse server that sessions are read from and scores are written to, instead of the
    /// project.
    pub langfuse: Option<ServerCredentials>,
    /// What weekly documents are made from besides recordings, and when they are sent.
    pub feedback: FeedbackSettings,
}

/// The texts that suggestions are made from.
#[derive(Clone, Debug)]
pub struct SuggestionTexts {
    /// Used where no model makes suggestions.
    pub templates: Templates,
    /// The instructions of the model that makes them.
    pub instructions: String,
}

/// Something that a job needs is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct EnvironmentError {
    /// For the log.
    pub detail: String,
    /// For everyone who may see the project: without a provider's response.
    pub public: String,
}
