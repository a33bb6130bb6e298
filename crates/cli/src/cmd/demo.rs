use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use ratchet_core::calendar::Zone;
use ratchet_core::judge::offline;
use ratchet_core::time::Timestamp;
use ratchet_server::clock::Clock;
use ratchet_server::rate_limit::Rate;
use ratchet_server::shutdown;
use ratchet_server::shutdown::{Stop, StopSender};
use ratchet_stages::score::evaluators::{EvaluationWorker, shipped};
use ratchet_store::Store;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::KeyPair;
use ratchet_store::project::ProjectId;

use crate::config::layers::Flag;
use crate::config::{Config, ConfigArgs};
use crate::demo::closing_message::{self, Recorded};
use crate::demo::ledger::Ledger;
use crate::demo::scoring::{DemoScoring, Reports};
use crate::demo::send::Client;
use crate::demo::{DemoData, Timeline, generate};
use crate::demo::{feedback, gates};
use crate::exit::Outcome;
use crate::first_start::FirstKeysFor;
use crate::print::print;
use crate::server::Server;
use crate::signals::Signals;
use crate::{log, runtime, startup_message};

/// How long a trace must be still before it is judged: demo traces are recorded whole.
const DELAY_SECONDS: u64 = 1;
/// How long to wait for the verdicts on what was recorded.
const EVALUATION_WAIT: Duration = Duration::from_secs(120);
const EVALUATION_POLL: Duration = Duration::from_millis(200);

/// `ratchet demo`
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Data folder [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Web UI, APIs and OTLP over HTTP [default: 127.0.0.1:3000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Random seed; the same seed and end give the same data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// End of the data, such as 2026-01-31T12:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Exit afterwards instead of serving
    #[arg(long, requires = "data")]
    once: bool,
    /// Record only: no scores, labels and reports
    #[arg(long)]
    unscored: bool,
    /// Write what was planted in the data to this file, as JSON
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
}

impl DemoArgs {
    fn flags(&self) -> Vec<Flag> {
        let mut flags: Vec<Flag> = Vec::new();
        if self.once {
            // No other client connects, so any free port will do.
            flags.push(("listen", "127.0.0.1:0".to_owned()));
            flags.push(("otlp_grpc", "off".to_owned()));
            flags.push(("otlp_http", "off".to_owned()));
        }
        flags.extend(self.listen.iter().map(|listen| ("listen", listen.clone())));
        flags
    }

    fn end(&self) -> anyhow::Result<Timestamp> {
        let Some(until) = &self.until else {
            return Ok(Clock::System.now());
        };
        Timestamp::parse(until).with_context(|| format!("--until {until} is not a time"))
    }
}

/// Runs `ratchet demo`.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let end = args.end()?;
    let home = Home::choose(args.data.as_deref());
    let config_args = ConfigArgs { data: Some(home.path().to_owned()), config: None };
    let mut config = Config::load(&config_args, args.flags())?;
    config.warn_of_unknown_variables();
    // Demo data is no secret, so the pages need no sign-in.
    config.open_on_loopback();
    // All thumbs come at once, and from one address.
    config.limits.public_rate = Rate { per_second: 1_000.0, burst: 1_000.0 };
    if config.log.filter == "info" {
        // Messages go to stdout; the log shows only warnings and errors.
        "warn".clone_into(&mut config.log.filter);
    }
    runtime::block_on(async {
        let traces = log::init(&config.log)?;
        let outcome = demo(&config, args, end).await;
        log::stop(traces).await;
        outcome
    })
}

async fn demo(config: &Config, args: &DemoArgs, end: Timestamp) -> anyhow::Result<Outcome> {
    let signals = Signals::listen()?;
    let server = Server::open(config, "ratchet demo", FirstKeysFor::Reader).await?;
    print(&startup_message::text(&server))?;
    let key = key(config, &server).await?;
    let client = Arc::new(Client::new(startup_message::url(server.bound.web), key)?);
    let (stopper, stop) = shutdown::signal();
    let load = Load {
        args,
        timeline: Timeline::new(end, &Zone::of_this_machine()),
        client,
        store: server.store(),
        data: config.data.clone(),
        project: server.start_outcome.project.id.clone(),
        evaluators: server.evaluators(),
    };
    let work = async {
        let loading = load.run(&stopper, &stop);
        let (served, loaded) = tokio::join!(server.run(stop.clone()), loading);
        loaded.and(served)
    };
    signals.supervise(work, &stopper).await
}

