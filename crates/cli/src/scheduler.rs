//! What runs by itself while a server is up. One task, one run at a time; it ends with the server.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use ratchet_core::calendar::Zone;
use ratchet_core::rubric;
use ratchet_remote::hook::Hook;
use ratchet_server::clock::Clock;
use ratchet_server::stop::Stop;
use ratchet_stages::schedule::{DueRun, Runner};
use ratchet_stages::score::ScoringDesk;
use ratchet_stages::score::journal::Journal;
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_store::embedded::Folder;
use uuid::Uuid;

use crate::cmd::week::webhook_secret;
use crate::weekly::{self, Weekly};

/// How often to look for what is due.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How often a run says that it is still at it.
const RENEW_EVERY: Duration = Duration::from_secs(60);

/// Where scheduled runs work.
#[derive(Debug)]
pub(crate) struct Station {
    /// The store.
    pub(crate) folder: Folder,
    /// The folder's place, for texts that users keep there.
    pub(crate) data: PathBuf,
    /// Who runs.
    pub(crate) runner: Runner,
}

impl Station {
    /// A station of this process.
    pub(crate) fn new(folder: Folder, data: PathBuf) -> Self {
        let catalog = folder.catalog.clone();
        let (name, zone) = (Uuid::new_v4().to_string(), Zone::of_this_machine());
        Self { folder, data, runner: Runner { catalog, name, zone } }
    }
}

/// Runs what is due until told to stop.
pub(crate) async fn run(station: Station, stop: Stop) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.requested() => return,
            _tick = looks.tick() => {}
        }
        if let Err(error) = look(&station, &stop).await {
            tracing::warn!(error.cause = %error, "cannot look for what is due");
        }
    }
}

async fn look(station: &Station, stop: &Stop) -> anyhow::Result<()> {
    for project in station.folder.catalog.projects().await? {
        for run in station.runner.claim_due(&project.id, Clock::System.now()).await? {
            match run_one(station, &run, stop).await {
                Ok(line) => tracing::info!(schedule = run.schedule.name, "{line}"),
                Err(error) => tracing::warn!(
                    schedule = run.schedule.name,
                    error.cause = %format!("{error:#}"),
                    "a scheduled run failed"
                ),
            }
        }
    }
    Ok(())
}

/// Runs what was claimed, and notes how it went.
pub(crate) async fn run_one(
    station: &Station,
    run: &DueRun,
    stop: &Stop,
) -> anyhow::Result<String> {
    let mut renewals = tokio::time::interval(RENEW_EVERY);
    let work = work(station, run, stop);
    tokio::pin!(work);
    let worked = loop {
        tokio::select! {
            worked = &mut work => break worked,
            _tick = renewals.tick() => {
                let now = Clock::System.now();
                if !station.runner.renew(run, now).await? {
                    anyhow::bail!("another server has taken the run over");
                }
            }
        }
    };
    let told = worked.as_ref().map(String::clone).map_err(|error| format!("{error:#}"));
    station.runner.end(run, told, Clock::System.now()).await?;
    worked
}

async fn work(station: &Station, run: &DueRun, stop: &Stop) -> anyhow::Result<String> {
    let (folder, project) = (&station.folder, run.claim.project.clone());
    let (telemetry, catalog) = (folder.telemetry.clone(), folder.catalog.clone());
    let source = Source::Local(telemetry.clone(), project.clone());
    let journal = Journal { catalog: catalog.clone(), project: project.clone() };
    let sink =
        Sink::Local(LocalSink { telemetry, catalog: catalog.clone(), project: project.clone() });
    let name = run.schedule.name.clone();
    let told = catalog.told_by_schedule(project, name, folder.secrets.clone()).await?;
    let webhook = match told.webhook {
        Some(url) => Some(Hook::Signed(url, webhook_secret()?)),
        None => None,
    };
    let rubric = rubric::shipped().find(|rubric| rubric.name == rubric::DEFAULT);
    let weekly = Weekly {
        week: run.week(),
        rubric: rubric.cloned().context("there is no rubric")?,
        judge: weekly::judge(&run.schedule.what.judge)?,
        templates: weekly::templates(&station.data)?,
        learnings: run.schedule.what.learnings.as_ref().map(PathBuf::from),
        hooks: told.slack.map(Hook::Slack).into_iter().chain(webhook).collect(),
        run: Uuid::new_v4().to_string(),
    };
    let desk = ScoringDesk {
        source: &source,
        sink: &sink,
        journal: &journal,
        clock: &|| Clock::System.now(),
        is_stopping: &|| stop.is_requested(),
        watch: &|_| (),
    };
    Ok(weekly.run(&desk).await?.line())
}
