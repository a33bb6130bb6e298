use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_core::experiment::runner::{
    ClaimOrder, ClaimedTrials, LeaseOutcome, LeaseRenewal, LeaseRenewals, ReportedCall, TrialCall,
    TrialResult,
};
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use serde_json::json;
use tokio::sync::Mutex;

use super::evaluators::{TrialEvaluators, TrialJudgement};
use super::site::{ExperimentSite, SiteError};
use super::target::{CallFault, OpenTarget, TargetAnswer};

/// How long trials are held without renewal.
const LEASE_SECONDS: u64 = 30;
/// How often leases are renewed.
const RENEW_EVERY: Duration = Duration::from_secs(10);
/// How often a runner looks for trials that others hold.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Delays between calls after faults.
const RETRY: Backoff = Backoff {
    max_attempts: u32::MAX,
    first: Duration::from_millis(200),
    cap: Duration::from_secs(30),
    max_retry_after: Duration::from_secs(120),
    max_elapsed: Duration::MAX,
};
/// Calls of tools of an answer that are recorded, and how long their inputs and outputs may be.
const MAX_CALLS: usize = 200;
const MAX_CALL_BYTES: usize = 4_000;
/// Attempts to reach a host that does not answer: about a minute.
const HOST_ATTEMPTS: u32 = 12;

/// Runs the trials of a run.
pub struct ExperimentRunner {
    pub host: ExperimentSite,
    pub target: OpenTarget,
    pub evaluators: TrialEvaluators,
    pub clock: Arc<dyn BackoffClock>,
    /// Id of this runner, in leases.
    pub id: String,
    /// Runners that are known to have ended.
    pub ended_runners: Vec<String>,
}

impl std::fmt::Debug for ExperimentRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExperimentRunner").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why a runner ended.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// All trials are finished.
    Done(ExperimentProgress),
    /// The cost cap is reached; the same run goes on with a higher one.
    OverBudget(ExperimentProgress),
    Cancelled(ExperimentProgress),
    /// It was asked to stop; calls in progress were finished.
    Stopped(ExperimentProgress),
}

impl RunEnd {
    /// The run as it was then.
    pub const fn run(&self) -> &ExperimentProgress {
        match self {
            Self::Done(run) | Self::OverBudget(run) | Self::Cancelled(run) | Self::Stopped(run) => {
                run
            }
        }
    }
}

type Running<'a> = FuturesUnordered<BoxFuture<'a, Result<Option<TrialResult>, SiteError>>>;

/// Trials in progress, by id, with the numbers of their leases.
type Held = Mutex<BTreeMap<String, u64>>;

impl ExperimentRunner {
    /// Runs trials until none is left. `progress` is called at every change; `stop` ends it early.
    ///
    /// # Errors
    /// Fails if the host refuses, or cannot be reached for a minute.
    pub async fn run(
        &self,
        run: ExperimentProgress,
        progress: &(dyn Fn(&ExperimentProgress) + Sync),
        stop: impl Future<Output = ()>,
    ) -> Result<RunEnd, SiteError> {
        tokio::pin!(stop);
        let (id, held) = (run.id.clone(), Held::default());
        let pace = Mutex::new(CallPace::new(self.target.limits.requests_per_minute));
        let mut running = Running::new();
        let (mut run, mut is_stopping, mut renewed_at) = (run, false, self.clock.now());
        loop {
            let mut is_waiting = false;
            let free = self.target.limits.concurrency.saturating_sub(running.len());
            let free =
                if is_stopping { 0 } else { pace.lock().await.permits(free, self.clock.now()) };
            if free > 0 {
                let claimed = self.claim(&id, free).await?;
                run = claimed.experiment;
                // Answers from the cache need no call.
                let calls = claimed.trials.iter().filter(|trial| trial.cached.is_none()).count();
                pace.lock().await.sent(calls, self.clock.now());
                is_waiting = claimed.trials.is_empty();
                for trial in claimed.trials {
                    held.lock().await.insert(trial.id.clone(), trial.lease);
                    running.push(Box::pin(self.trial(&id, trial, (&held, &pace))));
                }
            }
            if running.is_empty() && (is_stopping || is_over(&run)) {
                let end = end_of(run, is_stopping);
                self.judge_run(&end).await?;
                return Ok(end);
            }
            let until_renewal = remaining(renewed_at, self.clock.now());
            let is_full = running.len() >= self.target.limits.concurrency || is_stopping;
            let until_permit = pace.lock().await.until_next(self.clock.now());
            // Trials that others hold are looked at again soon.
            let until_look = if is_waiting { Some(LOOK_EVERY) } else { until_permit };
            let pause = until_look.filter(|_| is_waiting || !is_full).unwrap_or(until_renewal);
            tokio::select! {
                () = &mut stop, if !is_stopping => is_stopping = true,
                Some(first) = running.next() => {
                    let results = ready(first, &mut running)?;
                    for result in &results {
                        held.lock().await.remove(&result.id);
                    }
                    if !results.is_empty() {
                        run = self.finish(&id, results).await?;
                        progress(&run);
                    }
                }
                () = self.clock.pause(pause.min(until_renewal)) => {}
            }
            if remaining(renewed_at, self.clock.now()).is_zero() {
                let held = held.lock().await.clone();
                let leases = held.iter().map(|(id, lease)| lease_of(id, *lease, false)).collect();
                run = self.renewed(&id, leases).await?.experiment;
                renewed_at = self.clock.now();
            }
        }
    }

