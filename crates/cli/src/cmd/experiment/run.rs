/// Runs that the server runs by itself.
mod on_server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use ratchet_core::experiment::plan::{ExperimentPlan, ExperimentProgress, PlannedTarget};
use ratchet_core::experiment::target::{Target, TargetValue};
use ratchet_core::gate::outcomes::has_too_many_faults;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_remote::backoff_clock::{BackoffClock as _, SystemBackoffClock};
use ratchet_server::shutdown;
use ratchet_stages::experiment::evaluators::{EvaluatorMachine, JudgePrompts, TrialEvaluators};
use ratchet_stages::experiment::runner::{ExperimentRunner, RunEnd};
use ratchet_stages::experiment::runner_id;
use ratchet_stages::experiment::server_targets::OperatorTarget;
use ratchet_stages::experiment::site::ExperimentSite;
use ratchet_stages::experiment::target::{OpenTarget, TargetContext, TargetError, TargetMachine};
use uuid::Uuid;

use super::progress::RunProgress;
use super::{HOLDER, HostArgs, text, with_host};
use crate::cmd::supervise;
use crate::config::Config;
use crate::data_target::TargetArgs;
use crate::exit::{Outcome, Signal};
use crate::signals::Signals;

/// The longest target file.
const MAX_TARGET_BYTES: u64 = 1_000_000;

/// Flags of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// Name of the dataset
    #[arg(long, value_name = "NAME")]
    pub(crate) dataset: String,
    /// Target file, or the name of one of the server's targets, which the server runs by itself
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) target: PathBuf,
    /// Environment of the target, such as beta
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: Option<String>,
    /// Evaluator, such as exact, json-match, numeric:0.01, trajectory, routing, command:NAME or
    /// experiment-accuracy:JUDGE; may be repeated
    #[arg(long = "evaluator", value_name = "EVALUATOR", default_value = "exact")]
    pub(crate) evaluators: Vec<String>,
    /// Name of the run; by default the target's name and the time
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// Which items, such as metadata.split=test
    #[arg(long, value_name = "FILTER")]
    pub(crate) filter: Option<String>,
    /// At most so many items, the first ones
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Trials per item
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeats: u32,
    /// Calls at a time; by default as the target says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: Option<u16>,
    /// Stop once this was spent, in US dollars (exit code 5)
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) max_cost: Option<f64>,
    /// Use answers of earlier runs of the same target version; the target must name its version
    #[arg(long)]
    pub(crate) cache: bool,
    /// Agent version that the target runs, by ID: the run is evidence for promotions of this version
    /// only
    #[arg(long, value_name = "ID")]
    pub(crate) agent_version: Option<String>,
    /// What the run is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

pub(super) async fn run(args: &RunArgs) -> anyhow::Result<Outcome> {
    with_host(&args.host, HOLDER, async |host| {
        let end = execute(args, host, IfDone::Refuse).await?;
        let run = end.run().clone();
        let summary = host.summary(&run.id).await?;
        let listed = host.incomplete_trials(&run.id, text::LISTED_FAULTS).await?;
        let shown = text::SummarisedRun { run, summary };
        args.host.output.show(&shown, |shown| text::one(&shown.run, &shown.summary, &listed))?;
        outcome(&end)
    })
    .await
}

/// What becomes of a run of that name and plan that is done already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfDone {
    Refuse,
    /// It is returned as it is.
    Accept,
}

/// Runs a target on a dataset, and returns how it ended.
///
/// # Errors
/// Fails if the target file is invalid, and if the host refuses or cannot be reached.
pub(crate) async fn execute(
    args: &RunArgs,
    host: &ExperimentSite,
    if_done: IfDone,
) -> anyhow::Result<RunEnd> {
    if let Some(name) = on_server::named(&args.target, host) {
        return on_server::execute(args, host, name).await;
    }
    let named = (args.environment.as_deref(), args.agent_version.as_deref());
    let mut target = open_target(&args.target, named, host).await?;
    if let Some(concurrency) = args.concurrency {
        target.limits.concurrency = concurrency.into();
    }
    let evaluators = open_evaluators(&args.evaluators, (&args.host.target, host)).await?;
    let now = SystemBackoffClock.now();
    let name = args.run.clone().unwrap_or_else(|| format!("{} {now}", target.identity.name));
    let request = ExperimentPlan {
        evaluator_versions: evaluators.versions(),
        ..request(args, name, target.identity.clone())
    };
    let run = host.open(&request, now).await?;
    anyhow::ensure!(
        run.state != "done" || if_done == IfDone::Accept,
        "run {} is done already; choose another name for a new run",
        run.name
    );
    let runner = ExperimentRunner {
        host: host.clone(),
        target,
        evaluators,
        clock: Arc::new(SystemBackoffClock),
        id: runner_id::new(),
        ended_runners: ended_runners(host, &run).await?,
    };
    let progress = RunProgress::new(&run);
    let (stopper, stop) = shutdown::signal();
    let mut end = None;
    let work = async {
        end = Some(runner.run(run, &|run| progress.report(run), stop.requested()).await);
        Ok(())
    };
    // The first signal lets calls in progress end, the second does not.
    Signals::listen()?.supervise_children(work, &stopper).await?;
    progress.done();
    Ok(end.context("the runner did not end")??)
}

