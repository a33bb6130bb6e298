/// `ratchet experiment run`
pub(crate) mod run;
/// Text for people.
mod text;
/// A progress bar on a terminal.
pub(crate) mod progress;

use clap::{Args, Subcommand};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::experiment::service::ExperimentService;
use ratchet_stages::experiment::site::ExperimentSite;
use ratchet_store::project::ProjectId;
use serde::Serialize;

use crate::administration::Administration;
use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::print::OutputArgs;
use crate::runtime;

pub(crate) use run::{open_here, open_target};

/// The holder of the folder's lock.
const HOLDER: &str = "ratchet experiment";

/// `ratchet experiment …`
#[derive(Args, Debug)]
pub(crate) struct ExperimentCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run a target on the items of a dataset; the same command continues an interrupted run
    Run(Box<run::RunArgs>),
    /// List runs, those of other clients included
    List(ListArgs),
    /// Show a run and its trials
    Show(NamedArgs),
    /// Compare the scores of two runs, item by item
    Compare(CompareArgs),
    /// Stop a run
    Cancel(NamedArgs),
}

/// Flags of commands about experiments of one project.
#[derive(Args, Clone, Debug)]
pub(crate) struct HostArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Project name or ID in the data folder; required only if there are several. With a server the
    /// key determines the project
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only runs over this dataset
    #[arg(long, value_name = "NAME")]
    dataset: Option<String>,
    #[command(flatten)]
    host: HostArgs,
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// Name or ID of the run
    run: String,
    #[command(flatten)]
    host: HostArgs,
}

#[derive(Args, Debug)]
struct CompareArgs {
    /// Name or ID of the earlier run
    before: String,
    /// Name or ID of the later run
    after: String,
    #[command(flatten)]
    host: HostArgs,
}

/// Runs the command.
pub(crate) fn run(command: &ExperimentCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::Run(args) => run::run(args).await,
            Action::List(args) => list(args).await,
            Action::Show(args) => show(args).await,
            Action::Compare(args) => compare(args).await,
            Action::Cancel(args) => cancel(args).await,
        }
    })
}

/// Opens where experiments are, works on it, and closes it in any case.
pub(crate) async fn with_host<T>(
    args: &HostArgs,
    holder: &str,
    work: impl AsyncFnOnce(&ExperimentSite) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    data_target::with(&args.target, holder, async |target| {
        let host = host(target, args.project.as_deref()).await?;
        // Boxed: the futures of commands nest deeper than the compiler follows.
        Box::pin(work(&host)).await
    })
    .await
}

/// Where the experiments of a project are.
pub(crate) async fn host(
    target: &Administration,
    project: Option<&str>,
) -> anyhow::Result<ExperimentSite> {
    let id = target.own_project(project).await?;
    match &target.0 {
        DataTarget::Folder(store) => {
            let (store, catalog) = (store.clone(), store.catalog.clone());
            let project = ProjectId::parse(&id)?;
            Ok(ExperimentSite::Folder(Box::new(ExperimentService { store, catalog, project })))
        }
        DataTarget::Server(server) => Ok(ExperimentSite::Server(server.clone(), id)),
    }
}

async fn list(args: &ListArgs) -> anyhow::Result<Outcome> {
    let runs =
        with_host(&args.host, HOLDER, async |host| Ok(host.list(args.dataset.as_deref()).await?));
    let shown = ShownRuns { experiments: runs.await? };
    args.host.output.show(&shown, |shown| text::list(&shown.experiments))?;
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct ShownRuns {
    experiments: Vec<ratchet_core::experiment::plan::ExperimentProgress>,
}

/// A run with its trials.
#[derive(Serialize)]
struct ShownRun {
    experiment: ratchet_core::experiment::plan::ExperimentProgress,
    summary: ratchet_core::experiment::run_summary::RunSummary,
    trials: Vec<ratchet_core::experiment::runner::TrialSummary>,
}

async fn show(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let shown = with_host(&args.host, HOLDER, async |host| {
        let experiment = host.show(&args.run).await?;
        let (summary, trials) = (host.summary(&args.run).await?, host.trials(&args.run).await?);
        Ok(ShownRun { experiment, summary, trials })
    });
    let text = |shown: &ShownRun| text::one(&shown.experiment, &shown.summary, &shown.trials);
    args.host.output.show(&shown.await?, text)?;
    Ok(Outcome::Done)
}

async fn compare(args: &CompareArgs) -> anyhow::Result<Outcome> {
    let compared = with_host(&args.host, HOLDER, async |host| {
        Ok(host.compare(&args.before, &args.after, Clock::System.now()).await?)
    });
    args.host.output.show(&compared.await?, text::comparison)?;
    Ok(Outcome::Done)
}

async fn cancel(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let view = with_host(&args.host, HOLDER, async |host| {
        Ok(host.cancel(&args.run, Clock::System.now()).await?)
    });
    args.host.output.show(&view.await?, |run| text::list(std::slice::from_ref(run)))?;
    Ok(Outcome::Done)
}
