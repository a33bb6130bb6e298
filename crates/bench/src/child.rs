//! `ratchet serve` as a separate process, on a separate folder.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::{Client, Target};

/// The keys of every measured server.
pub(crate) const PUBLIC_KEY: &str = "pk-lf-bench";
pub(crate) const SECRET_KEY: &str = "sk-lf-bench";
pub(crate) const PROJECT: &str = "bench";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMode {
    Keys,
    /// Without authentication: a browser has no keys.
    Open,
}

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) target: Target,
    /// From starting the process to its first response.
    pub(crate) cold_start: Duration,
}

impl Server {
    /// Starts a server and waits until it responds.
    ///
    /// # Errors
    /// Fails if the program does not exist or does not start.
    pub(crate) async fn start(program: &Path, data: &Path, auth: AuthMode) -> anyhow::Result<Self> {
        Self::start_with(program, data, auth, &[]).await
    }

    /// The same with settings as environment variables.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) async fn start_with(
        program: &Path,
        data: &Path,
        auth: AuthMode,
        settings: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let began = Instant::now();
        let how: &[&str] = if auth == AuthMode::Open { &["--no-auth"] } else { &[] };
        let mut child = Command::new(program)
            .args(["serve", "--json", "--listen", "127.0.0.1:0"])
            .args(["--otlp-grpc", "off", "--otlp-http", "off", "--data"])
            .arg(data)
            .args(how)
            .env("RATCHET_INIT_PROJECT_ID", PROJECT)
            .env("RATCHET_INIT_PUBLIC_KEY", PUBLIC_KEY)
            .env("RATCHET_INIT_SECRET_KEY", SECRET_KEY)
            .env("RATCHET_LOG_FILTER", "warn")
            .envs(settings.iter().map(|(name, value)| (*name, value)))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = child.stdout.take().context("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let ready: Value = serde_json::from_str(&line).context("ratchet serve did not come up")?;
        let web = ready.get("web").and_then(Value::as_str).context("no address in its welcome")?;
        let basic = STANDARD.encode(format!("{PUBLIC_KEY}:{SECRET_KEY}"));
        let target = Target::parse(web, "/v1/traces")?
            .with_header("authorization", &format!("Basic {basic}"));
        let (status, _) = Client::connect(&target).await?.get("/api/public/health").await?;
        ensure!(status.is_success(), "the health check answered {status}");
        Ok(Self { child, target, cold_start: began.elapsed() })
    }

    /// The process id.
    ///
    /// # Errors
    /// Fails if it has ended.
    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("ratchet serve has ended")
    }

    /// Stops the server and waits for it.
    ///
    /// # Errors
    /// Fails if it ends with an error.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid()?).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.context("no pid")?, rustix::process::Signal::TERM)?;
        let status = self.child.wait().await?;
        if !status.success() {
            bail!("ratchet serve ended with {status}");
        }
        Ok(())
    }
}

/// Finds the program next to this one, as `cargo build --release` leaves it.
///
/// # Errors
/// Explains how to build it if it is missing.
pub(crate) fn program(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name("ratchet"),
    };
    ensure!(
        path.exists(),
        "{} is not there; build it with `cargo build --release -p ratchet-cli`",
        path.display()
    );
    Ok(path)
}

/// Bytes of all files in a folder.
///
/// # Errors
/// Fails if the folder cannot be read.
pub(crate) fn folder_bytes(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { folder_bytes(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}
