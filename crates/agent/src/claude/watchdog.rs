use std::ffi::OsString;
use std::io::{self, PipeWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;
use tokio::process::{Child, Command};

use super::error::ClaudeError;
use super::process_identity::ProcessIdentity;
use super::process_tree::kill_group;

/// Who ends an agent when this process is gone, however that came about.
#[derive(Clone, Debug)]
pub enum Supervision {
    /// A process of its own, started with this; it runs [`supervise`](super::watchdog_main::supervise).
    By(SupervisorCommand),
    /// None: the agent may go on, and spend, without us. For tests that end it themselves.
    Nobody,
}

/// The process group of a command that ends with this process. When it is dropped, the group is
/// killed.
#[derive(Debug)]
pub struct SupervisedGroup {
    identity: ProcessIdentity,
    supervisor: Option<Supervisor>,
}

/// How the process that ends an agent with its host is started. The folder for the agent's
/// temporary files is added as the last argument.
#[derive(Clone, Debug)]
pub struct SupervisorCommand {
    program: PathBuf,
    arguments: Vec<OsString>,
}

/// The process that ends an agent with its host, as the host holds it. If it is dropped before
/// [`dismiss`](Self::dismiss), the agent is ended.
#[derive(Debug)]
pub(super) struct Supervisor {
    process: Child,
    /// Closed by the system when this process ends, whatever ended it.
    lifeline: PipeWriter,
}

impl SupervisorCommand {
    /// Another run of this very program, with these arguments.
    pub fn this_program(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        // The file may have been replaced by a newer one since we started. This one is ours still.
        let running = Some(PathBuf::from("/proc/self/exe")).filter(|path| path.exists());
        let named = || std::env::args_os().next().map(PathBuf::from);
        let program = running.or_else(|| std::env::current_exe().ok()).or_else(named);
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.unwrap_or_default(), arguments }
    }

    fn spawn(&self, temp: &Path) -> io::Result<Supervisor> {
        let (orders, lifeline) = io::pipe()?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .arg(temp)
            // It needs nothing of ours, least of all keys.
            .env_clear()
            .current_dir("/")
            .stdin(orders)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends us, as a terminal that hangs up does, must not end it.
            .process_group(0);
        Ok(Supervisor { process: command.spawn()?, lifeline })
    }
}

impl Supervision {
    /// Starts the supervisor of a process that is about to start.
    pub(super) fn begin(&self, temp: &Path) -> Result<Option<Supervisor>, ClaudeError> {
        let Self::By(command) = self else { return Ok(None) };
        let supervisor = command.spawn(temp).map_err(|error| ClaudeError::NotStarted {
            why: format!("the supervisor of the program does not start ({error})"),
        })?;
        Ok(Some(supervisor))
    }

    /// Starts a command in a process group of its own, which ends with this process.
    ///
    /// # Errors
    /// Fails if the command or its supervisor does not start.
    pub fn spawn(&self, command: &mut Command) -> io::Result<(Child, SupervisedGroup)> {
        // Without a folder of its own it is known by its group and as the parent of what it starts.
        let supervisor = self.begin(Path::new("/")).map_err(io::Error::other)?;
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let identity = ProcessIdentity::of(child.id().unwrap_or_default());
        let mut group = SupervisedGroup { identity, supervisor };
        if let Some(supervisor) = &mut group.supervisor {
            supervisor.watch(&group.identity).map_err(io::Error::other)?;
        }
        Ok((child, group))
    }
}

impl SupervisedGroup {
    /// Waits until the supervisor has ended; for ever, if there is none.
    pub async fn lost(&mut self) {
        match &mut self.supervisor {
            Some(supervisor) => supervisor.lost().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for SupervisedGroup {
    fn drop(&mut self) {
        kill_group(self.identity.pid, Signal::KILL);
        if let Some(supervisor) = self.supervisor.take() {
            supervisor.dismiss();
        }
    }
}

impl Supervisor {
    /// Says which process is to end with this one.
    pub(super) fn watch(&mut self, identity: &ProcessIdentity) -> Result<(), ClaudeError> {
        let order = format!("watch {} {}\n", identity.pid, identity.started);
        self.lifeline.write_all(order.as_bytes()).map_err(|error| ClaudeError::NotStarted {
            why: format!("the supervisor of the program has exited ({error})"),
        })
    }

    /// Waits until it has ended, which it should not before it is dismissed.
    pub(super) async fn lost(&mut self) {
        // Whatever it says of its end, it is of no use any more.
        drop(self.process.wait().await);
    }

    /// The agent has ended: there is nothing left to do.
    pub(super) fn dismiss(mut self) {
        // One that is gone already needs no telling.
        drop(self.lifeline.write_all(b"done\n"));
    }
}
