//! Calls of targets: one interface over all kinds.

/// Local commands.
mod command;
/// HTTP endpoints, servers with the contract of AgentCore, and agents in AgentCore Runtime.
mod http;
/// Bodies of requests and parts of responses.
mod template;
/// The `claude` program.
mod claude;
/// A prompt and a model.
mod prompt;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::environment::Variables;
use ratchet_core::experiment::plan::PlannedTarget;
use ratchet_core::experiment::runner::{ReportedCall, TrialCall};
use ratchet_core::experiment::target::{
    InvalidTarget, MissingVariable, Target, TargetEnvironment, TargetKind,
};
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::time::Timestamp;

use super::site::ExperimentSite;
use claude::ClaudeTarget;
use command::CommandTarget;
use http::HttpTarget;
use prompt::PromptTarget;

pub(super) use prompt::open_model;

/// A target that is ready to be called.
#[derive(Debug)]
pub struct OpenTarget {
    /// What runs record of it.
    pub identity: PlannedTarget,
    pub limits: CallLimits,
    call: Callable,
}

/// Limits of the calls of a target.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Calls at a time.
    pub concurrency: usize,
    /// Calls a minute.
    pub requests_per_minute: Option<u32>,
    /// Further calls after an infrastructure fault.
    pub retries: u32,
    pub timeout: Duration,
    /// The most bytes of an answer.
    pub max_output_bytes: usize,
}

#[derive(Debug)]
enum Callable {
    Command(CommandTarget),
    Http(Box<HttpTarget>),
    Claude(Box<ClaudeTarget>),
    Prompt(Box<PromptTarget>),
}

/// The answer of a target, and what it reports of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetAnswer {
    pub text: String,
    pub model: Option<String>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// In US dollars.
    pub cost: Option<f64>,
    /// Calls of tools in their order, if the target reports them itself.
    pub calls: Option<Vec<ReportedCall>>,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFault {
    pub why: String,
    /// Whether another call may succeed: the fault is one of the infrastructure.
    pub is_transient: bool,
    /// How long the target asks to wait.
    pub retry_after: Option<Duration>,
}

/// Gets the parts of an answer that is streamed.
pub type AnswerListener<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Why a target cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error(transparent)]
    Invalid(#[from] InvalidTarget),
    #[error(transparent)]
    Variable(#[from] MissingVariable),
    #[error("{field}: {problem}")]
    Setting { field: String, problem: String },
}

/// Where a target is called from.
#[derive(Clone, Debug)]
pub struct TargetContext {
    /// The name, unless the target has its own.
    pub name: String,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
    /// The environment to call it in.
    pub environment: Option<String>,
    pub machine: TargetMachine,
}

/// What calls need from the machine that makes them.
#[derive(Clone, Debug)]
pub struct TargetMachine {
    /// Where prompts and LLM connections are.
    pub host: Option<ExperimentSite>,
    /// Which addresses may be called.
    pub outbound: OutboundPolicy,
    /// Who ends commands and the `claude` program with this process.
    pub supervision: Supervision,
    /// The time of the prices of models.
    pub now: Timestamp,
}

impl CallFault {
    pub(super) fn transient(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_transient: true, retry_after: None }
    }

    pub(super) fn lasting(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_transient: false, retry_after: None }
    }
}

