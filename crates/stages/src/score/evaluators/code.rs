use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::bounded_command::{BoundedCommand, CommandError};
use ratchet_core::catalog::evaluator::document::{CodeLanguage, EvaluatorVersion};
use ratchet_core::judge::evaluator::{
    EvaluatedRecord, EvaluatorVerdict, code_answer, code_request,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::schedule::JobEnvironment;

/// Calls `evaluate` of an evaluator in Python.
const PYTHON_DRIVER: &str = include_str!("driver.py");
/// The same in Node.
const NODE_DRIVER: &str = include_str!("driver.js");
/// How long an evaluator may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much memory it may use.
const MAX_MEMORY: u64 = 512 << 20;
/// How long its answer may be.
const MAX_OUTPUT: usize = 64 << 10;
/// Processes at a time: the machine has other work.
const AT_ONCE: usize = 2;

/// Runs evaluators of type code through the interpreters that the operator has named.
pub(super) struct CodeRunner {
    environment: Arc<dyn JobEnvironment>,
    processes: Semaphore,
}

/// Why code has no verdict.
pub(super) enum CodeFailure {
    /// The operator has named no interpreter, it does not start, or it was ended from outside: no
    /// fault of the code.
    NoInterpreter(String),
    /// The code fails, or exceeds a limit.
    Code(String),
}

impl CodeFailure {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::NoInterpreter(why) | Self::Code(why) => why,
        }
    }
}

impl CodeRunner {
    pub(super) fn new(environment: Arc<dyn JobEnvironment>) -> Self {
        Self { environment, processes: Semaphore::new(AT_ONCE) }
    }

    /// Why a version cannot run here; `None` if it can, or is no code.
    pub(super) fn obstacle(&self, version: &EvaluatorVersion) -> Option<&'static str> {
        let (language, _) = version.code()?;
        let is_there = self.environment.code_interpreter(language).is_some();
        (!is_there).then(|| language.without_interpreter())
    }

    /// The verdicts of code on a record.
    pub(super) async fn run(
        &self,
        (language, source): (CodeLanguage, &str),
        record: &EvaluatedRecord,
    ) -> Result<Vec<EvaluatorVerdict>, CodeFailure> {
        let interpreter = self
            .environment
            .code_interpreter(language)
            .ok_or_else(|| CodeFailure::NoInterpreter(language.without_interpreter().to_owned()))?;
        let command = BoundedCommand {
            command: interpreter.command,
            arguments: driver(language).map(str::to_owned).to_vec(),
            timeout: TIMEOUT,
            max_memory: MAX_MEMORY,
            max_output: MAX_OUTPUT,
            supervision: interpreter.supervision,
        };
        // The semaphore is never closed.
        let _permit = self.processes.acquire().await;
        let request = code_request(source, record).to_string();
        let printed = command.run(request.as_bytes()).await.map_err(|error| match error {
            CommandError::NotStarted { .. } | CommandError::Unsupervised => {
                CodeFailure::NoInterpreter(error.to_string())
            }
            other => CodeFailure::Code(format!("the code has no answer: {other}")),
        })?;
        code_answer(&printed).map_err(CodeFailure::Code)
    }
}

/// The arguments that make an interpreter call `evaluate`.
const fn driver(language: CodeLanguage) -> [&'static str; 2] {
    match language {
        CodeLanguage::Python => ["-c", PYTHON_DRIVER],
        CodeLanguage::Typescript => ["-e", NODE_DRIVER],
    }
}

/// Hash of all that code is given.
pub(super) fn fingerprint(source: &str, record: &EvaluatedRecord) -> String {
    let digest = Sha256::digest(code_request(source, record).to_string());
    digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}
