//! `ratchet doctor`: checks everything a server needs and changes nothing, so that it may also
//! check a folder that a server is using. With `--server` the server checks itself.

/// The data folder and the disk under it.
mod disk;
/// The addresses a server would use.
mod ports;
/// A server that is running.
mod server;

use clap::Args;
use ratchet_server::clock::Clock;
use ratchet_store::integrity::{self, Finding, Health};
use serde::Serialize;

use crate::config::Config;
use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, table};
use crate::runtime;

/// `ratchet doctor`
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Read all data and verify checksums
    #[arg(long, conflicts_with = "server")]
    deep: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    /// A server would fail or lose something.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
struct Check {
    about: String,
    state: State,
    detail: String,
}

impl Check {
    fn new(about: &str, state: State, detail: impl Into<String>) -> Self {
        Self { about: about.to_owned(), state, detail: detail.into() }
    }
}

impl From<Finding> for Check {
    fn from(finding: Finding) -> Self {
        let state = match finding.health {
            Health::Well => State::Ok,
            Health::Doubtful => State::Warn,
            Health::Ill => State::Bad,
        };
        Self { about: finding.about, state, detail: finding.detail }
    }
}

/// Runs `ratchet doctor`.
pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<Outcome> {
    let config = Config::load(&args.target.config, Vec::new())?;
    let checks = match &args.target.server {
        Some(url) => {
            let server = data_target::server(url, &config.credentials)?;
            runtime::block_on(async { Ok(server::checks(&server, Clock::System.now()).await) })?
        }
        None => runtime::block_on(async { Ok(folder_checks(&config, args.deep).await) })?,
    };
    args.output.show(&checks, |checks| text(checks))?;
    let is_bad = checks.iter().any(|check| check.state == State::Bad);
    Ok(if is_bad { Outcome::FoundBad } else { Outcome::Done })
}

async fn folder_checks(config: &Config, is_deep: bool) -> Vec<Check> {
    let mut checks = disk::checks(config, Clock::System.now());
    checks.extend(store_checks(config));
    if is_deep && disk::is_data_folder(&config.data) {
        eprintln!("reading all data in {}; this may take some minutes", config.data.display());
        checks.extend(deep_checks(config));
    }
    checks.extend(ports::checks(config.addresses).await);
    checks
}

fn store_checks(config: &Config) -> Vec<Check> {
    if !disk::is_data_folder(&config.data) {
        return Vec::new();
    }
    match integrity::check_integrity(&config.data) {
        Ok(findings) => findings.into_iter().map(Check::from).collect(),
        Err(error) => vec![Check::new("database", State::Bad, error.to_string())],
    }
}

fn deep_checks(config: &Config) -> Vec<Check> {
    match integrity::check_checksums(&config.data) {
        Ok(findings) => findings.into_iter().map(Check::from).collect(),
        Err(error) => {
            vec![Check::new("deep", State::Bad, format!("{:#}", anyhow::Error::from(error)))]
        }
    }
}

fn text(checks: &[Check]) -> String {
    let rows: Vec<_> = checks.iter().map(row).collect();
    table(["CHECK", "STATUS", "DETAIL"], &rows)
}

fn row(check: &Check) -> [String; 3] {
    let state = match check.state {
        State::Ok => "ok",
        State::Warn => "warn",
        State::Bad => "BAD",
    };
    [check.about.clone(), state.to_owned(), check.detail.clone()]
}
