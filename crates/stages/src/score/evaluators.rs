//! Online evaluators: what is recorded is judged as soon as it is quiet.
//!
//! Recording notes each trace that it writes in an outbox, in the same commit. The worker drains the
//! outbox into jobs of the one queue, one per evaluator version and record (`intake`), and works
//! them off (`evaluation`). A verdict is a score whose id follows from evaluator, version and
//! record, and it carries a hash of what was judged: also after a crash, a record has one
//! verdict per version, and nothing that is judged already is judged again. Recording waits for
//! none of it.

/// Rules that run, and their evaluators.
mod rules;
/// From the outbox into the queue.
mod intake;
/// One job: from the record to the verdict.
mod evaluation;
/// What a judge is shown of a record.
mod material;
/// Judges in use, and their outages.
mod judges;
/// Evaluators that are code.
mod code;
/// Verdicts as scores, and calls of models as traces.
mod records;
/// Verdicts against what people say, and by agent.
mod agreement;
/// What people do with evaluators: list, pause and resume.
pub mod manage;
/// Validation.
pub mod definition;
/// Making, changing and deleting evaluators and rules.
pub mod edit;
/// Tests of evaluators, and verdicts on what was recorded before.
pub mod backfill;
/// The evaluator that comes with Ratchet.
pub mod shipped;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use ratchet_core::job::JobKind;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_store::catalog::{FinishedEvaluation, JobRequest};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;
use ratchet_store::{Store, StoreError, StoreResult};
use tokio::sync::{Mutex, Notify};

use crate::record::scores::{self, ScoreWriteError};
use crate::schedule::JobEnvironment;
use code::CodeRunner;
use evaluation::Evaluated;
use judges::Judges;
use rules::RunningRules;

pub(crate) use evaluation::request as judge_request;

/// The longest lease: longer than a model call may take.
const LEASE: Duration = Duration::from_secs(15 * 60);
/// How long calls in progress may take when the server stops.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// Limits of the worker.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationLimits {
    /// Evaluations at a time.
    pub at_once: usize,
    /// Model calls at a time, per judge.
    pub calls_at_once: usize,
    /// Time between two polls.
    pub poll_every: Duration,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self { at_once: 64, calls_at_once: 8, poll_every: Duration::from_millis(500) }
    }
}

/// Runs evaluators. One is enough for a data folder.
pub struct EvaluationWorker {
    pub store: Store,
    pace: Arc<dyn BackoffClock>,
    limits: EvaluationLimits,
    judges: Judges,
    code: CodeRunner,
    wake: Notify,
    /// Held while rules are read and applied, so that older ones never replace newer ones.
    refresh: Mutex<()>,
    owner: String,
}

impl std::fmt::Debug for EvaluationWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EvaluationWorker").field("limits", &self.limits).finish_non_exhaustive()
    }
}

type Running<'a> = FuturesUnordered<BoxFuture<'a, Evaluated>>;

impl EvaluationWorker {
    /// A worker on an open store. `owner` identifies it in leases.
    pub fn new(
        store: Store,
        environment: Arc<dyn JobEnvironment>,
        (pace, limits): (Arc<dyn BackoffClock>, EvaluationLimits),
        owner: String,
    ) -> Self {
        let code = CodeRunner::new(environment.clone());
        let judges = Judges::new(environment, limits.calls_at_once);
        let (wake, refresh) = (Notify::new(), Mutex::default());
        Self { store, pace, limits, judges, code, wake, refresh, owner }
    }

