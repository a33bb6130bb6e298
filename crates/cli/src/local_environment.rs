//! What scheduled jobs need from this machine: judges, rubrics, texts and secrets, from the data
//! folder and the environment.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context;
use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::error::ModelError;
use ratchet_agent::judge::JudgeName;
use ratchet_core::calendar::Zone;
use ratchet_core::catalog::evaluator::document::CodeLanguage;
use ratchet_core::judge::evaluator;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::money::Money;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::suggestion::{Templates, advice};
use ratchet_core::secret::Secret;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::SEED;
use ratchet_stages::experiment::server_targets::ServerTargets;
use ratchet_stages::experiment::worker::{ExperimentWorker, WorkerEvaluators};
use ratchet_stages::llm_connections::ConnectError;
use ratchet_stages::schedule::{
    CodeInterpreter, EnvironmentError, JobEnvironment, ReportSettings, Runner, Scheduler,
    SuggestionTexts,
};
use ratchet_stages::score::evaluators::{EvaluationLimits, EvaluationWorker};
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::judge_factory::JudgeFactory;
use ratchet_stages::score::rubrics::Rubrics;
use ratchet_stages::user_files;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use crate::cmd::supervise;
use crate::cmd::week::webhook_secret;
use crate::config::{Config, EvaluatorConfig, FeedbackConfig, ReportConfig};

/// A data folder of this machine.
#[derive(Debug)]
struct LocalEnvironment {
    store: Store,
    data: PathBuf,
    outbound: OutboundPolicy,
    reports: ReportConfig,
    feedback: FeedbackConfig,
    evaluators: EvaluatorConfig,
}

/// Returns what scheduled jobs need from this machine.
pub(crate) fn environment(store: &Store, config: &Config) -> Arc<dyn JobEnvironment> {
    Arc::new(LocalEnvironment {
        store: store.clone(),
        data: config.data.clone(),
        outbound: config.outbound.clone(),
        reports: config.reports.clone(),
        feedback: config.feedback.clone(),
        evaluators: config.evaluators.clone(),
    })
}

/// Returns the worker of this process that runs evaluators.
pub(crate) fn evaluation_worker(store: &Store, config: &Config) -> EvaluationWorker {
    let pace = (Arc::new(SystemBackoffClock) as Arc<_>, EvaluationLimits::default());
    let owner = Uuid::new_v4().to_string();
    EvaluationWorker::new(store.clone(), environment(store, config), pace, owner)
}

/// Returns the worker of this process that runs experiments.
pub(crate) fn experiment_worker(store: &Store, config: &Config) -> ExperimentWorker {
    let targets = ServerTargets {
        operator: config.targets.0.clone(),
        outbound: config.outbound.clone(),
        supervision: supervise::supervision(),
        variables: |name| std::env::var(name).ok(),
    };
    let evaluators =
        WorkerEvaluators { commands: config.evaluators.commands(), data: config.data.clone() };
    ExperimentWorker::new(store.clone(), targets, evaluators, Arc::new(SystemBackoffClock))
}

/// Returns the scheduler of this process. `server` is the public URL.
pub(crate) fn scheduler(store: Store, config: &Config, server: String) -> Scheduler {
    let outbound = config.outbound.clone();
    let (name, zone) = (Uuid::new_v4().to_string(), Zone::of_this_machine());
    let runner = Runner { catalog: store.catalog.clone(), name, zone };
    let environment = environment(&store, config);
    Scheduler { store, environment, runner, outbound, server, clock: || Clock::System.now() }
}

impl LocalEnvironment {
    async fn open(
        &self,
        project: &ProjectId,
        name: &JudgeName,
        max_cost: Option<Money>,
    ) -> anyhow::Result<Judge> {
        let seed = self.store.secrets.sign(SEED)?;
        let factory = JudgeFactory {
            store: Some(&self.store),
            project,
            data: Some(&self.data),
            models: &self.data,
            seed: &seed,
            outbound: &self.outbound,
            supervision: &supervise::supervision(),
        };
        let allowance = Allowance { money: max_cost, ..Allowance::default() };
        let variables = |name: &str| std::env::var(name).ok();
        let budget = Budget::new(allowance);
        Ok(factory.open(name, budget, (&variables, Clock::System.now())).await?)
    }
}

impl JobEnvironment for LocalEnvironment {
    fn judge<'a>(
        &'a self,
        project: &'a ProjectId,
        name: &'a JudgeName,
        max_cost: Option<Money>,
    ) -> Pin<Box<dyn Future<Output = Result<Judge, EnvironmentError>> + Send + 'a>> {
        Box::pin(async move {
            self.open(project, name, max_cost).await.map_err(|error| missing(&error))
        })
    }

    fn rubric(&self, name: &str) -> Result<Rubric, EnvironmentError> {
        let found = Rubrics::open(&self.data).and_then(|rubrics| rubrics.find(name));
        found.map(|found| found.rubric).map_err(|error| missing(&error.into()))
    }

    fn evaluator_instructions(&self) -> Result<String, EnvironmentError> {
        let text = user_files::prompt(Some(&self.data), evaluator::FILE, evaluator::SHIPPED);
        text.map_err(|error| missing(&error.into()))
    }

    fn code_interpreter(&self, language: CodeLanguage) -> Option<CodeInterpreter> {
        let command = self.evaluators.interpreter(language)?;
        Some(CodeInterpreter { command, supervision: supervise::supervision() })
    }

    fn suggestion_texts(&self) -> Result<SuggestionTexts, EnvironmentError> {
        let texts = || -> anyhow::Result<SuggestionTexts> {
            Ok(SuggestionTexts {
                templates: templates(&self.data)?,
                instructions: suggestion_instructions(Some(&self.data))?,
            })
        };
        texts().map_err(|error| missing(&error))
    }

    fn report_settings(&self, project: &ProjectId) -> Result<ReportSettings, EnvironmentError> {
        Ok(ReportSettings {
            data: Some(self.data.clone()),
            learnings: self.reports.learnings.clone(),
            langfuse: self.reports.source_of(project).map_err(|error| missing(&error))?,
            feedback: self.feedback.of(project),
        })
    }

    fn webhook_secret(&self) -> Result<Secret, EnvironmentError> {
        webhook_secret().map_err(|error| missing(&error))
    }
}

/// An error for the log, and for everyone who may see the project without a provider's response.
fn missing(error: &anyhow::Error) -> EnvironmentError {
    let model = error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(ConnectError::Model(error)) => Some(error),
        _ => cause.downcast_ref::<ModelError>(),
    });
    let detail = format!("{error:#}");
    let public = model.map_or_else(|| detail.clone(), ModelError::without_reply);
    EnvironmentError { detail, public }
}

/// Returns the templates of suggestions: the user's in `<data>/prompts`, or the built-in ones.
pub(crate) fn templates(data: &Path) -> anyhow::Result<Templates> {
    let file = data.join("prompts").join("suggestions.toml");
    match std::fs::read_to_string(&file) {
        Ok(text) => Templates::with_overrides(&text)
            .with_context(|| format!("{} is not valid", file.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Templates::shipped()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Returns the instructions of the model that makes suggestions: the user's, or the built-in ones.
pub(crate) fn suggestion_instructions(data: Option<&Path>) -> anyhow::Result<String> {
    Ok(user_files::prompt(data, advice::FILE, advice::SHIPPED)?)
}
