use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use ratchet_core::cron::Cron;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_server::clock::Clock;
use ratchet_server::stop;
use ratchet_stages::schedule::Runner;
use ratchet_store::catalog::{Actor, NewSchedule, Schedule, Switched};
use ratchet_store::embedded::Folder;
use ratchet_store::project::ProjectId;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cmd::week::{TellArgs, webhook_secret, zone};
use crate::config::{Config, ConfigArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, table};
use crate::scheduler::{self, Station};
use crate::target::Target;
use crate::{folder, runtime, weekly};

/// `ratchet schedule …`
#[derive(Args, Debug)]
pub(crate) struct ScheduleCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List what runs by itself while a server is up, and when it runs next
    List(ScheduleArgs),
    /// Add a schedule, or change the one of its name
    Add(AddArgs),
    /// Run a schedule now, due or not
    Run(NamedArgs),
    /// Stop a schedule from running by itself
    Pause(NamedArgs),
    /// Let a schedule run by itself again; what it missed is not made up for
    Resume(NamedArgs),
    /// Remove a schedule; the weekly one can only be paused
    Remove(NamedArgs),
    /// List the last runs of a schedule and how they went
    History(NamedArgs),
}

/// Where schedules are. A running server shows and switches its own on its page of schedules.
#[derive(Args, Debug)]
struct ScheduleArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Which project, by name or id; needed only if there are several
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// Which schedule
    #[arg(default_value = "weekly")]
    name: String,
    #[command(flatten)]
    schedule: ScheduleArgs,
}

#[derive(Args, Debug)]
struct AddArgs {
    /// What to call it
    name: String,
    /// When: five fields of cron, or a word such as @weekly
    #[arg(long, value_name = "CRON", default_value = "0 2 * * SUN")]
    cron: String,
    /// By whose clocks, such as Europe/Berlin [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Who judges
    #[arg(long, value_name = "JUDGE", default_value = "offline")]
    judge: String,
    /// Add new suggestions to this file
    #[arg(long, value_name = "FILE")]
    learnings: Option<PathBuf>,
    #[command(flatten)]
    tell: TellArgs,
    #[command(flatten)]
    schedule: ScheduleArgs,
}

/// Runs `ratchet schedule`.
pub(crate) fn run(command: &ScheduleCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Add(args) => add(args).await,
            Action::Run(args) => run_now(args).await,
            Action::Pause(args) => switch(args, Switched::Off).await,
            Action::Resume(args) => switch(args, Switched::On).await,
            Action::Remove(args) => remove(args).await,
            Action::History(args) => history(args).await,
        }
    })
}

/// An open folder and the project in it.
struct Opened {
    folder: Folder,
    project: ProjectId,
    config: Config,
}

async fn with<T>(
    args: &ScheduleArgs,
    work: impl AsyncFnOnce(&Opened) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let config = Config::load(&args.config, Vec::new())?;
    folder::must_exist(&config.data)?;
    let mut folder = folder::open(&config, "ratchet schedule")?;
    folder.catalog = folder.catalog.by(Actor::CommandLine);
    let worked = async {
        let target = Target::Folder(folder.clone());
        let project = target.project(args.project.as_deref()).await?;
        let project = ProjectId::parse(&project.id)?;
        let opened = Opened { folder: folder.clone(), project, config };
        let (catalog, zone) = (&opened.folder.catalog, zone(None)?);
        catalog.ensure_weekly(opened.project.clone(), zone, Clock::System.now()).await?;
        work(&opened).await
    };
    let worked = worked.await;
    folder.close().await.context("cannot close the data folder")?;
    worked
}

impl Opened {
    async fn schedule(&self, name: &str) -> anyhow::Result<Schedule> {
        let schedules = self.folder.catalog.schedules(self.project.clone()).await?;
        let names: Vec<String> = schedules.iter().map(|known| known.name.clone()).collect();
        let found = schedules.into_iter().find(|known| known.name == name);
        found.with_context(|| {
            format!("there is no schedule {name}; there are: {}", names.join(", "))
        })
    }
}

async fn list(args: &ScheduleArgs) -> anyhow::Result<Outcome> {
    let now = Clock::System.now();
    let schedules = with(args, async |opened| {
        Ok(opened.folder.catalog.schedules(opened.project.clone()).await?)
    });
    let views: Vec<Value> = schedules.await?.iter().map(|known| view(known, now)).collect();
    args.output.show(&views, |views| schedules_text(views))?;
    Ok(Outcome::Done)
}

fn view(schedule: &Schedule, now: Timestamp) -> Value {
    let next = schedule.is_on.then(|| schedule.cron.next(now, &schedule.zone)).flatten();
    json!({
        "name": schedule.name,
        "state": if schedule.is_on { "on" } else { "paused" },
        "cron": schedule.cron.to_string(),
        "zone": schedule.zone.name(),
        "judge": schedule.what.judge,
        "learnings": schedule.what.learnings,
        "slack": schedule.what.tells_slack,
        "webhook": schedule.what.tells_webhook,
        "next": next.map(|next| next.to_string()),
    })
}

