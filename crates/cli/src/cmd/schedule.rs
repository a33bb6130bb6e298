use ratchet_core::judge::offline;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use ratchet_core::judge::rubric;
use ratchet_core::money::Money;
use ratchet_remote::ratchet::RatchetClient;
use ratchet_server::api::schedules::{
    ScheduleRequest, ScheduleRunView, ScheduleScope, ScheduleState, ScheduleView,
};
use ratchet_server::clock::Clock;
use ratchet_server::shutdown;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::schedule::{Runner, Scheduler};
use ratchet_stages::score::rubrics::Rubrics;
use ratchet_store::Store;
use ratchet_store::catalog::ScheduledJob;
use ratchet_store::project::ProjectId;
use serde_json::json;
use uuid::Uuid;

use crate::administration::Administration;
use crate::cmd::score::dollars;
use crate::cmd::week::{NotifyArgs, ScopeArgs, webhook_secret, zone};
use crate::config::Config;
use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::local_environment;
use crate::print::table;
use crate::runtime;
use crate::startup_message;

/// Interval of polling a server for the end of a run.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// `ratchet schedule …`
#[derive(Args, Debug)]
pub(crate) struct ScheduleCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List schedules and their next run
    List(ProjectArgs),
    /// Add a schedule, or update the one with this name
    Add(Box<AddArgs>),
    /// Run a schedule now
    Run(NamedArgs),
    /// Pause a schedule
    Pause(NamedArgs),
    /// Resume a schedule; missed runs are not repeated
    Resume(NamedArgs),
    /// Remove a schedule; the weekly one can only be paused
    Remove(NamedArgs),
    /// List the last runs of a schedule
    History(NamedArgs),
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// Schedule name
    #[arg(default_value = "weekly")]
    name: String,
    #[command(flatten)]
    schedule: ProjectArgs,
}

#[derive(Args, Debug)]
struct AddArgs {
    /// Schedule name
    name: String,
    /// Cron expression with five fields, or @weekly and the like
    #[arg(long, value_name = "CRON", default_value = "0 2 * * SUN")]
    cron: String,
    /// Time zone, such as Europe/Berlin [default: local]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Job: `weekly-report` scores the last complete week and reports on it; `score` scores the
    /// sessions of the last seven days; `review-draw` draws the review sample of the last complete
    /// week; `feedback` publishes the weekly document of the latest week whose review is finished
    #[arg(long, value_name = "JOB", default_value = ScheduledJob::WEEKLY_REPORT,
        value_parser = ScheduledJob::KINDS)]
    job: String,
    /// Judge: `offline` (free, no key), `anthropic[:MODEL]`, `bedrock:MODEL`,
    /// `openai:MODEL`, `claude[:MODEL]`, `connection:NAME[:MODEL]`, or `none`; API keys are read
    /// from the environment of the server
    #[arg(long, value_name = "JUDGE", default_value = offline::NAME)]
    judge: String,
    /// Rubric name, built-in or in the data folder
    #[arg(long, value_name = "NAME", default_value = rubric::DEFAULT)]
    rubric: String,
    /// Budget per run in USD; the next run continues
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Money>,
    /// Append new suggestions to this file on the server
    #[arg(long, value_name = "FILE")]
    learnings: Option<PathBuf>,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    notify: NotifyArgs,
    #[command(flatten)]
    schedule: ProjectArgs,
}

/// Runs `ratchet schedule`.
pub(crate) fn run(command: &ScheduleCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Add(args) => add(args).await,
            Action::Run(args) => run_now(args).await,
            Action::Pause(args) => switch(args, ScheduleState::Paused).await,
            Action::Resume(args) => switch(args, ScheduleState::On).await,
            Action::Remove(args) => remove(args).await,
            Action::History(args) => history(args).await,
        }
    })
}

/// Whether there is a schedule of that name; who is wrong learns which there are.
async fn must_be_there(target: &Administration, project: &str, name: &str) -> anyhow::Result<()> {
    let schedules = target.schedules(project).await?;
    let names: Vec<&str> = schedules.iter().map(|known| known.name.as_str()).collect();
    let is_there = names.contains(&name);
    ensure!(is_there, "schedule {name} not found; available: {}", names.join(", "));
    Ok(())
}

async fn list(args: &ProjectArgs) -> anyhow::Result<Outcome> {
    let views = data_target::with_project(args, "ratchet schedule", async |target, project| {
        target.schedules(&project.id).await
    })
    .await?;
    args.output.show(&views, |views| schedules_text(views))?;
    Ok(Outcome::Done)
}

fn schedules_text(views: &[ScheduleView]) -> String {
    let row = |view: &ScheduleView| {
        let next = view.next.clone().unwrap_or_else(|| "-".to_owned());
        let state = view.state.as_str().to_owned();
        let (cron, zone, judge) = (view.cron.clone(), view.zone.clone(), view.judge.clone());
        let job = view.job.clone();
        let scope = Some(view.scope.words()).filter(|words| !words.is_empty());
        let scope = scope.unwrap_or_else(|| "all".to_owned());
        [view.name.clone(), state, job, scope, cron, zone, judge, view.rubric.clone(), next]
    };
    let rows: Vec<_> = views.iter().map(row).collect();
    let head = ["NAME", "STATUS", "JOB", "SESSIONS", "CRON", "ZONE", "JUDGE", "RUBRIC", "NEXT RUN"];
    let table = table(head, &rows);
    format!(
        "{table}Schedules run while `ratchet serve` is up; `ratchet schedule run` starts one now.\n"
    )
}