    /// Records the scores of a run whose trials are all finished.
    async fn judge_run(&self, end: &RunEnd) -> Result<(), SiteError> {
        let RunEnd::Done(run) = end else { return Ok(()) };
        if !self.evaluators.judge_runs() {
            return Ok(());
        }
        let scores = self.evaluators.judge_run(&self.host, run).await?;
        self.host.score_run(&run.id, &scores, self.clock.now()).await
    }

    /// One trial: calls of the target until it answers, and the verdict. `None` if another runner
    /// has it.
    async fn trial(
        &self,
        run: &str,
        trial: TrialCall,
        (held, pace): (&Held, &SharedPace),
    ) -> Result<Option<TrialResult>, SiteError> {
        let (started, call, ended) = match &trial.cached {
            Some(cached) => {
                let text = cached.answer.clone();
                (self.clock.now(), 1, Ok(TargetAnswer { text, ..TargetAnswer::default() }))
            }
            None => match self.call(run, &trial, pace).await? {
                Some(called) => called,
                None => {
                    held.lock().await.remove(&trial.id);
                    return Ok(None);
                }
            },
        };
        // Before the evaluators: the latency is the target's.
        let ended_at = self.clock.now();
        let answer = ended.as_ref().ok();
        let TrialJudgement { scores, not_judged, calls: judge_calls } =
            self.evaluators.judge(&trial, answer, call).await;
        Ok(Some(TrialResult {
            call,
            fault: ended.as_ref().err().map(|fault: &CallFault| fault.why.clone()),
            cached: trial.cached.is_some(),
            started_at: started.to_string(),
            ended_at: ended_at.to_string(),
            model: answer.and_then(|answer| answer.model.clone()),
            input_tokens: answer.and_then(|answer| answer.input_tokens),
            output_tokens: answer.and_then(|answer| answer.output_tokens),
            cost: answer.and_then(|answer| answer.cost),
            calls: answer.and_then(|answer| answer.calls.clone()).map(bounded).unwrap_or_default(),
            answer: ended.ok().map(|answer| answer.text),
            scores,
            not_judged,
            judge_calls,
            id: trial.id,
            lease: trial.lease,
        }))
    }

    /// Calls the target, and again after infrastructure faults. Every call is counted by the host
    /// before it is sent.
    async fn call(
        &self,
        run: &str,
        trial: &TrialCall,
        pace: &SharedPace,
    ) -> Result<Option<(Timestamp, u32, Result<TargetAnswer, CallFault>)>, SiteError> {
        let mut call = 1;
        loop {
            let started = self.clock.now();
            let ended = match CallTrace::of(&trial.id, trial.lease, call) {
                Ok(trace) => self.target.call(trial, &trace).await,
                Err(why) => Err(CallFault::lasting(why.to_string())),
            };
            let fault = match &ended {
                Err(fault) if fault.is_transient && call <= self.target.limits.retries => fault,
                _ => return Ok(Some((started, call, ended))),
            };
            let failed = FailedAttempt {
                attempt: call,
                jitter: self.clock.jitter(),
                retry_after: fault.retry_after,
                ..FailedAttempt::default()
            };
            self.clock.pause(RETRY.delay(failed).unwrap_or(RETRY.cap)).await;
            take_permit(pace, self.clock.as_ref()).await;
            call += 1;
            let view = self.renewed(run, vec![lease_of(&trial.id, trial.lease, true)]).await?;
            if view.lost.contains(&trial.id) {
                return Ok(None);
            }
        }
    }

    async fn claim(&self, run: &str, limit: usize) -> Result<ClaimedTrials, SiteError> {
        let request = ClaimOrder {
            runner: self.id.clone(),
            limit: limit as u64,
            lease_seconds: LEASE_SECONDS,
            ended_runners: self.ended_runners.clone(),
        };
        self.patiently(|| self.host.claim(run, &request, self.clock.now())).await
    }

    async fn renewed(
        &self,
        run: &str,
        leases: Vec<LeaseRenewal>,
    ) -> Result<LeaseOutcome, SiteError> {
        let request = LeaseRenewals { leases, lease_seconds: LEASE_SECONDS };
        self.patiently(|| self.host.renew(run, &request, self.clock.now())).await
    }

