//! A real `ratchet serve` process on free ports.
//!
//! The caller passes the binary's path, which only its own crate knows:
//! `env!("CARGO_BIN_EXE_ratchet")`. No test waits by sleeping: the process prints a line when it
//! listens, and its end closes that pipe.

mod log;

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::RecvTimeoutError;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, kill_process, setrlimit};
use serde_json::Value;
use tempfile::TempDir;

use crate::http::{self, Answer, Request};
use crate::wait::{self, Lines, TIMEOUT};
use log::Log;

pub use rustix::process::Signal;

/// The project of every started process.
pub const PROJECT: &str = "test-project";
/// The public key of every started process.
pub const PUBLIC_KEY: &str = "pk-lf-test";
/// The secret key of every started process.
pub const SECRET_KEY: &str = "sk-lf-test";

/// Raises this process's limit on open files, as far as the system allows.
pub fn allow_open_files(wanted: u64) {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if limit.current.is_some_and(|current| current < most) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }).unwrap();
    }
}

/// A process to start.
#[derive(Debug)]
pub struct Launch {
    command: Command,
    home: TempDir,
    /// Its standard input; empty by default.
    typed: Option<std::fs::File>,
}

impl Launch {
    /// `ratchet serve` on a data folder, on free ports, with a preset project and key, in an empty
    /// working directory and without settings from the environment.
    pub fn serve(binary: &str, data: &Path) -> Self {
        let mut launch = Self::command(binary);
        launch.command.args(["serve", "--json", "--listen", "127.0.0.1:0"]);
        launch.command.args(["--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0"]);
        launch.command.arg("--data").arg(data);
        launch
            .env("RATCHET_INIT_PROJECT_ID", PROJECT)
            .env("RATCHET_INIT_PUBLIC_KEY", PUBLIC_KEY)
            .env("RATCHET_INIT_SECRET_KEY", SECRET_KEY)
            // Models, webhooks and push services of tests are on this machine.
            .env("RATCHET_OUTBOUND_ALLOW", "localhost")
    }

    /// Any other command, in an empty working directory and without settings from the environment.
    pub fn command(binary: &str) -> Self {
        let home = TempDir::new().unwrap();
        let mut command = Command::new(binary);
        // Help is as wide as this variable, and snapshots need one width.
        command.current_dir(home.path()).env_remove("COLUMNS");
        // Nor may a test touch the data of the user who runs it.
        command.env("XDG_DATA_HOME", home.path().join("data-home"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RATCHET_") {
                command.env_remove(name);
            }
        }
        Self { command, home, typed: None }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Adds a file to the working directory.
    #[must_use]
    pub fn file(self, name: &str, content: &str) -> Self {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Sets the standard input.
    #[must_use]
    pub fn typing(self, text: &str) -> Self {
        let mut launch = self.file("typed", text);
        launch.typed = Some(std::fs::File::open(launch.home.path().join("typed")).unwrap());
        launch
    }

    /// The command itself, for anything else; the folder lives as long as the second part.
    pub fn into_parts(self) -> (Command, TempDir) {
        (self.command, self.home)
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// On timeout; the message has the command.
    #[track_caller]
    pub fn run(mut self) -> Finished {
        let typed = self.typed.take().map_or_else(Stdio::null, Stdio::from);
        self.command.stdin(typed).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = wait::output(&format!("{:?}", self.command), self.command.spawn().unwrap());
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts a server and waits until it listens.
    ///
    /// # Panics
    /// If it does not; the message has its log.
    #[track_caller]
    pub fn start(self) -> Ratchet {
        self.try_start().unwrap_or_else(|log| panic!("the server did not start:\n{log}"))
    }

    /// Starts a server and waits until it listens.
    ///
    /// # Errors
    /// Returns its log if it ended instead.
    pub fn try_start(mut self) -> Result<Ratchet, String> {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let log = Log::follow(child.stderr.take().unwrap());
        let lines = Lines::of(child.stdout.take().unwrap());
        let first = lines.try_next();
        let mut ratchet = Ratchet { child, lines, log, ready: Value::Null, _home: self.home };
        match first {
            Ok(line) => ratchet.ready = serde_json::from_str(&line).unwrap(),
            Err(_) => return Err(ratchet.wait().log),
        }
        Ok(ratchet)
    }
}

/// The output of a finished command.
#[derive(Debug)]
pub struct Finished {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Ratchet {
    child: Child,
    lines: Lines,
    log: Log,
    /// The line it printed when it started to listen.
    pub ready: Value,
    _home: TempDir,
}

impl Ratchet {
    /// The URL of the web pages and the APIs: `http://127.0.0.1:…`.
    pub fn web(&self) -> &str {
        self.ready["web"].as_str().unwrap()
    }

    /// The same as a socket address.
    pub fn address(&self) -> SocketAddr {
        self.web().trim_start_matches("http://").parse().unwrap()
    }

    /// Sends a request with the preset key, on a new connection.
    ///
    /// # Panics
    /// If the connection breaks before the end of the response.
    #[track_caller]
    pub fn send(&self, request: Request) -> Answer {
        http::send(self.address(), &request.with_key(PUBLIC_KEY, SECRET_KEY)).unwrap()
    }

    /// The URL of OTLP over HTTP's own port.
    pub fn otlp_http(&self) -> &str {
        self.ready["otlpHttp"].as_str().unwrap()
    }

    /// The URL of OTLP over gRPC.
    pub fn otlp_grpc(&self) -> &str {
        self.ready["otlpGrpc"].as_str().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Waits for a text in the log.
    ///
    /// # Panics
    /// On timeout; the message has the log.
    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        let is_there = self.log.wait_for(text, TIMEOUT);
        assert!(is_there, "no {text:?} in:\n{}", self.log());
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// On timeout; the message has its log.
    #[track_caller]
    pub fn wait(mut self) -> Ended {
        let mut stdout = Vec::new();
        loop {
            match self.lines.try_next() {
                Ok(line) => stdout.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.log()),
            }
        }
        let status = self.child.wait().unwrap();
        Ended { status, stdout, log: self.log.whole() }
    }

    /// Kills it with SIGKILL, like a power failure: nothing is flushed.
    #[track_caller]
    pub fn kill_hard(self) -> Ended {
        self.signal(Signal::KILL);
        self.wait()
    }
}

/// The output of an ended server.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// Lines after the first.
    pub stdout: Vec<String>,
    pub log: String,
}

impl Drop for Ratchet {
    fn drop(&mut self) {
        // It may have ended before, and then both of these fail rightly.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