async fn add(args: &AddArgs) -> anyhow::Result<Outcome> {
    let request = ScheduleRequest {
        cron: args.cron.clone(),
        zone: zone(args.zone.as_deref())?.name().to_owned(),
        // An older server knows only the weekly report.
        job: Some(args.job.clone()).filter(|job| job != ScheduledJob::WEEKLY_REPORT),
        judge: Some(args.judge.clone()),
        rubric: Some(args.rubric.clone()),
        max_cost: args.max_cost.map(Money::dollars),
        scope: ScheduleScope::of(&args.scope.scope()),
        learnings: args.learnings.as_ref().map(|file| file.display().to_string()),
        slack: args.notify.slack.clone(),
        webhook: args.notify.webhook.clone(),
    };
    let made =
        data_target::with_project(&args.schedule, "ratchet schedule", async |target, project| {
            if let DataTarget::Folder(_) = &target.0 {
                args.can_run_here()?;
            }
            target.save_schedule(&project.id, &args.name, request).await
        });
    args.schedule.output.show(&made.await?, |view| schedules_text(std::slice::from_ref(view)))?;
    Ok(Outcome::Done)
}

impl AddArgs {
    /// Whether this machine has what a run will need; a server knows its own.
    fn can_run_here(&self) -> anyhow::Result<()> {
        let config = Config::load(&self.schedule.target.config, Vec::new())?;
        let found = Rubrics::open(&config.data)?.find(&self.rubric)?.rubric;
        let rubrics = config.data.join("rubrics");
        ensure!(
            found.name == self.rubric,
            "schedules use rubric names, not files: put the file into {} and use {}",
            rubrics.display(),
            found.name
        );
        if self.notify.webhook.is_some() {
            webhook_secret()?;
        }
        Ok(())
    }
}

async fn switch(args: &NamedArgs, to: ScheduleState) -> anyhow::Result<Outcome> {
    let switched =
        data_target::with_project(&args.schedule, "ratchet schedule", async |target, project| {
            must_be_there(target, &project.id, &args.name).await?;
            target.switch_schedule(&project.id, &args.name, to).await
        });
    let view = switched.await?;
    args.schedule.output.show(&view, |view| schedules_text(std::slice::from_ref(view)))?;
    Ok(Outcome::Done)
}

async fn remove(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let removed =
        data_target::with_project(&args.schedule, "ratchet schedule", async |target, project| {
            must_be_there(target, &project.id, &args.name).await?;
            target.remove_schedule(&project.id, &args.name).await
        });
    args.schedule.output.show(&removed.await?, |gone| format!("removed {}\n", gone.removed))?;
    Ok(Outcome::Done)
}

async fn history(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let runs =
        data_target::with_project(&args.schedule, "ratchet schedule", async |target, project| {
            must_be_there(target, &project.id, &args.name).await?;
            target.schedule_runs(&project.id, &args.name).await
        });
    args.schedule.output.show(&runs.await?, |runs| {
        let row = |run: &ScheduleRunView| {
            let ended = run.ended.clone().unwrap_or_else(|| "-".to_owned());
            [run.due.clone(), run.outcome.clone(), ended, run.message.clone()]
        };
        let rows: Vec<_> = runs.iter().map(row).collect();
        table(["DUE", "OUTCOME", "END", "RESULT"], &rows)
    })?;
    Ok(Outcome::Done)
}

async fn run_now(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let outcome =
        data_target::with_project(&args.schedule, "ratchet schedule", async |target, project| {
            must_be_there(target, &project.id, &args.name).await?;
            match &target.0 {
                DataTarget::Folder(folder) => {
                    run_here(args, folder, ProjectId::parse(&project.id)?).await
                }
                DataTarget::Server(server) => run_there(server, &project.id, &args.name).await,
            }
        });
    let line = outcome.await?;
    args.schedule.output.show(&json!({ "message": line }), |_| format!("{line}\n"))?;
    Ok(Outcome::Done)
}

async fn run_here(args: &NamedArgs, folder: &Store, project: ProjectId) -> anyhow::Result<String> {
    let (_stopper, stop) = shutdown::signal();
    let schedules = folder.catalog.schedules(project.clone()).await?;
    let schedule = schedules.into_iter().find(|known| known.name == args.name);
    let schedule = schedule.with_context(|| format!("schedule {} not found", args.name))?;
    let catalog = folder.catalog.clone();
    let runner = Runner { catalog, name: Uuid::new_v4().to_string(), zone: zone(None)? };
    let claimed = runner.claim_now(&project, schedule, Clock::System.now()).await?;
    let run = claimed.with_context(|| format!("{} is running already", args.name))?;
    let config = Config::load(&args.schedule.target.config, Vec::new())?;
    let url = config.url.clone();
    let server = url.map_or_else(|| startup_message::url(config.addresses.web.0), |url| url.0);
    let scheduler = local_environment::scheduler(folder.clone(), &config, server);
    let scheduler = Scheduler { runner, ..scheduler };
    Ok(scheduler.run_one(&run, &|| stop.is_requested()).await?)
}

/// Has a server run a schedule, and waits until it has.
async fn run_there(server: &RatchetClient, project: &str, name: &str) -> anyhow::Result<String> {
    let runs = ["v1", "projects", project, "schedules", name, "runs"];
    let asked: ScheduleRunView = server.post(&runs, &()).await?;
    loop {
        let known: Vec<ScheduleRunView> = server.get(&runs).await?;
        let ours = known.into_iter().find(|run| run.due == asked.due);
        let ours = ours.context("the schedule was removed")?;
        if ours.ended.is_none() {
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        }
        if ours.outcome == "failed" {
            bail!("{}", ours.message);
        }
        return Ok(ours.message);
    }
}