    /// Wakes the worker before its next poll.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Reads the rules and sets the projects whose traces recording notes in the outbox. Called before the
    /// first trace is recorded, so that none is missed.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn prepare(&self) -> StoreResult<()> {
        self.rules().await.map(drop)
    }

    /// Evaluates until `stop` ends. Unfinished jobs are taken over by the next server.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        let now = self.pace.now();
        if let Err(error) = self.store.catalog.expire_leases(JobKind::Evaluation, now).await {
            tracing::warn!(%error, "cannot take over the evaluations of an earlier server");
        }
        let mut running = Running::new();
        loop {
            if let Err(error) = self.poll(&mut running).await {
                tracing::warn!(%error, "cannot look for traces to evaluate");
            }
            tokio::select! {
                () = &mut stop => break,
                () = self.wake.notified() => {}
                Some(first) = running.next() => self.finish(ready(first, &mut running)).await,
                () = self.pace.pause(self.limits.poll_every) => {}
            }
        }
        let rest = async {
            while let Some(first) = running.next().await {
                self.finish(ready(first, &mut running)).await;
            }
        };
        if tokio::time::timeout(STOP_WAIT, rest).await.is_err() {
            tracing::info!("evaluations in progress are left to the next server");
        }
    }

    /// Drains the outbox, and starts due evaluations.
    async fn poll<'a>(&'a self, running: &mut Running<'a>) -> StoreResult<()> {
        let rules = self.rules().await?;
        intake::drain(&self.store, &rules, self.pace.now()).await?;
        let room = self.limits.at_once.saturating_sub(running.len());
        // A group is claimed, finished and written together: one by one, each would be a commit.
        if room < self.limits.at_once.div_ceil(2) {
            return Ok(());
        }
        let request = JobRequest {
            kind: JobKind::Evaluation,
            owner: self.owner.clone(),
            lease: LEASE,
            limit: room as u64,
            max_running: None,
        };
        for job in self.store.catalog.claim_jobs(request, self.pace.now()).await? {
            let rules = rules.of(&job.project);
            running.push(Box::pin(self.evaluate(job, rules)));
        }
        Ok(())
    }

    async fn rules(&self) -> StoreResult<RunningRules> {
        let _held = self.refresh.lock().await;
        let mut rules = RunningRules::load(&self.store).await?;
        if self.pause_without_interpreter(&rules).await? {
            rules = RunningRules::load(&self.store).await?;
        }
        self.store.telemetry.set_evaluated_projects(rules.projects());
        Ok(rules)
    }

    /// Pauses evaluators whose code cannot run here, with what to do. They stay paused until a person
    /// resumes them: an operator who adds an interpreter does not start old code by it.
    async fn pause_without_interpreter(&self, rules: &RunningRules) -> StoreResult<bool> {
        let mut has_paused = false;
        for (project, evaluator) in rules.active() {
            let Some(why) = evaluator.latest().and_then(|latest| self.code.obstacle(latest)) else {
                continue;
            };
            let pause = (evaluator.id.clone(), why.to_owned());
            let (catalog, now) = (&self.store.catalog, self.pace.now());
            match manage::pause(catalog, project.clone(), pause, now).await {
                Ok(()) => has_paused = true,
                Err(manage::ManageError::Store(error)) => return Err(error),
                // It was deleted meanwhile.
                Err(_) => {}
            }
        }
        Ok(has_paused)
    }

    /// Writes verdicts, then ends their jobs. If the server dies in between, the next one finds the
    /// verdict and ends the job.
    async fn finish(&self, evaluated: Vec<Evaluated>) {
        let now = self.pace.now();
        let mut finished = Vec::with_capacity(evaluated.len());
        let mut by_project: HashMap<ProjectId, Vec<Evaluated>> = HashMap::new();
        for one in evaluated {
            match &one.written {
                Some(_) => by_project.entry(one.of.project.clone()).or_default().push(one),
                None => finished.push(one.ended(now)),
            }
        }
        for (project, group) in by_project {
            match self.write(&project, &group, now).await {
                Ok(()) => finished.extend(group.into_iter().map(|one| one.ended(now))),
                // One of them is refused: each is tried alone.
                Err(ScoreWriteError::Refused { .. }) => {
                    for one in group {
                        finished.push(self.write_alone(&project, one, now).await);
                    }
                }
                Err(ScoreWriteError::Store(error)) => {
                    tracing::warn!(%error, "cannot write verdicts");
                    finished.extend(group.into_iter().map(|one| one.unwritten(&error, now)));
                }
            }
        }
        self.end(finished, now).await;
    }

    async fn write_alone(
        &self,
        project: &ProjectId,
        one: Evaluated,
        now: Timestamp,
    ) -> FinishedEvaluation {
        match self.write(project, std::slice::from_ref(&one), now).await {
            Ok(()) => one.ended(now),
            Err(ScoreWriteError::Refused { why, .. }) => one.refused(&why.to_string(), now),
            Err(ScoreWriteError::Store(error)) => one.unwritten(&error, now),
        }
    }

    async fn write(
        &self,
        project: &ProjectId,
        group: &[Evaluated],
        now: Timestamp,
    ) -> Result<(), ScoreWriteError> {
        let mut batch = Batch::new(project.clone(), now);
        let mut drafts: Vec<ScoreDraft> = Vec::with_capacity(group.len());
        for written in group.iter().filter_map(|one| one.written.as_ref()) {
            drafts.extend(written.scores.iter().cloned());
            if let Some((trace, observation)) = &written.call {
                batch.traces.push(trace.clone());
                batch.observations.push(observation.clone());
            }
        }
        let Store { telemetry, catalog, .. } = &self.store;
        scores::write_with((telemetry, catalog), batch, drafts).await
    }

    async fn end(&self, finished: Vec<FinishedEvaluation>, now: Timestamp) {
        if let Err(error) = self.store.catalog.finish_evaluations(finished, now).await {
            tracing::warn!(%error, "cannot end evaluations; their leases expire");
        }
    }
}

/// The first result with all others that are there.
fn ready(first: Evaluated, running: &mut Running<'_>) -> Vec<Evaluated> {
    let mut all = vec![first];
    while let Some(Some(next)) = running.next().now_or_never() {
        all.push(next);
    }
    all
}

/// Whether a store error is worth another attempt at once.
fn store_failure(error: &StoreError) -> String {
    format!("the verdict could not be written: {error}")
}