fn schedules_text(views: &[Value]) -> String {
    let text = |view: &Value, key: &str| view[key].as_str().unwrap_or("-").to_owned();
    let row = |view: &Value| {
        ["name", "state", "cron", "zone", "judge", "next"].map(|key| text(view, key))
    };
    let rows: Vec<_> = views.iter().map(row).collect();
    let table = table(["NAME", "STATE", "CRON", "ZONE", "JUDGE", "NEXT RUN"], &rows);
    format!("{table}They run while `ratchet serve` is up; `ratchet schedule run` runs one now.\n")
}

async fn add(args: &AddArgs) -> anyhow::Result<Outcome> {
    let new = NewSchedule {
        name: args.name.clone(),
        cron: Cron::parse(&args.cron)?,
        zone: zone(args.zone.as_deref())?,
        judge: args.judge.clone(),
        learnings: args.learnings.as_ref().map(|file| file.display().to_string()),
        slack: args.tell.slack.clone().map(Secret::new),
        webhook: args.tell.webhook.clone().map(Secret::new),
    };
    weekly::judge(&new.judge)?;
    if new.webhook.is_some() {
        webhook_secret()?;
    }
    let now = Clock::System.now();
    let made = with(&args.schedule, async |opened| {
        let (project, secrets) = (opened.project.clone(), opened.folder.secrets.clone());
        Ok(opened.folder.catalog.save_schedule(project, new, secrets, now).await?)
    });
    let view = view(&made.await?, now);
    args.schedule.output.show(&view, |view| schedules_text(std::slice::from_ref(view)))?;
    Ok(Outcome::Done)
}

async fn switch(args: &NamedArgs, to: Switched) -> anyhow::Result<Outcome> {
    let now = Clock::System.now();
    let switched = with(&args.schedule, async |opened| {
        let name = opened.schedule(&args.name).await?.name;
        Ok(opened.folder.catalog.switch_schedule(opened.project.clone(), name, to, now).await?)
    });
    let view = view(&switched.await?, now);
    args.schedule.output.show(&view, |view| schedules_text(std::slice::from_ref(view)))?;
    Ok(Outcome::Done)
}

async fn remove(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let removed = with(&args.schedule, async |opened| {
        let name = opened.schedule(&args.name).await?.name;
        let project = opened.project.clone();
        Ok(opened.folder.catalog.remove_schedule(project, name, Clock::System.now()).await?)
    });
    removed.await?;
    let removed = json!({ "removed": args.name });
    args.schedule.output.show(&removed, |_| format!("removed {}\n", args.name))?;
    Ok(Outcome::Done)
}

async fn history(args: &NamedArgs) -> anyhow::Result<Outcome> {
    /// Runs that are listed.
    const RUNS: u64 = 50;
    let runs = with(&args.schedule, async |opened| {
        let name = opened.schedule(&args.name).await?.name;
        Ok(opened.folder.catalog.schedule_runs(opened.project.clone(), name, RUNS).await?)
    });
    let views: Vec<Value> = runs
        .await?
        .iter()
        .map(|run| {
            json!({
                "due": run.due_at.to_string(),
                "began": run.began_at.to_string(),
                "ended": run.ended_at.map(|ended| ended.to_string()),
                "outcome": run.outcome.as_str(),
                "runner": run.runner,
                "message": run.message,
            })
        })
        .collect();
    args.schedule.output.show(&views, |views| {
        let text = |view: &Value, key: &str| view[key].as_str().unwrap_or("-").to_owned();
        let row = |view: &Value| ["due", "outcome", "ended", "message"].map(|key| text(view, key));
        let rows: Vec<_> = views.iter().map(row).collect();
        table(["DUE", "OUTCOME", "ENDED", "WHAT IT DID"], &rows)
    })?;
    Ok(Outcome::Done)
}

async fn run_now(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let (_stopper, stop) = stop::signal();
    let told = with(&args.schedule, async |opened| {
        let schedule = opened.schedule(&args.name).await?;
        let runner = Runner {
            catalog: opened.folder.catalog.clone(),
            name: Uuid::new_v4().to_string(),
            zone: zone(None)?,
        };
        let claimed = runner.claim_now(&opened.project, schedule, Clock::System.now()).await?;
        let run = claimed.with_context(|| format!("{} is running already", args.name))?;
        let data = opened.config.data.clone();
        let station = Station { folder: opened.folder.clone(), data, runner };
        scheduler::run_one(&station, &run, &stop).await
    });
    let line = told.await?;
    args.schedule.output.show(&json!({ "message": line }), |_| format!("{line}\n"))?;
    Ok(Outcome::Done)
}
