//! Runs a command of the operator to its end: without an environment, in a process group of its own,
//! and with limits of time, memory and output. At a limit the whole group is killed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::claude::watchdog::{SupervisedGroup, Supervision};

/// How much of what a command says of its failure is kept.
const MAX_ERROR_BYTES: usize = 4 << 10;
/// How much of it a message has.
const MAX_ERROR_CHARS: usize = 500;
/// The greatest file that a command may write.
#[cfg(target_os = "linux")]
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Files that a command may have open.
#[cfg(target_os = "linux")]
const MAX_OPEN_FILES: u64 = 64;

/// A command and its limits.
#[derive(Clone, Debug)]
pub struct BoundedCommand {
    /// The program and its arguments, as the operator wrote them.
    pub command: Vec<String>,
    /// Arguments that follow them.
    pub arguments: Vec<String>,
    pub timeout: Duration,
    /// Memory of each process, in bytes; only Linux can limit it.
    pub max_memory: u64,
    /// What it may print, in bytes.
    pub max_output: usize,
    /// Who ends it if this process is gone before it is.
    pub supervision: Supervision,
}

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("{program} does not start: {source}; check the command in ratchet.toml")]
    NotStarted { program: String, source: io::Error },
    #[error("it took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("it printed more than {0} bytes")]
    TooMuchOutput(usize),
    #[error("it failed ({status}): {said}")]
    Failed { status: String, said: String },
    #[error("its answer cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("the process that supervises it has ended")]
    Unsupervised,
}

impl BoundedCommand {
    /// Runs the command with some input, and returns what it printed.
    ///
    /// # Errors
    /// Fails if it does not start, exceeds a limit, or ends with another code than 0.
    pub async fn run(&self, input: &[u8]) -> Result<String, CommandError> {
        let (mut child, mut group) = self.start()?;
        // Before it gets its input, and so before it runs what is not the operator's.
        self.limit(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))?;
        let run = async {
            tokio::select! {
                answer = self.communicate(&mut child, input) => answer,
                () = group.lost() => Err(CommandError::Unsupervised),
            }
        };
        let answer = tokio::time::timeout(self.timeout, run).await;
        answer.map_err(|_elapsed| CommandError::TimedOut(self.timeout))?
    }

    fn start(&self) -> Result<(Child, SupervisedGroup), CommandError> {
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        let mut command = Command::new(located(program));
        command
            .args(self.command.iter().skip(1))
            .args(&self.arguments)
            .env_clear()
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let program = program.to_owned();
        let started = self.supervision.spawn(&mut command);
        started.map_err(|source| CommandError::NotStarted { program, source })
    }

    #[cfg(target_os = "linux")]
    fn limit(&self, pid: Option<Pid>) -> Result<(), CommandError> {
        use rustix::process::{Resource, Rlimit, prlimit};
        let seconds = self.timeout.as_secs().saturating_add(1);
        for (resource, most) in [
            (Resource::Data, self.max_memory),
            (Resource::Cpu, seconds),
            (Resource::Fsize, MAX_FILE_BYTES),
            (Resource::Nofile, MAX_OPEN_FILES),
            (Resource::Core, 0),
        ] {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            prlimit(pid, resource, limit).map_err(io::Error::from)?;
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    fn limit(&self, _pid: Option<Pid>) -> Result<(), CommandError> {
        Ok(())
    }

    async fn communicate(&self, child: &mut Child, input: &[u8]) -> Result<String, CommandError> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // It may answer without reading all of it.
                stdin.write_all(input).await.ok();
            }
            Ok(())
        };
        let read = bounded(stdout, self.max_output);
        let listen = async { Ok(end_of(stderr).await) };
        // Too long an output ends it at once.
        let ((), printed, said) = tokio::try_join!(write, read, listen)?;
        let status = child.wait().await?;
        if !status.success() {
            let said: String = said.trim().chars().rev().take(MAX_ERROR_CHARS).collect();
            let said = said.chars().rev().collect();
            return Err(CommandError::Failed { status: status.to_string(), said });
        }
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }
}

/// All of a stream, unless it is too long.
async fn bounded(
    stream: Option<impl AsyncRead + Unpin>,
    max: usize,
) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
        stream.take(limit).read_to_end(&mut bytes).await?;
    }
    if bytes.len() > max { Err(CommandError::TooMuchOutput(max)) } else { Ok(bytes) }
}

/// The end of a stream as text; it is read to its end, so that its writer never waits.
async fn end_of(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let excess = kept.len().saturating_sub(MAX_ERROR_BYTES);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The path of a program: it has no `PATH` of its own to be found by.
fn located(program: &str) -> PathBuf {
    if program.contains('/') {
        return PathBuf::from(program);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(program));
    places.find(|path| Path::is_file(path)).unwrap_or_else(|| PathBuf::from(program))
}

#[cfg(test)]
mod tests {
    use ratchet_testkit::wait;

    use super::*;

    fn shell(script: &str) -> BoundedCommand {
        BoundedCommand {
            command: vec!["/bin/sh".to_owned(), "-c".to_owned()],
            arguments: vec![script.to_owned()],
            timeout: Duration::from_secs(60),
            max_memory: 256 << 20,
            max_output: 1_000,
            supervision: Supervision::Nobody,
        }
    }

    async fn failure(command: BoundedCommand) -> String {
        command.run(b"").await.expect_err("must fail").to_string()
    }

    #[tokio::test]
    async fn a_command_gets_its_input_and_no_environment() {
        let printed = shell("cat; echo \"[$HOME]\"").run(b"hello ").await.unwrap();
        assert_eq!(printed, "hello []\n");
    }

    #[tokio::test]
    async fn limits_end_a_command() {
        assert!(failure(shell("yes")).await.contains("more than 1000 bytes"));
        let slow = BoundedCommand { timeout: Duration::from_millis(200), ..shell("sleep 600") };
        assert!(failure(slow).await.contains("longer than"));
        assert!(failure(shell("echo oops >&2; exit 3")).await.contains("exit status: 3): oops"));
        let missing = BoundedCommand { command: vec!["/no/program".to_owned()], ..shell("") };
        assert!(failure(missing).await.contains("does not start"));
    }

    #[tokio::test]
    async fn what_a_command_leaves_behind_is_killed() {
        let printed = shell("sleep 600 >/dev/null 2>&1 & echo $!").run(b"").await.unwrap();
        let pid: i32 = printed.trim().parse().unwrap();
        // A killed process may be a zombie until its new parent reaps it.
        let is_gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        wait::until("the process is gone", is_gone);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn memory_is_limited() {
        let greedy = BoundedCommand {
            command: ["/usr/bin/python3", "-I", "-c"].map(str::to_owned).to_vec(),
            // The input comes after the limit.
            ..shell("import sys; sys.stdin.read(); x = bytearray(1 << 30); print(len(x))")
        };
        if !Path::new("/usr/bin/python3").exists() {
            return;
        }
        assert!(failure(greedy).await.contains("MemoryError"));
    }
}
