use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ratchet_core::experiment::plan::{ExperimentPlan, ExperimentProgress};
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_store::Store;
use ratchet_store::catalog::ExperimentRun;
use ratchet_store::project::ProjectId;
use tokio::sync::{Notify, watch};
use tracing::{info, warn};
use uuid::Uuid;

use super::evaluators::{EvaluatorMachine, JudgePrompts, TrialEvaluators};
use super::runner::ExperimentRunner;
use super::server_targets::ServerTargets;
use super::service::{ExperimentError, ExperimentService};
use super::site::ExperimentSite;

/// Runs at a time; others wait.
const AT_ONCE: usize = 4;
/// How often the worker polls for runs that were created elsewhere.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a run that cannot go on is left alone.
const REST: Duration = Duration::from_secs(60);
/// How long calls in progress may take when the server stops.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// Prefix of the ids of servers as runners.
const RUNNER: &str = "server/";

/// Runs experiments on the server itself, with the runner that the command has. A data folder has
/// one server at a time.
#[derive(Debug)]
pub struct ExperimentWorker {
    store: Store,
    targets: ServerTargets,
    evaluators: WorkerEvaluators,
    clock: Arc<dyn BackoffClock>,
    /// Id of this server, in leases.
    id: String,
    wanted: Notify,
}

/// What evaluators of the server need.
#[derive(Clone, Debug)]
pub struct WorkerEvaluators {
    /// Commands of the operator, by name.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The data folder, which may have the user's own prompts.
    pub data: PathBuf,
}

type RunKey = (ProjectId, String);

impl ExperimentWorker {
    pub fn new(
        store: Store,
        targets: ServerTargets,
        evaluators: WorkerEvaluators,
        clock: Arc<dyn BackoffClock>,
    ) -> Self {
        let id = format!("{RUNNER}{}", Uuid::new_v4().simple());
        Self { store, targets, evaluators, clock, id, wanted: Notify::new() }
    }

    /// The targets that the server can run.
    pub const fn targets(&self) -> &ServerTargets {
        &self.targets
    }

    /// Creates a run of one of the server's targets, or continues it, and starts it.
    ///
    /// # Errors
    /// Fails if the target or an evaluator cannot be used here, and as [`ExperimentService::open`].
    pub async fn start(
        &self,
        service: &ExperimentService,
        mut request: ExperimentPlan,
        now: Timestamp,
    ) -> Result<ExperimentProgress, ExperimentError> {
        let environment = request.target.environment.clone();
        let named = (request.target.name.as_str(), environment.as_deref());
        request.target = self.targets.open(service, named, now).await?.identity;
        let evaluators = self.opened_evaluators(service, &request.evaluators).await?;
        request.evaluator_versions = evaluators.versions();
        let run = service.open(request, now).await?;
        self.wanted.notify_one();
        Ok(run)
    }