impl OpenTarget {
    /// Resolves the references of a target: variables, and the version of a prompt. A reference is to a
    /// variable of the environment or of the target; `lookup` reads those of the process.
    ///
    /// # Errors
    /// Fails if something that it refers to is not there.
    pub async fn open(
        target: &Target,
        context: &TargetContext,
        lookup: Variables<'_>,
    ) -> Result<Self, TargetError> {
        let environment = target.environment(context.environment.as_deref())?;
        let options = &target.options;
        let variables = variables(target, &environment, lookup)?;
        let known = variables.clone();
        // Variables of the environment come before those of the target, and these before the process.
        let with_variables = |name: &str| known.get(name).cloned().or_else(|| lookup(name));
        let lookup: Variables<'_> = &with_variables;
        let version = options.version.as_ref();
        let mut version = version.map(|value| value.resolve("version", lookup)).transpose()?;
        let (folder, machine) = (&context.folder, &context.machine);
        let address = (lookup, &machine.outbound);
        let call = match &target.kind {
            TargetKind::Command(spec) => {
                let supervision = machine.supervision.clone();
                Callable::Command(CommandTarget::new(spec, (folder, variables), supervision))
            }
            TargetKind::Http(spec) => {
                Callable::Http(Box::new(HttpTarget::http(spec, &environment, address)?))
            }
            TargetKind::AgentCore(spec) => {
                Callable::Http(Box::new(HttpTarget::agentcore(spec, &environment, address)?))
            }
            TargetKind::AgentCoreArn(spec) => {
                let agent = HttpTarget::agentcore_arn(spec, &environment, address).await?;
                Callable::Http(Box::new(agent))
            }
            TargetKind::Claude(spec) => {
                let claude = ClaudeTarget::new(spec, (folder, variables), (machine, lookup));
                Callable::Claude(Box::new(claude))
            }
            TargetKind::Prompt(spec) => {
                let prompt = PromptTarget::open(spec, (machine, lookup)).await?;
                // What a label stands for changes, so the version is part of what was run.
                version = version.or_else(|| prompt.version());
                Callable::Prompt(Box::new(prompt))
            }
        };
        let identity = PlannedTarget {
            name: options.name.clone().unwrap_or_else(|| context.name.clone()),
            kind: target.kind.as_str().to_owned(),
            fingerprint: target.fingerprint(context.environment.as_deref(), version.as_deref()),
            version,
            environment: context.environment.clone(),
            on_server: false,
        };
        let limits = CallLimits {
            concurrency: options.concurrency as usize,
            requests_per_minute: options.requests_per_minute,
            retries: options.retries,
            timeout: target.timeout(),
            max_output_bytes: usize::try_from(options.max_output_bytes).unwrap_or(usize::MAX),
        };
        Ok(Self { identity, limits, call })
    }

    /// Calls the target once. The call ends at the time-out, with all it started.
    ///
    /// # Errors
    /// Says why there is no answer.
    pub async fn call(
        &self,
        trial: &TrialCall,
        trace: &CallTrace,
    ) -> Result<TargetAnswer, CallFault> {
        self.call_streamed(trial, trace, &|_| {}).await
    }

    /// Calls the target once. The parts of an answer that is streamed are passed on as they come.
    ///
    /// # Errors
    /// Says why there is no answer.
    pub async fn call_streamed(
        &self,
        trial: &TrialCall,
        trace: &CallTrace,
        listener: AnswerListener<'_>,
    ) -> Result<TargetAnswer, CallFault> {
        match &self.call {
            Callable::Command(command) => command.call(trial, trace, self.limits).await,
            Callable::Http(endpoint) => endpoint.call(trial, trace, (self.limits, listener)).await,
            Callable::Claude(claude) => claude.call(trial, trace, self.limits).await,
            Callable::Prompt(prompt) => prompt.call(trial, self.limits).await,
        }
    }
}

/// The variables of an environment, those of the target included.
fn variables(
    target: &Target,
    environment: &TargetEnvironment,
    lookup: Variables<'_>,
) -> Result<BTreeMap<String, String>, MissingVariable> {
    let all = target.options.variables.iter().chain(&environment.variables);
    all.map(|(name, value)| {
        Ok((name.clone(), value.resolve(&format!("variables.{name}"), lookup)?))
    })
    .collect()
}

fn invalid(field: &str, problem: impl Into<String>) -> TargetError {
    TargetError::Setting { field: field.to_owned(), problem: problem.into() }
}
