use std::time::Duration;

use ratchet_core::catalog::dataset::{check_name, run_id};
use ratchet_core::experiment::item_filter::ItemFilter;
use ratchet_core::experiment::plan::{ExperimentPlan, ExperimentProgress};
use ratchet_core::experiment::run_summary::RunSummary;
use ratchet_core::experiment::runner::{
    ClaimOrder, ClaimedTrials, LeaseOutcome, LeaseRenewals, TrialCall, TrialResult, TrialSummary,
    TrialsPage,
};
use ratchet_core::gate::outcomes::has_too_many_faults;
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::{
    Catalog, ClaimedTrial, Dataset, DatasetItem, ExperimentRun, JobRecord, NewExperimentRun,
    RunOpening, TrialClaim, TrialLease, TrialRenewal,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use ratchet_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evaluators::TrialEvaluators;
use super::finished_trials;
use super::planned_trials::MAX_TRIALS;
use super::records;
pub use super::run_list::MAX_LISTED;
pub use super::views::recorded_view;
use super::views::{summary, view};
use crate::record::scores::ScoreWriteError;

/// Dataset items read at a time.
const SLICE: u64 = 500;
/// The most repeats of an item.
pub(super) const MAX_REPEATS: u32 = 100;
/// The most trials of one claim.
const MAX_CLAIM: u64 = 256;
/// Approximate bytes of items and cached answers after which a claim hands out no further trial.
const MAX_CLAIM_BYTES: u64 = 4_000_000;
/// Bytes of an item from which on it is not parsed on an async thread.
const LONG_ITEM: usize = 64 * 1024;
/// The shortest and the longest lease, in seconds.
const LEASE_SECONDS: std::ops::RangeInclusive<u64> = 5..=3_600;
/// Runs that are read at a time where one is looked for by its name.
const LISTED: u64 = 100;

/// Why an experiment was not changed or read.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Score(#[from] ScoreWriteError),
    #[error("{field}: {problem}")]
    Invalid { field: &'static str, problem: String },
    #[error("{0} not found")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
}

pub(super) type ServiceResult<T> = Result<T, ExperimentError>;

/// Experiments of one project in a store.
#[derive(Clone, Debug)]
pub struct ExperimentService {
    pub store: Store,
    /// The catalog on behalf of the caller.
    pub catalog: Catalog,
    pub project: ProjectId,
}

/// What a runner needs of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TrialPayload {
    pub(super) item: String,
    /// Version of the item, in nanoseconds since 1970.
    pub(super) version: i64,
    pub(super) repeat: u32,
    /// Key of its cached answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cache: Option<String>,
}

pub(super) fn invalid(field: &'static str, problem: impl Into<String>) -> ExperimentError {
    ExperimentError::Invalid { field, problem: problem.into() }
}

impl ExperimentService {
    /// Creates a run, or continues the one of its name if its plan is the same, whatever its cost
    /// cap was.
    ///
    /// # Errors
    /// Fails on invalid fields, without such a dataset, and if the name is that of another run.
    pub async fn open(
        &self,
        request: ExperimentPlan,
        now: Timestamp,
    ) -> ServiceResult<ExperimentProgress> {
        let filter = check(&request)?;
        let dataset = self.dataset(&request.dataset).await?;
        let id = run_id(self.project.as_str(), &dataset.id, &request.run);
        // A run may go on with another cost cap.
        let plan = ExperimentPlan { max_cost: None, ..request.clone() };
        let plan = serde_json::to_value(&plan).map_err(|why| invalid("plan", why.to_string()))?;
        let plan = Json::from_value(&plan);
        let (name, max_cost) =
            (request.run.clone(), request.max_cost.and_then(Money::from_dollars));
        if let Some(known) = self.catalog.experiment_run(self.project.clone(), id.clone()).await? {
            return self.continued(known, (&plan, max_cost), now).await;
        }
        let limit = request.limit.unwrap_or(u64::MAX).min(MAX_TRIALS as u64 + 1);
        let project = self.project.clone();
        let items = self.catalog.dataset_item_heads(project, dataset.id.clone(), (filter, limit));
        let trials = self.first_trials(&id, &request, items.await?).await?;
        let new = NewExperimentRun {
            id,
            name,
            dataset: dataset.id.clone(),
            plan: plan.clone(),
            max_cost,
            trials,
        };
        match self.catalog.open_experiment_run(self.project.clone(), new, now).await? {
            RunOpening::Created(run) => Ok(view(&run, &dataset.name)),
            RunOpening::Continued(run) | RunOpening::Different(run) => {
                self.continued(run, (&plan, max_cost), now).await
            }
        }
    }

