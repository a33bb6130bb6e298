//! What runs by itself while a server is up. One task, one run at a time; it ends with the server.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::error::ModelError;
use ratchet_core::calendar::Zone;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_remote::webhook::Webhook;
use ratchet_server::app::App;
use ratchet_server::clock::Clock;
use ratchet_server::shutdown::Stop;
use ratchet_stages::data_target::SEED;
use ratchet_stages::llm_connections::ConnectError;
use ratchet_stages::review::ReviewError;
use ratchet_stages::schedule::{self, DueRun, Runner};
use ratchet_stages::score::journal::Journal;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::judge_factory::JudgeFactory;
use ratchet_stages::score::rubrics::Rubrics;
use ratchet_stages::score::{ScoreError, ScoringContext};
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_stages::weekly_report::ReportStore;
use ratchet_store::Store;
use uuid::Uuid;

use crate::cmd::week::webhook_secret;
use crate::weekly::{self, Weekly};

/// How often to look for what is due.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How often a run says that it is still at it.
const RENEW_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) folder: Store,
    /// The folder's place, for texts that users keep there.
    pub(crate) data: PathBuf,
    pub(crate) runner: Runner,
    /// Where connections and webhooks may lead.
    pub(crate) outbound: OutboundPolicy,
}

impl Station {
    /// A station of this process.
    pub(crate) fn new(folder: Store, data: PathBuf, outbound: OutboundPolicy) -> Self {
        let catalog = folder.catalog.clone();
        let (name, zone) = (Uuid::new_v4().to_string(), Zone::of_this_machine());
        Self { folder, data, runner: Runner { catalog, name, zone }, outbound }
    }

    /// Makes the judge of a run ready; nobody is asked yet.
    async fn judge(&self, run: &DueRun) -> anyhow::Result<Option<Judge>> {
        let what = &run.schedule.what;
        let Some(name) = schedule::judge(&what.judge)? else { return Ok(None) };
        let seed = self.folder.secrets.sign(SEED)?;
        let factory = JudgeFactory {
            store: Some(&self.folder),
            project: &run.claim.project,
            data: Some(&self.data),
            seed: &seed,
            outbound: &self.outbound,
        };
        let allowance = Allowance { money: what.max_cost, ..Allowance::default() };
        let variables = |name: &str| std::env::var(name).ok();
        let budget = Budget::new(allowance);
        Ok(Some(factory.open(&name, budget, (&variables, Clock::System.now())).await?))
    }
}

/// Runs what is due until told to stop.
pub(crate) async fn run(station: Station, app: App, stop: Stop) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.requested() => return,
            () = app.run_wanted() => {}
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
    // In a box: a run is the deepest of all futures of a server.
    let mut work = Box::pin(work(station, run, stop));
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
    if worked.is_err() && stop.is_requested() {
        // It did not fail: whoever is up next goes on with it.
        station.runner.leave(run, Clock::System.now()).await?;
        return worked;
    }
    let told = worked.as_ref().map(String::clone).map_err(told_to_all);
    station.runner.end(run, told, Clock::System.now()).await?;
    worked
}

/// Why a run failed, for everyone who may look at the project: without what a provider said. The
/// log has that.
fn told_to_all(error: &anyhow::Error) -> String {
    let model = error.chain().find_map(model_error);
    model.map_or_else(|| format!("{error:#}"), ModelError::without_reply)
}

/// The failure of a model that an error is about.
fn model_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ModelError> {
    let judging = |error: &'a ScoreError| match error {
        ScoreError::Judge(error) => Some(error),
        _ => None,
    };
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(ConnectError::Model(error)), _) | (_, Some(ReviewError::Model(error))) => Some(error),
        (_, Some(ReviewError::Judging(error))) => judging(error),
        _ => error.downcast_ref().or_else(|| judging(error.downcast_ref()?)),
    }
}

async fn work(station: &Station, run: &DueRun, stop: &Stop) -> anyhow::Result<String> {
    let (folder, project) = (&station.folder, run.claim.project.clone());
    let (telemetry, catalog) = (folder.telemetry.clone(), folder.catalog.clone());
    let source = Source::Local(telemetry.clone(), project.clone());
    let journal = Journal { catalog: catalog.clone(), project: project.clone() };
    let sink =
        Sink::Local(LocalSink { telemetry, catalog: catalog.clone(), project: project.clone() });
    let name = run.schedule.name.clone();
    let told = catalog.schedule_webhooks(project, name, folder.secrets.clone()).await?;
    let webhook = match told.webhook {
        Some(url) => Some(Webhook::Signed(url, webhook_secret()?)),
        None => None,
    };
    let what = &run.schedule.what;
    let weekly = Weekly {
        week: run.week(),
        rubric: Rubrics::open(&station.data)?.find(&what.rubric)?.rubric,
        judge: Box::pin(station.judge(run)).await?,
        at_once: weekly::AT_ONCE,
        batch: None,
        templates: weekly::templates(&station.data)?,
        words: weekly::words(Some(&station.data))?,
        learnings: what.learnings.as_ref().map(PathBuf::from),
        hooks: told.slack.map(Webhook::Slack).into_iter().chain(webhook).collect(),
        outbound: station.outbound.clone(),
        run: Uuid::new_v4().to_string(),
    };
    let desk = ScoringContext {
        source: &source,
        sink: &sink,
        journal: &journal,
        clock: &|| Clock::System.now(),
        is_stopping: &|| stop.is_requested(),
        watch: &|_| (),
    };
    let archive = ReportStore::Catalog { catalog: &journal.catalog, project: &journal.project };
    Ok(weekly.run(&desk, archive).await?.line())
}