fn request(args: &RunArgs, run: String, target: PlannedTarget) -> ExperimentPlan {
    ExperimentPlan {
        dataset: args.dataset.clone(),
        run,
        target,
        evaluators: args.evaluators.clone(),
        evaluator_versions: BTreeMap::new(),
        repeats: args.repeats,
        filter: args.filter.clone(),
        limit: args.limit,
        max_cost: args.max_cost,
        cache: args.cache,
        description: args.description.clone(),
    }
}

/// Opens a target file, to be called from this machine; its version is another one if it is named.
pub(crate) async fn open_target(
    file: &Path,
    (environment, version): (Option<&str>, Option<&str>),
    host: &ExperimentSite,
) -> anyhow::Result<OpenTarget> {
    let shown = file.display();
    let size = std::fs::metadata(file).with_context(|| format!("cannot read {shown}"))?.len();
    anyhow::ensure!(size <= MAX_TARGET_BYTES, "{shown} is longer than {MAX_TARGET_BYTES} bytes");
    let content = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let mut target = Target::parse(&content).with_context(|| format!("{shown} is not a target"))?;
    if let Some(version) = version {
        target.options.version = Some(TargetValue::Text(version.to_owned()));
    }
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or_else(|| Path::new(".")).canonicalize();
    let folder = folder.with_context(|| format!("cannot find the folder of {shown}"))?;
    let name =
        file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let opened = open_here(&OperatorTarget { target, folder }, (&name, environment), host).await;
    opened.with_context(|| format!("{shown} cannot be called"))
}

/// Opens a target, to be called from this machine.
pub(crate) async fn open_here(
    of: &OperatorTarget,
    (name, environment): (&str, Option<&str>),
    host: &ExperimentSite,
) -> Result<OpenTarget, TargetError> {
    let context = TargetContext {
        name: name.to_owned(),
        folder: of.folder.clone(),
        environment: environment.map(str::to_owned),
        machine: TargetMachine {
            host: Some(host.clone()),
            // The command calls from the machine of the person who starts it.
            outbound: OutboundPolicy::unrestricted(),
            supervision: supervise::supervision(),
            now: SystemBackoffClock.now(),
        },
    };
    let lookup = |name: &str| std::env::var(name).ok();
    OpenTarget::open(&of.target, &context, &lookup).await
}

/// Opens evaluators, to be run on this machine: commands are those of its `ratchet.toml`, and
/// prompts those of its data folder.
pub(crate) async fn open_evaluators(
    texts: &[String],
    (args, host): (&TargetArgs, &ExperimentSite),
) -> anyhow::Result<TrialEvaluators> {
    let evaluators = TrialEvaluators::parse(texts).context("--evaluator")?;
    let config = Config::load(&args.config, Vec::new())?;
    let data = args.server.is_none().then_some(config.data.as_path());
    let machine = EvaluatorMachine {
        host: host.clone(),
        commands: config.evaluators.commands(),
        prompts: JudgePrompts::read(data)?,
        outbound: OutboundPolicy::unrestricted(),
        supervision: supervise::supervision(),
        clock: Arc::new(SystemBackoffClock),
        seed: Uuid::new_v4().to_string(),
    };
    let lookup = |name: &str| std::env::var(name).ok();
    evaluators.open(machine, &lookup).await.context("--evaluator")
}

/// Runners of an earlier command that are gone: a data folder has one process at a time, and on this
/// machine processes can be looked for.
async fn ended_runners(
    host: &ExperimentSite,
    run: &ExperimentProgress,
) -> anyhow::Result<Vec<String>> {
    if run.calls == 0 {
        return Ok(Vec::new());
    }
    let trials = host.trials(&run.id).await?;
    let mut ended: Vec<String> = trials.into_iter().filter_map(|trial| trial.runner).collect();
    ended.sort();
    ended.dedup();
    if matches!(host, ExperimentSite::Server(..)) {
        ended.retain(|runner| runner_id::has_ended(runner));
    }
    Ok(ended)
}

fn outcome(end: &RunEnd) -> anyhow::Result<Outcome> {
    let run = end.run();
    match end {
        RunEnd::OverBudget(_) => return Ok(Outcome::OverBudget),
        RunEnd::Stopped(_) => {
            eprintln!("ratchet: stopped; --run {:?} continues it", run.name);
            return Ok(Outcome::Stopped(Signal::Interrupt));
        }
        RunEnd::Done(_) | RunEnd::Cancelled(_) => {}
    }
    anyhow::ensure!(
        !has_too_many_faults(run.faults, run.done),
        "{} of {} trials had no answer, more than a tenth: the run says nothing about the agent; \
         see FAULT above. The same command with --run {:?} repeats these trials only",
        run.faults,
        run.done,
        run.name
    );
    Ok(Outcome::Done)
}
