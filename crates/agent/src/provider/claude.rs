/// Conversion of a request to one prompt.
mod prompt;
/// What the program prints of a call.
pub(crate) mod report;

use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::claude::program;
use crate::claude::watchdog::Supervision;
use crate::error::ModelError;
use crate::http::{MAX_BYTES, MAX_STREAM_BYTES};
use crate::provider::{Listener, ProviderRequest};
use crate::response::ProviderResponse;
use crate::temp_folder::TempFolder;
use report::Report;

/// The maximum length of stderr in an error text.
const MAX_STDERR_BYTES: u64 = 2_000;

/// Why a call is ended whose supervisor is gone.
const LOST_SUPERVISOR: &str = "claude: the process that supervises it has ended";

/// Variables that would nest the program in the session that runs it, or export its telemetry to
/// the user's own project: judging sessions is not work to be judged.
const REMOVED_VARIABLES: [&str; 9] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_ENABLE_TELEMETRY",
    "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA",
    "OTEL_TRACES_EXPORTER",
    "OTEL_LOGS_EXPORTER",
    "OTEL_METRICS_EXPORTER",
    "TRACEPARENT",
    "TRACESTATE",
];

/// The user's `claude` program, run once per request: no tools, no settings, in an empty folder.
#[derive(Clone, Debug)]
pub struct ClaudeProgram {
    path: PathBuf,
    /// Variables in addition to the inherited environment.
    environment: Vec<(String, String)>,
    supervision: Supervision,
}

impl ClaudeProgram {
    /// Uses the program at a path, or of that name in `PATH`.
    pub fn new(path: impl Into<PathBuf>, supervision: Supervision) -> Self {
        Self { path: program::located(path.into()), environment: Vec::new(), supervision }
    }

    /// Sets an environment variable of the program.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) async fn complete(
        &self,
        provider_request: ProviderRequest<'_>,
        listener: Listener<'_>,
    ) -> Result<ProviderResponse, ModelError> {
        if !provider_request.ask.tools.is_empty() {
            return Err(ModelError::Unsupported { provider: "claude", what: "call tools of ours" });
        }
        let folder = TempFolder::make().map_err(|why| self.start_error(&why.to_string()))?;
        let mut command = self.command(provider_request, &folder)?;
        command.args(match listener {
            Some(_) => ["--output-format=stream-json", "--include-partial-messages"].as_slice(),
            None => ["--output-format=stream-json"].as_slice(),
        });
        let started = self.supervision.spawn(&mut command);
        let (child, mut group) = started.map_err(|error| self.start_error(&error.to_string()))?;
        let answer = run(child, prompt::request_body(provider_request.ask), listener);
        tokio::select! {
            answered = answer => answered,
            // It could go on, and spend, without us.
            () = group.lost() => Err(ModelError::CutStream(LOST_SUPERVISOR.to_owned())),
        }
    }

    fn command(
        &self,
        provider_request: ProviderRequest<'_>,
        folder: &TempFolder,
    ) -> Result<Command, ModelError> {
        let system = folder.write("system.md", &prompt::system(provider_request));
        let system = system.map_err(|why| self.start_error(&why.to_string()))?;
        let mut command = Command::new(&self.path);
        program::with_pipes(&mut command)
            .args(["--print", "--verbose", "--model", provider_request.model])
            .arg("--system-prompt-file")
            .arg(system)
            // No settings, hooks, MCP servers or memory; no tools; no session stored.
            .args(["--setting-sources=", "--strict-mcp-config", "--tools", ""])
            .args(["--no-session-persistence", "--disable-slash-commands"])
            .current_dir(folder.work())
            .env("CLAUDE_CODE_MAX_OUTPUT_TOKENS", provider_request.ask.max_tokens.to_string())
            // Retries are decided in one place for all providers.
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        for name in REMOVED_VARIABLES {
            command.env_remove(name);
        }
        Ok(command)
    }

    fn start_error(&self, why: &str) -> ModelError {
        ModelError::NotSetUp(program::start_error(&self.path, why))
    }
}

/// Writes the prompt to a running program and reads its output to the end. A program whose output
/// exceeds the limit is killed, as its `Child` is dropped.
async fn run(
    mut child: Child,
    request_body: String,
    listener: Listener<'_>,
) -> Result<ProviderResponse, ModelError> {
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(ModelError::NotSetUp("claude was started without pipes".to_owned()));
    };
    let write_prompt = async move {
        // A program that closes stdin early reports the reason on stdout or stderr.
        drop(stdin.write_all(request_body.as_bytes()).await);
        drop(stdin);
        Ok::<(), ModelError>(())
    };
    let ((), report, complaint) =
        tokio::try_join!(write_prompt, read_output(stdout, listener), read_complaint(stderr))?;
    let status = child.wait().await.map_err(broken)?;
    report.response(&format!("{}, {status}", complaint.trim()))
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn broken(why: std::io::Error) -> ModelError {
    ModelError::CutStream(format!("claude: {why}"))
}

/// Reads stdout up to the limit for answers of other providers.
async fn read_output(
    stdout: ChildStdout,
    mut listener: Listener<'_>,
) -> Result<Report, ModelError> {
    let limit = if listener.is_some() { MAX_STREAM_BYTES } else { MAX_BYTES };
    let mut report = Report::default();
    let mut lines = BufReader::new(stdout.take(limit as u64 + 1)).lines();
    while let Some(line) = lines.next_line().await.map_err(broken)? {
        let pieces: Listener<'_> = match &mut listener {
            Some(listener) => Some(&mut **listener),
            None => None,
        };
        report.take(&line, pieces);
    }
    if lines.get_ref().get_ref().limit() == 0 {
        return Err(ModelError::MalformedResponse(format!("it has more than {limit} bytes")));
    }
    Ok(report)
}

/// Reads the beginning of stderr and discards the rest, so that the program never waits for a
/// reader.
async fn read_complaint(stderr: ChildStderr) -> Result<String, ModelError> {
    let mut beginning = Vec::new();
    let mut stderr = stderr.take(MAX_STDERR_BYTES);
    // Output that cannot be read is only missing from an error text.
    if stderr.read_to_end(&mut beginning).await.is_ok() {
        drop(tokio::io::copy(stderr.get_mut(), &mut tokio::io::sink()).await);
    }
    Ok(String::from_utf8_lossy(&beginning).into_owned())
}
