/// How far a copy has come, in a file.
mod checkpoint;
mod report;

use std::convert::Infallible;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_remote::langfuse::client::{ClientLimits, LangfuseClient, ServerCredentials};
use ratchet_remote::langfuse::copy::{self, Route};
use ratchet_server::clock::Clock;

use self::checkpoint::CheckpointFile;
use self::report::{CopyReport, CopyReporter};
use super::{IntoArgs, receiver};
use crate::exit::Outcome;

/// `ratchet import langfuse`
#[derive(Args, Debug)]
pub(super) struct LangfuseArgs {
    /// URL of the Langfuse server
    url: String,
    /// Public key of the project to import
    #[arg(long, value_name = "KEY", env = "LANGFUSE_PUBLIC_KEY", hide_env_values = true)]
    langfuse_public_key: String,
    /// Secret key; prefer the environment variable, which other users cannot see
    #[arg(long, value_name = "KEY", env = "LANGFUSE_SECRET_KEY", hide_env_values = true,
          value_parser = hidden)]
    langfuse_secret_key: Secret,
    /// Import only traces recorded since this time, such as 2026-01-31T12:00:00Z
    /// [default: everything; on later runs, new data]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Import everything again, not only new data
    #[arg(long, conflicts_with = "since")]
    from_start: bool,
    /// Read and count without importing
    #[arg(long)]
    dry_run: bool,
    /// Checkpoint file [default: in the data folder or, with --server, in the current
    /// folder]
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    into: IntoArgs,
}

fn hidden(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}

/// Runs `ratchet import langfuse`.
pub(super) async fn run(args: &LangfuseArgs) -> anyhow::Result<Outcome> {
    if let Some(since) = &args.since {
        Timestamp::parse(since).with_context(|| format!("--since {since} is not a time"))?;
    }
    let access = ServerCredentials {
        url: args.url.clone(),
        public_key: args.langfuse_public_key.clone(),
        secret_key: args.langfuse_secret_key.clone(),
    };
    let from = LangfuseClient::new(access, ClientLimits::default(), Box::new(SystemBackoffClock))?;
    let report = if args.dry_run {
        copy(args, &from, None).await?
    } else {
        let work = async |into: &LangfuseClient| copy(args, &from, Some(into)).await;
        receiver::with(&args.into, "ratchet import langfuse", work).await?
    };
    args.into.output.show(&report, CopyReport::text)?;
    Ok(if report.is_clean() { Outcome::Done } else { Outcome::FoundBad })
}

async fn copy(
    args: &LangfuseArgs,
    from: &LangfuseClient,
    into: Option<&LangfuseClient>,
) -> anyhow::Result<CopyReport> {
    let file = CheckpointFile::choose(args, from.base())?;
    let mut checkpoint = file.begin(args, from.base(), Clock::System.now())?;
    let keeps = into.is_some().then_some(&file);
    let mut reporter = CopyReporter::new(keeps);
    let copied = copy::copy(&Route { from, into }, &mut checkpoint, &mut reporter).await;
    copied.with_context(|| match keeps {
        Some(file) => {
            format!("stopped; run the same command to continue (checkpoint: {})", file.shown())
        }
        None => "stopped".to_owned(),
    })?;
    Ok(CopyReport::new(checkpoint, reporter, args.dry_run))
}