    /// Runs experiments until `stop` ends; the next server continues what is left.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        let (stopper, stopping) = watch::channel(false);
        let mut running: FuturesUnordered<BoxFuture<'_, RunKey>> = FuturesUnordered::new();
        let mut active: BTreeSet<RunKey> = BTreeSet::new();
        let mut resting: BTreeMap<RunKey, Timestamp> = BTreeMap::new();
        loop {
            for (key, run) in self.waiting(&active, &resting).await {
                active.insert(key.clone());
                running.push(Box::pin(self.attempt(key, run, stopping.clone())));
            }
            tokio::select! {
                () = &mut stop => break,
                Some(key) = running.next() => {
                    active.remove(&key);
                    // It is over, or rests.
                    resting.insert(key, self.clock.now().plus(REST));
                    resting.retain(|_, until| *until > self.clock.now());
                }
                () = self.wanted.notified() => {}
                () = self.clock.pause(LOOK_EVERY) => {}
            }
        }
        stopper.send_replace(true);
        let drained = async { while running.next().await.is_some() {} };
        // Calls that take longer end here; the next server repeats them.
        drop(tokio::time::timeout(STOP_WAIT, drained).await);
    }

    /// Runs to begin, as many as there is room for.
    async fn waiting(
        &self,
        active: &BTreeSet<RunKey>,
        resting: &BTreeMap<RunKey, Timestamp>,
    ) -> Vec<(RunKey, ExperimentRun)> {
        let all = match self.store.catalog.unfinished_experiment_runs().await {
            Ok(all) => all,
            Err(error) => {
                warn!(%error, "cannot look for experiments to run");
                return Vec::new();
            }
        };
        let now = self.clock.now();
        let is_over_budget =
            |run: &ExperimentRun| run.max_cost.is_some_and(|cap| run.counts.cost >= cap);
        all.into_iter()
            .filter(|(_, run)| is_ours(run) && !is_over_budget(run))
            .map(|(project, run)| ((project, run.id.clone()), run))
            .filter(|(key, _)| !active.contains(key))
            .filter(|(key, _)| resting.get(key).is_none_or(|until| *until <= now))
            .take(AT_ONCE.saturating_sub(active.len()))
            .collect()
    }

    async fn attempt(
        &self,
        key: RunKey,
        run: ExperimentRun,
        stopping: watch::Receiver<bool>,
    ) -> RunKey {
        let name = run.name.clone();
        match self.execute(&key, run, stopping).await {
            Ok(end) => info!(run = name, end, "an experiment ended"),
            Err(error) => warn!(run = name, %error, "an experiment cannot go on"),
        }
        key
    }

    async fn execute(
        &self,
        (project, id): &RunKey,
        run: ExperimentRun,
        mut stopping: watch::Receiver<bool>,
    ) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let (store, catalog) = (self.store.clone(), self.store.catalog.clone());
        let service = ExperimentService { store, catalog, project: project.clone() };
        let plan: ExperimentPlan = serde_json::from_str(run.plan.as_str())?;
        let now = self.clock.now();
        let named = (plan.target.name.as_str(), plan.target.environment.as_deref());
        let target = self.targets.open(&service, named, now).await?;
        if target.identity != plan.target {
            service.cancel(id, now).await?;
            return Err("its target has changed since it was started, so it was cancelled".into());
        }
        let evaluators = self.opened_evaluators(&service, &plan.evaluators).await?;
        if evaluators.versions() != plan.evaluator_versions && !plan.evaluator_versions.is_empty() {
            service.cancel(id, now).await?;
            return Err("a judge has changed since it was started, so it was cancelled".into());
        }
        let host = ExperimentSite::Folder(Box::new(service));
        let runner = ExperimentRunner {
            ended_runners: self.ended_runners(&host, id).await?,
            host: host.clone(),
            target,
            evaluators,
            clock: self.clock.clone(),
            id: self.id.clone(),
        };
        let stop = async move { drop(stopping.wait_for(|is_stopping| *is_stopping).await) };
        let view = host.show(id).await?;
        let end = Box::pin(runner.run(view, &|_| {}, stop)).await?;
        Ok(end.run().state.clone())
    }

    async fn opened_evaluators(
        &self,
        service: &ExperimentService,
        texts: &[String],
    ) -> Result<TrialEvaluators, ExperimentError> {
        let invalid = |why: String| ExperimentError::Invalid { field: "evaluators", problem: why };
        let evaluators = TrialEvaluators::parse(texts).map_err(|why| invalid(why.to_string()))?;
        let prompts = JudgePrompts::read(Some(&self.evaluators.data));
        let machine = EvaluatorMachine {
            host: ExperimentSite::Folder(Box::new(service.clone())),
            commands: self.evaluators.commands.clone(),
            prompts: prompts.map_err(|why| invalid(why.to_string()))?,
            outbound: self.targets.outbound.clone(),
            supervision: self.targets.supervision.clone(),
            clock: self.clock.clone(),
            seed: Uuid::new_v4().to_string(),
        };
        let opened = evaluators.open(machine, &self.targets.variables).await;
        opened.map_err(|why| invalid(why.to_string()))
    }

    /// Earlier servers that hold trials of a run: they have ended, for there is one at a time.
    async fn ended_runners(
        &self,
        host: &ExperimentSite,
        run: &str,
    ) -> Result<Vec<String>, super::site::SiteError> {
        let trials = host.trials(run).await?;
        let runners = trials.into_iter().filter_map(|trial| trial.runner);
        let ended: BTreeSet<String> =
            runners.filter(|id| id.starts_with(RUNNER) && *id != self.id).collect();
        Ok(ended.into_iter().collect())
    }
}

fn is_ours(run: &ExperimentRun) -> bool {
    let plan: Option<ExperimentPlan> = serde_json::from_str(run.plan.as_str()).ok();
    plan.is_some_and(|plan| plan.target.on_server)
}