/// The key for recording: a preset one, a new one, or another one for an existing folder.
async fn key(config: &Config, server: &Server) -> anyhow::Result<KeyPair> {
    if let (Some(public_key), Some(secret_key)) = (&config.init.public_key, &config.init.secret_key)
    {
        return Ok(KeyPair { public_key: public_key.clone(), secret_key: secret_key.clone() });
    }
    match server.start_outcome.new_keys.as_ref().map(|keys| &keys.sdk) {
        Some(key) => Ok(key.clone()),
        None => server.another_key("ratchet demo").await,
    }
}

/// Recording and scoring of the demo.
struct Load<'a> {
    args: &'a DemoArgs,
    timeline: Timeline,
    client: Arc<Client>,
    store: Store,
    data: PathBuf,
    project: ProjectId,
    evaluators: Option<Arc<EvaluationWorker>>,
}

impl Load<'_> {
    /// Records and scores until stopped. A failure stops the server too.
    async fn run(&self, stopper: &StopSender, stop: &Stop) -> anyhow::Result<()> {
        let recorded = tokio::select! {
            recorded = self.load() => recorded,
            () = stop.requested() => return Ok(()),
        };
        if recorded.is_err() || self.args.once {
            stopper.stop();
        }
        let project = self.project.as_str();
        let text = closing_message::text(&recorded?, &self.client, project, !self.args.once);
        print(&text)?;
        Ok(())
    }

    async fn load(&self) -> anyhow::Result<Recorded> {
        let started = Instant::now();
        let (seed, timeline) = (self.args.seed, self.timeline.clone());
        let data = run_blocking(move || generate(seed, &timeline)).await?;
        let DemoData { exports, thumbs, catalog, ledger } = data;
        if let Some(file) = &self.args.ledger {
            std::fs::write(file, serde_json::to_vec_pretty(&ledger)?)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        if !self.args.unscored {
            let judge = (offline::NAME, Some(DELAY_SECONDS));
            shipped::add(&self.store.catalog, self.project.clone(), judge, Clock::System.now())
                .await?;
            if let Some(evaluators) = &self.evaluators {
                evaluators.prepare().await?;
            }
        }
        let spans = exports.iter().map(|export| export.spans).sum::<usize>().max(1);
        eprintln!("recording {} traces of two weeks over OTLP/HTTP …", ledger.traces);
        let mut reported = 0;
        let tell = |recorded: usize| {
            let quarter = recorded * 4 / spans;
            if quarter > reported {
                reported = quarter;
                eprintln!("  {recorded} of {spans} spans");
            }
        };
        self.client.export(exports, tell).await?;
        self.client.score(thumbs).await?;
        self.client.create_catalog(&catalog).await?;
        let mut gates = Vec::new();
        let reports = if self.args.unscored { None } else { Some(self.score(&ledger).await?) };
        if !self.args.unscored {
            self.client.score(catalog.run_scores).await?;
            let place = (&self.store, &self.project);
            gates = gates::decide(place, &self.timeline, self.client.web()).await?;
        }
        let document = match self.args.unscored {
            true => None,
            false => Some(feedback::save((&self.store, &self.project), &self.timeline).await?),
        };
        Ok(Recorded { ledger, reports, gates, document, took: started.elapsed() })
    }

    /// Waits until every trace is evaluated, so that the first look shows all verdicts.
    async fn evaluated(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + EVALUATION_WAIT;
        loop {
            let project = self.project.clone();
            let queue =
                self.store.catalog.waiting_evaluations(project, shipped::NAME.to_owned()).await?;
            let outbox = self.store.telemetry.changed_traces(Clock::System.now(), 1).await?;
            if (outbox.is_empty() && queue.waiting == 0) || Instant::now() > deadline {
                return Ok(());
            }
            tokio::time::sleep(EVALUATION_POLL).await;
        }
    }

    async fn score(&self, ledger: &Ledger) -> anyhow::Result<Reports> {
        let scoring = DemoScoring {
            store: self.store.clone(),
            data: self.data.clone(),
            project: self.project.clone(),
            timeline: &self.timeline,
            ledger,
        };
        let reports = Box::pin(scoring.run(|line| eprintln!("{line}"))).await?;
        self.evaluated().await?;
        scoring.review(|line| eprintln!("{line}")).await?;
        Ok(reports)
    }
}

/// Data folder of the demo: the user's, or a temporary one that is removed at the end.
struct Home {
    path: PathBuf,
    is_temporary: bool,
}

impl Home {
    fn choose(data: Option<&Path>) -> Self {
        match data {
            Some(data) => Self { path: data.to_owned(), is_temporary: false },
            None => {
                let name = format!("ratchet-demo-{}", uuid::Uuid::new_v4());
                Self { path: std::env::temp_dir().join(name), is_temporary: true }
            }
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.is_temporary
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            eprintln!("ratchet: cannot remove {}: {error}", self.path.display());
        }
    }
}
