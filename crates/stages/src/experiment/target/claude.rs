use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratchet_agent::claude::command::{ClaudeCommand, ClaudeFolders};
use ratchet_agent::claude::environment::{self, EnvNames};
use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::options::{ClaudeOptions, PermissionMode, SystemPrompt};
use ratchet_agent::claude::process_slots::ProcessSlots;
use ratchet_agent::claude::program;
use ratchet_agent::claude::single_run::{CalledClaudeTool, ClaudeRun, RunClock, RunError};
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::environment::Variables;
use ratchet_agent::temp_folder::TempFolder;
use ratchet_core::experiment::runner::{ReportedCall, TrialCall};
use ratchet_core::experiment::target::ClaudeSpec;
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::money::Money;
use ratchet_core::record::usage::Usage;
use ratchet_core::secret::Secret;
use ratchet_store::blocking::run_blocking;
use serde_json::Value;
use tracing::warn;

use super::{CallFault, CallLimits, TargetAnswer, TargetMachine};

/// Processes at a time, whatever the concurrency: each takes about 200 MB.
const MAX_PROCESSES: usize = 16;
/// The most files of a workspace that is copied.
const MAX_FILES: usize = 100_000;

/// The `claude` program, started once per call in a workspace of its own.
#[derive(Debug)]
pub(super) struct ClaudeTarget {
    program: PathBuf,
    options: ClaudeOptions,
    variables: BTreeMap<String, String>,
    template: Option<PathBuf>,
    supervision: Supervision,
    slots: ProcessSlots,
}

impl ClaudeTarget {
    pub(super) fn new(
        spec: &ClaudeSpec,
        (folder, variables): (&Path, BTreeMap<String, String>),
        (machine, lookup): (&TargetMachine, Variables<'_>),
    ) -> Self {
        let system_prompt = spec.system_prompt.clone();
        let options = ClaudeOptions {
            model: spec.model.clone(),
            system_prompt: system_prompt.map_or(SystemPrompt::Own, SystemPrompt::Append),
            permission_mode: Some(PermissionMode::DontAsk),
            allowed_tools: spec.allowed_tools.clone(),
            max_turns: spec.max_turns,
            max_budget: spec.max_budget.and_then(Money::from_dollars),
            ..ClaudeOptions::default()
        };
        Self {
            program: match &spec.program {
                Some(own) if own.contains('/') => folder.join(own),
                Some(own) => PathBuf::from(own),
                None => program::named(lookup),
            },
            options,
            variables,
            template: spec.workspace.as_ref().map(|own| folder.join(own)),
            supervision: machine.supervision.clone(),
            slots: ProcessSlots::new(MAX_PROCESSES),
        }
    }

    pub(super) async fn call(
        &self,
        trial: &TrialCall,
        trace: &CallTrace,
        limits: CallLimits,
    ) -> Result<TargetAnswer, CallFault> {
        let seconds = limits.timeout.as_secs();
        let ended = tokio::time::timeout(limits.timeout, self.run(trial, trace)).await;
        let run =
            ended.map_err(|_| CallFault::transient(format!("no answer within {seconds} s")))??;
        if run.text.len() > limits.max_output_bytes {
            let most = limits.max_output_bytes;
            return Err(CallFault::lasting(format!("the answer is longer than {most} bytes")));
        }
        Ok(TargetAnswer {
            calls: Some(run.calls.into_iter().map(reported).collect()),
            text: run.text,
            model: run.model,
            input_tokens: run.usage.as_ref().map(Usage::input),
            output_tokens: run.usage.as_ref().map(Usage::output),
            cost: run.cost.map(Money::dollars),
        })
    }

    async fn run(&self, trial: &TrialCall, trace: &CallTrace) -> Result<ClaudeRun, CallFault> {
        let clock = RunClock::start();
        let unmade = |error: io::Error| {
            CallFault::lasting(format!("cannot make a workspace for claude: {error}"))
        };
        let folder = TempFolder::make().map_err(unmade)?;
        if let Some(template) = self.template.clone() {
            let into = folder.work().to_owned();
            let copied = run_blocking(move || copy(&template, &into, &mut 0)).await;
            copied.map_err(|error| CallFault::lasting(error.to_string()))?.map_err(unmade)?;
        }
        let folders = ClaudeFolders {
            workspace: folder.work().to_owned(),
            config: folder.beside("config"),
            temp: folder.beside("t"),
        };
        let command = ClaudeCommand::new(&self.program, folders, self.supervision.clone())
            .with_environment(self.environment(trial, trace))
            .with_options(self.options.clone());
        let message = match &trial.input {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        command.run_once(self.slots.take().await, &message, clock).await.map_err(fault)
    }

    fn environment(&self, trial: &TrialCall, trace: &CallTrace) -> Vec<(String, Secret)> {
        let mut all = environment::inherited(&EnvNames::default());
        let own = self.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
        let ours = [
            ("TRACEPARENT".to_owned(), trace.traceparent()),
            ("RATCHET_EXPERIMENT_ITEM".to_owned(), trial.item.clone()),
        ];
        all.extend(own.chain(ours).map(|(name, value)| (name, Secret::new(value))));
        all
    }
}

fn reported(called: CalledClaudeTool) -> ReportedCall {
    let CalledClaudeTool { call, parent, output, failed, started, ended } = called;
    let millis = |at: Duration| u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
    ReportedCall {
        id: call.id,
        parent,
        name: call.name,
        input: call.input,
        output,
        failed,
        started_ms: millis(started),
        ended_ms: ended.map(millis),
    }
}

fn fault(error: RunError) -> CallFault {
    match error {
        RunError::Model(error) => {
            // Its text may have the provider's reply, which is for the operator alone.
            warn!(%error, "the model of a target did not answer");
            let is_transient = error.is_passing();
            CallFault { why: error.without_reply(), is_transient, retry_after: None }
        }
        RunError::Claude(error @ (ClaudeError::Ended(_) | ClaudeError::TooSlow { .. })) => {
            CallFault::transient(error.to_string())
        }
        RunError::Claude(other) => CallFault::lasting(other.to_string()),
    }
}

/// Copies what is in a folder; links are copied as links.
fn copy(from: &Path, into: &Path, count: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        *count += 1;
        if *count > MAX_FILES {
            return Err(io::Error::other(format!("it has more than {MAX_FILES} files")));
        }
        let (kind, target) = (entry.file_type()?, into.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy(&entry.path(), &target, count)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