    /// Goes on with a run. One that is done is returned as it is, unless the target failed so often
    /// that it says nothing about the agent: then the trials without an answer are run again.
    async fn continued(
        &self,
        known: ExperimentRun,
        (plan, max_cost): (&Json, Option<Money>),
        now: Timestamp,
    ) -> ServiceResult<ExperimentProgress> {
        let name = &known.name;
        if known.plan != *plan {
            let why = "has another target, evaluator or setting; choose another name for this run";
            return Err(ExperimentError::Conflict(format!("run {name} {why}")));
        }
        if known.state == "cancelled" {
            let why = "is cancelled already; choose another name for a new run";
            return Err(ExperimentError::Conflict(format!("run {name} {why}")));
        }
        let dataset = self.dataset_name(&known).await?;
        let mut known = known;
        if known.state == "done" && has_too_many_faults(known.counts.faults, known.counts.done) {
            let project = self.project.clone();
            known = self.catalog.repeat_faulted_trials(project, known.id, now).await?;
        }
        if known.max_cost != max_cost {
            let key = (self.project.clone(), known.id);
            known = self.catalog.cap_experiment_run(key, max_cost, now).await?;
        }
        Ok(view(&known, &dataset))
    }

    /// Hands out trials: fewer than were asked for if their items are long. A runner asks again.
    ///
    /// # Errors
    /// Fails on invalid fields and without such a run.
    pub async fn claim(
        &self,
        run: &str,
        request: ClaimOrder,
        now: Timestamp,
    ) -> ServiceResult<ClaimedTrials> {
        let lease = lease_length(request.lease_seconds)?;
        if !(1..=MAX_CLAIM).contains(&request.limit) {
            return Err(invalid("limit", format!("must be from 1 to {MAX_CLAIM}")));
        }
        let run = self.find(run).await?;
        let claim = TrialClaim {
            run: run.id,
            runner: request.runner,
            lease,
            limit: request.limit,
            max_bytes: MAX_CLAIM_BYTES,
            ended_runners: request.ended_runners,
        };
        let (run, claimed) = self.catalog.claim_trials(self.project.clone(), claim, now).await?;
        let mut trials = Vec::with_capacity(claimed.len());
        for one in claimed {
            trials.push(self.trial(one).await?);
        }
        let name = self.dataset_name(&run).await?;
        Ok(ClaimedTrials { trials, experiment: view(&run, &name) })
    }

    /// Extends leases, and counts further calls.
    ///
    /// # Errors
    /// Fails on invalid fields and without such a run.
    pub async fn renew(
        &self,
        run: &str,
        request: LeaseRenewals,
        now: Timestamp,
    ) -> ServiceResult<LeaseOutcome> {
        let length = lease_length(request.lease_seconds)?;
        let run = self.find(run).await?;
        let renewal = |one: ratchet_core::experiment::runner::LeaseRenewal| TrialRenewal {
            lease: TrialLease { id: one.id, number: one.lease },
            is_new_call: one.new_call,
        };
        let renewals = request.leases.into_iter().map(renewal).collect();
        let key = (self.project.clone(), run.id);
        let (run, lost) = self.catalog.renew_trials(key, renewals, length, now).await?;
        let name = self.dataset_name(&run).await?;
        Ok(LeaseOutcome { lost, experiment: view(&run, &name) })
    }

