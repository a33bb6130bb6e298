use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use ratchet_agent::claude::watchdog::{SupervisedGroup, Supervision};
use ratchet_core::experiment::runner::TrialCall;
use ratchet_core::experiment::target::CommandSpec;
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::record::limit::elide;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::{CallFault, CallLimits, TargetAnswer};

/// Bytes of stderr that a fault quotes.
const QUOTED_BYTES: usize = 2_000;
/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// A command that is started once per call.
#[derive(Clone, Debug)]
pub(super) struct CommandTarget {
    program: String,
    arguments: Vec<String>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
    supervision: Supervision,
}

impl CommandTarget {
    pub(super) fn new(
        spec: &CommandSpec,
        (folder, variables): (&Path, BTreeMap<String, String>),
        supervision: Supervision,
    ) -> Self {
        let mut words = spec.command.iter().cloned();
        let folder =
            spec.directory.as_ref().map_or_else(|| folder.to_owned(), |own| folder.join(own));
        Self {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            folder,
            variables,
            supervision,
        }
    }

    pub(super) async fn call(
        &self,
        trial: &TrialCall,
        trace: &CallTrace,
        limits: CallLimits,
    ) -> Result<TargetAnswer, CallFault> {
        let (mut child, mut group) = self.spawn(trial, trace)?;
        let input = serde_json::to_vec(&trial.input).unwrap_or_default();
        let seconds = limits.timeout.as_secs();
        let (status, stdout, stderr) = tokio::select! {
            ended = exchange(&mut child, &input, limits.max_output_bytes) => ended?,
            () = tokio::time::sleep(limits.timeout) => {
                return Err(CallFault::transient(format!("no answer within {seconds} s")));
            }
            () = group.lost() => {
                return Err(CallFault::transient("the process that supervises it has ended"));
            }
        };
        answer(status, stdout, &stderr)
    }

    fn spawn(
        &self,
        trial: &TrialCall,
        trace: &CallTrace,
    ) -> Result<(Child, SupervisedGroup), CallFault> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .envs(&self.variables)
            .env("TRACEPARENT", trace.traceparent())
            .env("RATCHET_EXPERIMENT_ITEM", &trial.item)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = self.supervision.spawn(&mut command);
        started
            .map_err(|error| CallFault::lasting(format!("cannot start {}: {error}", self.program)))
    }
}

/// Writes the input while it reads the output, so that neither side waits for the other.
async fn exchange(
    child: &mut Child,
    input: &[u8],
    max_bytes: usize,
) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), CallFault> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async move {
        if let Some(mut stdin) = stdin {
            // A command that does not read its input closes it.
            drop(stdin.write_all(input).await);
            drop(stdin.shutdown().await);
        }
    };
    let ((), stdout, stderr) = tokio::join!(write, bounded(stdout, max_bytes), last_bytes(stderr));
    let stdout = stdout?;
    let status = child.wait().await;
    let status =
        status.map_err(|error| CallFault::transient(format!("cannot wait for it: {error}")))?;
    Ok((status, stdout, stderr))
}

/// Reads an answer up to its limit.
async fn bounded(
    stream: Option<impl AsyncRead + Unpin>,
    max_bytes: usize,
) -> Result<Vec<u8>, CallFault> {
    let Some(mut stream) = stream else { return Ok(Vec::new()) };
    let (mut read, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    loop {
        let count = stream.read(&mut chunk).await;
        let count = count
            .map_err(|error| CallFault::transient(format!("cannot read its answer: {error}")))?;
        if count == 0 {
            return Ok(read);
        }
        read.extend(chunk.get(..count).unwrap_or_default());
        if read.len() > max_bytes {
            return Err(CallFault::lasting(format!("the answer is longer than {max_bytes} bytes")));
        }
    }
}

/// Reads to the end, and returns the last bytes.
async fn last_bytes(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let Some(mut stream) = stream else { return Vec::new() };
    let (mut last, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    while let Ok(count) = stream.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        last.extend(chunk.get(..count).unwrap_or_default());
        let surplus = last.len().saturating_sub(QUOTED_BYTES);
        drop(last.drain(..surplus));
    }
    last
}

fn answer(status: ExitStatus, stdout: Vec<u8>, stderr: &[u8]) -> Result<TargetAnswer, CallFault> {
    if !status.success() {
        let said = String::from_utf8_lossy(stderr);
        let said = elide(said.trim(), QUOTED_BYTES);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        return Err(CallFault::transient(format!("it ended with {status}{said}")));
    }
    let text = String::from_utf8(stdout);
    let text = text.map_err(|_| CallFault::lasting("the answer is not UTF-8"))?;
    let text = text
        .strip_suffix('\n')
        .map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(TargetAnswer { text: text.to_owned(), ..TargetAnswer::default() })
}
