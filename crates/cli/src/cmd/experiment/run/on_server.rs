use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use ratchet_core::experiment::plan::PlannedTarget;
use ratchet_remote::backoff_clock::{BackoffClock as _, SystemBackoffClock};
use ratchet_stages::experiment::runner::RunEnd;
use ratchet_stages::experiment::site::ExperimentSite;

use super::{RunArgs, request};
use crate::cmd::experiment::progress::RunProgress;

/// How often progress is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The name of a target of the server: a word that no file has.
pub(super) fn named<'a>(target: &'a Path, host: &ExperimentSite) -> Option<&'a str> {
    let name = target.to_str().filter(|name| !name.contains('/') && !name.ends_with(".toml"));
    name.filter(|_| matches!(host, ExperimentSite::Server(..)) && !target.exists())
}

/// Starts a run on the server and waits for its end.
pub(super) async fn execute(
    args: &RunArgs,
    host: &ExperimentSite,
    name: &str,
) -> anyhow::Result<RunEnd> {
    ensure!(args.concurrency.is_none(), "--concurrency is the target's own on a server");
    ensure!(args.agent_version.is_none(), "--agent-version needs a target file");
    let now = SystemBackoffClock.now();
    let run = args.run.clone().unwrap_or_else(|| format!("{name} {now}"));
    let target = PlannedTarget {
        name: name.to_owned(),
        environment: args.environment.clone(),
        ..PlannedTarget::default()
    };
    let mut run = host.open(&request(args, run, target), now).await?;
    let progress = RunProgress::new(&run);
    let stop = tokio::signal::ctrl_c();
    tokio::pin!(stop);
    while run.state == "running" {
        if run.max_cost.is_some_and(|cap| run.cost >= cap) {
            progress.done();
            return Ok(RunEnd::OverBudget(run));
        }
        tokio::select! {
            _ = &mut stop => {
                progress.done();
                eprintln!("ratchet: the server goes on; `ratchet experiment cancel` stops the run");
                return Ok(RunEnd::Stopped(run));
            }
            () = SystemBackoffClock.pause(LOOK_EVERY) => {}
        }
        run = host.show(&run.id).await?;
        progress.report(&run);
    }
    progress.done();
    Ok(if run.state == "cancelled" { RunEnd::Cancelled(run) } else { RunEnd::Done(run) })
}