    /// Records results: trace, run item and scores of each, then the end of its trial. If this is
    /// interrupted, the same request again records the same.
    ///
    /// # Errors
    /// Fails on invalid fields and without such a run; then nothing was recorded.
    pub async fn finish(
        &self,
        run: &str,
        results: Vec<TrialResult>,
        now: Timestamp,
    ) -> ServiceResult<LeaseOutcome> {
        let run = self.find(run).await?;
        let key = (self.project.clone(), run.id.clone());
        let lease = |one: &TrialResult| TrialLease { id: one.id.clone(), number: one.lease };
        let leases = results.iter().map(lease).collect();
        let held = self.catalog.held_trials(key.clone(), leases).await?;
        let plan = plan_of(&run)?;
        let (mut recorded, mut finished, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for result in results {
            let job = held.iter().find(|(lease, _)| lease.id == result.id);
            let Some((lease, job)) = job else {
                lost.push(result.id);
                continue;
            };
            let payload = payload_of(job)?;
            let item = self.item(&payload).await?;
            let one = records::of(&run, &plan, (&item, &payload), &result, now)?;
            let end = finished_trials::of(lease.clone(), &payload, &result, &one);
            finished.push((one.trace.clone(), end));
            recorded.push(one);
        }
        let finished = self.with_span_costs(finished).await?;
        records::write(&self.store, &self.project, recorded, now).await?;
        let (run, gone) = self.catalog.finish_trials(key, finished, now).await?;
        lost.extend(gone);
        let name = self.dataset_name(&run).await?;
        Ok(LeaseOutcome { lost, experiment: view(&run, &name) })
    }

    /// Stops a run.
    ///
    /// # Errors
    /// Fails without such a run.
    pub async fn cancel(&self, run: &str, now: Timestamp) -> ServiceResult<ExperimentProgress> {
        let run = self.find(run).await?;
        let run = self.catalog.cancel_experiment_run(self.project.clone(), run.id, now).await?;
        let name = self.dataset_name(&run).await?;
        Ok(view(&run, &name))
    }

    /// Returns a run by id or name.
    ///
    /// # Errors
    /// Fails without such a run.
    pub async fn show(&self, run: &str) -> ServiceResult<ExperimentProgress> {
        let run = match self.find(run).await {
            Err(ExperimentError::NotFound(_)) => return self.show_recorded(run).await,
            found => found?,
        };
        let name = self.dataset_name(&run).await?;
        Ok(view(&run, &name))
    }

    /// Returns trials of a run in their order.
    ///
    /// # Errors
    /// Fails without such a run.
    pub async fn trials(
        &self,
        run: &str,
        (cursor, limit): (Option<String>, u64),
    ) -> ServiceResult<TrialsPage> {
        let run = match self.find(run).await {
            Err(ExperimentError::NotFound(_)) => {
                return self.recorded_trials(run, (cursor, limit)).await;
            }
            found => found?,
        };
        let jobs = self.catalog.trials(self.project.clone(), run.id, (cursor, limit)).await?;
        let is_full = jobs.len() as u64 >= limit;
        let cursor = jobs.last().filter(|_| is_full).map(|job| job.id.clone());
        let trials = jobs.iter().map(summary).collect::<ServiceResult<_>>()?;
        Ok(TrialsPage { trials, cursor })
    }

    /// Returns a run as a whole: the finished trials by score, latency and cost.
    ///
    /// # Errors
    /// Fails without such a run, and if it has more trials than a run of ours may have.
    pub async fn summary(&self, run: &str) -> ServiceResult<RunSummary> {
        let (mut facts, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.trials(run, (cursor, SLICE)).await?;
            let finished = |one: &&TrialSummary| matches!(one.state.as_str(), "answered" | "fault");
            facts.extend(page.trials.iter().filter(finished).map(TrialSummary::facts));
            cursor = page.cursor;
            if facts.len() > MAX_TRIALS {
                return Err(invalid("run", format!("has more than {MAX_TRIALS} trials")));
            }
            if cursor.is_none() {
                let id = self.run_id(run).await?;
                let run_scores = self.run_scores(&id).await?;
                let summary = run_blocking(move || RunSummary::of(&facts)).await?;
                return Ok(RunSummary { run_scores, ..summary });
            }
        }
    }

    pub(super) async fn find(&self, run: &str) -> ServiceResult<ExperimentRun> {
        let (project, id) = (self.project.clone(), run.to_owned());
        if let Some(found) = self.catalog.experiment_run(project, id).await? {
            return Ok(found);
        }
        for page in 1.. {
            let page = PageNumber { page, limit: LISTED };
            let all = self.catalog.experiment_runs(self.project.clone(), None, page).await?.rows;
            let is_last = (all.len() as u64) < LISTED;
            if let Some(named) = all.into_iter().find(|known| known.name == run) {
                return Ok(named);
            }
            if is_last {
                break;
            }
        }
        Err(ExperimentError::NotFound(format!("experiment run {run}")))
    }

    pub(super) async fn dataset(&self, name: &str) -> ServiceResult<Dataset> {
        let found = self.catalog.dataset(self.project.clone(), name.to_owned()).await?;
        found.ok_or_else(|| ExperimentError::NotFound(format!("dataset {name}")))
    }

    pub(super) async fn dataset_name(&self, run: &ExperimentRun) -> ServiceResult<String> {
        Ok(plan_of(run)?.dataset)
    }

    pub(super) async fn item(&self, payload: &TrialPayload) -> ServiceResult<DatasetItem> {
        let as_of = Some(Timestamp::from_nanos(payload.version));
        let (project, id) = (self.project.clone(), payload.item.clone());
        let found = self.catalog.dataset_item(project, id, as_of).await?;
        found.ok_or_else(|| ExperimentError::NotFound(format!("dataset item {}", payload.item)))
    }

    async fn trial(&self, claimed: ClaimedTrial) -> ServiceResult<TrialCall> {
        let payload = payload_of(&claimed.job)?;
        let item = self.item(&payload).await?;
        let texts = [&item.input, &item.expected_output, &item.metadata];
        let bytes = texts.into_iter().flatten().map(|json| json.as_str().len()).sum::<usize>()
            + claimed.cached.as_ref().map_or(0, String::len);
        let view = move || TrialCall {
            cached: claimed.cached.as_deref().and_then(|text| serde_json::from_str(text).ok()),
            lease: claimed.job.state.leases,
            id: claimed.job.id,
            item: item.id,
            repeat: payload.repeat,
            input: parsed(item.input.as_ref()),
            expected_output: parsed(item.expected_output.as_ref()),
            metadata: parsed(item.metadata.as_ref()),
        };
        Ok(if bytes > LONG_ITEM { run_blocking(view).await? } else { view() })
    }
}

/// Validates a request; returns its filter.
fn check(request: &ExperimentPlan) -> ServiceResult<Option<ItemFilter>> {
    check_name(&request.run).map_err(|why| invalid("run", why.to_string()))?;
    if !(1..=MAX_REPEATS).contains(&request.repeats) {
        return Err(invalid("repeats", format!("must be from 1 to {MAX_REPEATS}")));
    }
    if request.max_cost.is_some_and(|cost| Money::from_dollars(cost).is_none()) {
        return Err(invalid("maxCost", "must be an amount in US dollars"));
    }
    if request.cache && request.target.version.is_none() {
        return Err(invalid("cache", "needs a target with a version"));
    }
    TrialEvaluators::parse(&request.evaluators)
        .map_err(|why| invalid("evaluators", why.to_string()))?;
    let filter = request.filter.as_deref().map(str::parse).transpose();
    filter.map_err(|why: ratchet_core::experiment::item_filter::InvalidFilter| {
        invalid("filter", why.to_string())
    })
}

fn lease_length(seconds: u64) -> ServiceResult<Duration> {
    if LEASE_SECONDS.contains(&seconds) {
        return Ok(Duration::from_secs(seconds));
    }
    let (least, most) = (LEASE_SECONDS.start(), LEASE_SECONDS.end());
    Err(invalid("leaseSeconds", format!("must be from {least} to {most}")))
}

pub(super) fn plan_of(run: &ExperimentRun) -> ServiceResult<ExperimentPlan> {
    let plan = serde_json::from_str(run.plan.as_str());
    plan.map_err(|why| {
        ExperimentError::Conflict(format!("the plan of run {} is damaged: {why}", run.name))
    })
}

pub(super) fn payload_of(job: &JobRecord) -> ServiceResult<TrialPayload> {
    let payload = serde_json::from_str(&job.payload);
    payload.map_err(|why| ExperimentError::Conflict(format!("trial {} is damaged: {why}", job.id)))
}

fn parsed(json: Option<&Json>) -> Value {
    json.and_then(|json| serde_json::from_str(json.as_str()).ok()).unwrap_or_default()
}