    async fn finish(
        &self,
        run: &str,
        results: Vec<TrialResult>,
    ) -> Result<ExperimentProgress, SiteError> {
        let view = self.patiently(|| self.host.finish(run, &results, self.clock.now())).await?;
        Ok(view.experiment)
    }

    /// Repeats a request while the host is restarting or overloaded.
    async fn patiently<T, F: Future<Output = Result<T, SiteError>>>(
        &self,
        request: impl Fn() -> F,
    ) -> Result<T, SiteError> {
        let mut attempt = 1;
        loop {
            match request().await {
                Err(error) if error.is_transient() && attempt < HOST_ATTEMPTS => {
                    let failed = FailedAttempt {
                        attempt,
                        jitter: self.clock.jitter(),
                        ..FailedAttempt::default()
                    };
                    self.clock.pause(RETRY.delay(failed).unwrap_or(RETRY.cap)).await;
                    attempt += 1;
                }
                other => return other,
            }
        }
    }
}

/// The calls that are recorded: the first ones, without long inputs and ends of long outputs.
fn bounded(mut calls: Vec<ReportedCall>) -> Vec<ReportedCall> {
    calls.truncate(MAX_CALLS);
    for call in &mut calls {
        if call.input.to_string().len() > MAX_CALL_BYTES {
            call.input = json!({ "omitted": format!("longer than {MAX_CALL_BYTES} bytes") });
        }
        if let Some(output) = &mut call.output {
            output.truncate(output.floor_char_boundary(MAX_CALL_BYTES));
        }
    }
    calls
}

fn lease_of(id: &str, lease: u64, new_call: bool) -> LeaseRenewal {
    LeaseRenewal { id: id.to_owned(), lease, new_call }
}

/// The first result, and those that are ready too: they are reported together.
fn ready(
    first: Result<Option<TrialResult>, SiteError>,
    running: &mut Running<'_>,
) -> Result<Vec<TrialResult>, SiteError> {
    let mut results: Vec<TrialResult> = first?.into_iter().collect();
    while let Some(Some(next)) = running.next().now_or_never() {
        results.extend(next?);
    }
    Ok(results)
}

/// How long until leases are renewed again.
fn remaining(renewed_at: Timestamp, now: Timestamp) -> Duration {
    let passed = Duration::from_nanos(u64::try_from(now.since(renewed_at)).unwrap_or(0));
    RENEW_EVERY.saturating_sub(passed)
}

fn is_over(run: &ExperimentProgress) -> bool {
    run.state != "running" || run.max_cost.is_some_and(|cap| run.cost >= cap)
}

fn end_of(run: ExperimentProgress, is_stopping: bool) -> RunEnd {
    match run.state.as_str() {
        "done" => RunEnd::Done(run),
        "cancelled" => RunEnd::Cancelled(run),
        _ if is_stopping => RunEnd::Stopped(run),
        _ => RunEnd::OverBudget(run),
    }
}

/// Waits until a retry may be sent: it counts towards the rate limit as any call does.
async fn take_permit(pace: &SharedPace, clock: &dyn BackoffClock) {
    loop {
        let wait = {
            let (mut pace, now) = (pace.lock().await, clock.now());
            if pace.permits(1, now) > 0 {
                return pace.sent(1, now);
            }
            pace.until_next(now).unwrap_or_default()
        };
        clock.pause(wait).await;
    }
}

/// The rate limit of a target, which first calls and retries share.
type SharedPace = Mutex<CallPace>;

/// Spreads calls over time.
#[derive(Debug)]
struct CallPace {
    /// Nanoseconds between two calls.
    gap: Option<i64>,
    next: Option<Timestamp>,
}

impl CallPace {
    fn new(per_minute: Option<u32>) -> Self {
        Self { gap: per_minute.map(|rate| 60_000_000_000 / i64::from(rate.max(1))), next: None }
    }

    /// How many of these calls may be sent now.
    fn permits(&self, wanted: usize, now: Timestamp) -> usize {
        match (self.gap, self.next) {
            (None, _) => wanted,
            (Some(_), Some(next)) if next > now => 0,
            (Some(_), _) => wanted.min(1),
        }
    }

    /// How long until a call may be sent; `None` without a limit.
    fn until_next(&self, now: Timestamp) -> Option<Duration> {
        self.gap?;
        let wait = self.next.map_or(0, |next| next.since(now));
        Some(Duration::from_nanos(u64::try_from(wait).unwrap_or(0)))
    }

    /// Counts calls. A call that is late by less than a gap does not delay the ones after it.
    fn sent(&mut self, count: usize, now: Timestamp) {
        let Some(gap) = self.gap.filter(|_| count > 0) else { return };
        let due = self.next.filter(|due| now.since(*due) < gap).unwrap_or(now);
        self.next = Some(due.plus_nanos(gap));
    }
}

#[cfg(test)]
mod tests;
