use std::time::Duration;

use ratchet_core::experiment::trial::trial_ids;
use ratchet_core::job::JobKind;
use ratchet_core::money::Money;
use ratchet_core::record::redact::path::Root;
use ratchet_core::record::redact::{LimitedRedactor, Redact, Redacted};
use ratchet_core::time::Timestamp;
use serde_json::{Map, Value as JsonValue, json};

use super::{ExperimentRun, RunCounts, require};
use crate::StoreResult;
use crate::catalog::Catalog;
use crate::catalog::job::{self, JobLease, JobRecord, LeaseStatus};
use crate::catalog::sql::Tx;
use crate::project::ProjectId;

/// The field of a trial's result that counts its calls.
pub(super) const CALLS: &str = "calls";

/// A request for trials of a run.
#[derive(Clone, Debug)]
pub struct TrialClaim {
    pub run: String,
    /// Id of the runner.
    pub runner: String,
    pub lease: Duration,
    pub limit: u64,
    /// Approximate bytes of items and cached answers after which no further trial is handed out.
    pub max_bytes: u64,
    /// Runners that are known to have ended: their trials are handed out again.
    pub ended_runners: Vec<String>,
}

/// A trial that is handed out. Unless it has a cached answer, its call is counted already.
#[derive(Clone, Debug)]
pub struct ClaimedTrial {
    pub job: JobRecord,
    /// The answer of an earlier run, as JSON.
    pub cached: Option<String>,
}

/// A lease on a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialLease {
    pub id: String,
    pub number: u64,
}

/// A lease to extend.
#[derive(Clone, Debug)]
pub struct TrialRenewal {
    pub lease: TrialLease,
    /// Whether another call is about to be sent, which is counted.
    pub is_new_call: bool,
}

/// A trial that ended.
#[derive(Clone, Debug)]
pub struct FinishedTrial {
    pub lease: TrialLease,
    /// What is shown of it: fields without the number of calls.
    pub result: Map<String, JsonValue>,
    pub is_fault: bool,
    pub is_cached: bool,
    /// What the calls of the target cost; `None` if unknown.
    pub cost: Option<Money>,
    /// What its evaluators cost.
    pub judge_cost: Money,
    pub answer: Option<CacheableAnswer>,
}

/// An answer that later runs may use.
#[derive(Clone, Debug)]
pub struct CacheableAnswer {
    pub key: String,
    pub text: String,
    /// What is stored: JSON.
    pub document: String,
}

/// Keys of a result whose values are ids.
const IDS: [&str; 2] = ["trace", "observation"];

impl Redact for FinishedTrial {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let result = match rules.texts(JsonValue::Object(self.result), &IDS) {
            JsonValue::Object(fields) => fields,
            _ => Map::new(),
        };
        // A redacted answer would be judged differently from the one that was given.
        let answer = self.answer.filter(|answer| rules.keep(&answer.text, Root::Output));
        Self { result, answer, ..self }
    }
}

impl Catalog {
    /// Hands out trials of a run in their order, as many as fit, and counts the call of each. Hands
    /// out none of a run that is not running or has reached its cost cap.
    ///
    /// # Errors
    /// Fails if there is no such run.
    pub async fn claim_trials(
        &self,
        project: ProjectId,
        claim: TrialClaim,
        now: Timestamp,
    ) -> StoreResult<(ExperimentRun, Vec<ClaimedTrial>)> {
        self.transact(move |tx| {
            let run = require(tx, &project, &claim.run)?;
            let is_over = run.max_cost.is_some_and(|cap| run.counts.cost >= cap);
            if run.state != "running" || is_over {
                return Ok((run, Vec::new()));
            }
            release_ended(tx, &project, &claim, now)?;
            let jobs = claimable(tx, &project, &claim, now)?;
            let (mut claimed, mut bytes) = (Vec::with_capacity(jobs.len()), 0);
            for job in jobs {
                if bytes >= claim.max_bytes {
                    break;
                }
                bytes += item_bytes(tx, &job)?;
                let granted = grant(tx, &job, &claim, now)?;
                let cached = granted.as_ref().and_then(|granted| granted.cached.as_ref());
                bytes += cached.map_or(0, |answer| answer.len() as u64);
                claimed.extend(granted);
            }
            let calls = claimed.iter().filter(|one| one.cached.is_none()).count() as u64;
            let counts = RunCounts { calls, ..RunCounts::default() };
            add(tx, (&project, &claim.run), &counts, now)?;
            Ok((require(tx, &project, &claim.run)?, claimed))
        })
        .await
    }

    /// Extends leases, and counts further calls before they are sent. Returns the run, and the
    /// trials whose lease is lost.
    ///
    /// # Errors
    /// Fails if there is no such run.
    pub async fn renew_trials(
        &self,
        (project, run): (ProjectId, String),
        renewals: Vec<TrialRenewal>,
        length: Duration,
        now: Timestamp,
    ) -> StoreResult<(ExperimentRun, Vec<String>)> {
        self.transact(move |tx| {
            let (mut lost, mut calls) = (Vec::new(), 0);
            for renewal in renewals {
                let lease = leased(&project, &renewal.lease);
                let status = job::renew(tx, &lease, length, now)?;
                if status == LeaseStatus::Lost || !is_of(&run, &lease.id) {
                    lost.push(lease.id);
                } else if renewal.is_new_call {
                    let job = job::one(tx, &project, lease.kind, &lease.id)?;
                    let result = counted(job.as_ref().and_then(|job| job.result.as_deref()), 1);
                    save_result(tx, &lease, &result)?;
                    calls += 1;
                }
            }
            let counts = RunCounts { calls, ..RunCounts::default() };
            add(tx, (&project, &run), &counts, now)?;
            Ok((require(tx, &project, &run)?, lost))
        })
        .await
    }

    /// Returns which of these leases are held.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn held_trials(
        &self,
        (project, run): (ProjectId, String),
        leases: Vec<TrialLease>,
    ) -> StoreResult<Vec<(TrialLease, JobRecord)>> {
        self.transact(move |tx| {
            let mut held = Vec::with_capacity(leases.len());
            for lease in leases.into_iter().filter(|lease| is_of(&run, &lease.id)) {
                let found = job::one(tx, &project, JobKind::ExperimentTrial, &lease.id)?;
                let found = found
                    .filter(|job| job.state.leases == lease.number && !job.state.is_finished());
                held.extend(found.map(|job| (lease, job)));
            }
            Ok(held)
        })
        .await
    }

    /// Ends trials under their leases. Returns the run, and the trials whose lease is lost.
    ///
    /// # Errors
    /// Fails if there is no such run.
    pub async fn finish_trials(
        &self,
        (project, run): (ProjectId, String),
        finished: Vec<FinishedTrial>,
        now: Timestamp,
    ) -> StoreResult<(ExperimentRun, Vec<String>)> {
        let finished = self.redacted(&project, finished).await?;
        self.transact(move |tx| {
            let mut lost = Vec::new();
            let mut counts = RunCounts::default();
            for redacted in finished.each() {
                let trial = redacted.get();
                let lease = leased(&project, &trial.lease);
                if !is_of(&run, &lease.id) || !finish(tx, &lease, &redacted, now)? {
                    lost.push(lease.id);
                    continue;
                }
                counts.done += 1;
                counts.faults += u64::from(trial.is_fault);
                counts.cached += u64::from(trial.is_cached);
                counts.unpriced += u64::from(trial.cost.is_none());
                counts.cost = counts.cost + trial.cost.unwrap_or(Money::ZERO) + trial.judge_cost;
            }
            add(tx, (&project, &run), &counts, now)?;
            let end = "UPDATE experiment_run SET state = 'done', finished_at = $3 \
                       WHERE project = $1 AND id = $2 AND state = 'running' AND done >= trials";
            tx.execute(end, &[(&project).into(), (&run).into(), now.into()])?;
            Ok((require(tx, &project, &run)?, lost))
        })
        .await
    }

    /// Returns the trials of a run in their order, behind an id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn trials(
        &self,
        project: ProjectId,
        run: String,
        (after, limit): (Option<String>, u64),
    ) -> StoreResult<Vec<JobRecord>> {
        self.transact(move |tx| page(tx, (&project, &run), (after, limit))).await
    }
}

/// Trials of a run in their order, behind an id.
pub(super) fn page(
    tx: &Tx<'_>,
    (project, run): (&ProjectId, &str),
    (after, limit): (Option<String>, u64),
) -> StoreResult<Vec<JobRecord>> {
    let (from, to) = trial_ids(run);
    let condition = "project = $1 AND kind = $2 AND id > $3 AND id < $4 ORDER BY id LIMIT $5";
    let values = [
        project.into(),
        JobKind::ExperimentTrial.as_str().into(),
        after.unwrap_or(from).into(),
        to.into(),
        limit.into(),
    ];
    job::select(tx, condition, &values)
}

fn is_of(run: &str, id: &str) -> bool {
    id.strip_prefix(run).is_some_and(|rest| rest.starts_with('/'))
}

fn leased(project: &ProjectId, lease: &TrialLease) -> JobLease {
    JobLease {
        project: project.clone(),
        kind: JobKind::ExperimentTrial,
        id: lease.id.clone(),
        number: lease.number,
    }
}

/// Returns the trials of ended runners to the queue.
fn release_ended(
    tx: &Tx<'_>,
    project: &ProjectId,
    claim: &TrialClaim,
    now: Timestamp,
) -> StoreResult<()> {
    let (from, to) = trial_ids(&claim.run);
    let sql = "UPDATE job SET expires_at = $6 WHERE project = $1 AND kind = $2 AND id > $3 \
               AND id < $4 AND phase = 'leased' AND owner = $5";
    for runner in &claim.ended_runners {
        let values = [
            project.into(),
            JobKind::ExperimentTrial.as_str().into(),
            (&from).into(),
            (&to).into(),
            runner.into(),
            now.into(),
        ];
        tx.execute(sql, &values)?;
    }
    Ok(())
}

fn claimable(
    tx: &Tx<'_>,
    project: &ProjectId,
    claim: &TrialClaim,
    now: Timestamp,
) -> StoreResult<Vec<JobRecord>> {
    let (from, to) = trial_ids(&claim.run);
    let condition = "project = $1 AND kind = $2 AND id > $3 AND id < $4 AND is_held = 0 \
                     AND (phase = 'queued' OR (phase = 'leased' AND expires_at <= $5)) \
                     ORDER BY id LIMIT $6";
    let values = [
        project.into(),
        JobKind::ExperimentTrial.as_str().into(),
        from.into(),
        to.into(),
        now.into(),
        claim.limit.into(),
    ];
    job::select(tx, condition, &values)
}

fn grant(
    tx: &Tx<'_>,
    job: &JobRecord,
    claim: &TrialClaim,
    now: Timestamp,
) -> StoreResult<Option<ClaimedTrial>> {
    let Some(job) = job::grant(tx, job, (&claim.runner, claim.lease), now)? else {
        return Ok(None);
    };
    let cached = cached_answer(tx, &job)?;
    if cached.is_none() {
        save_result(tx, &job.lease(), &counted(job.result.as_deref(), 1))?;
    }
    Ok(Some(ClaimedTrial { job, cached }))
}

/// Approximate bytes of the dataset item of a trial.
fn item_bytes(tx: &Tx<'_>, job: &JobRecord) -> StoreResult<u64> {
    let payload: JsonValue = serde_json::from_str(&job.payload).unwrap_or_default();
    let (Some(item), Some(version)) = (payload["item"].as_str(), payload["version"].as_i64())
    else {
        return Ok(0);
    };
    let sql = "SELECT COALESCE(LENGTH(input), 0) + COALESCE(LENGTH(expected_output), 0) + \
               COALESCE(LENGTH(metadata), 0) FROM dataset_item \
               WHERE project = $1 AND id = $2 AND valid_from = $3";
    let version = Timestamp::from_nanos(version);
    let values = [(&job.project).into(), item.into(), version.into()];
    Ok(tx.one(sql, &values, |row| row.get(0))?.unwrap_or(0))
}

fn cached_answer(tx: &Tx<'_>, job: &JobRecord) -> StoreResult<Option<String>> {
    let payload: Option<JsonValue> = serde_json::from_str(&job.payload).ok();
    let key = payload.as_ref().and_then(|payload| payload.get("cache")?.as_str());
    let Some(key) = key else { return Ok(None) };
    let sql = "SELECT answer FROM experiment_answer WHERE project = $1 AND id = $2";
    tx.one(sql, &[(&job.project).into(), key.into()], |row| row.get(0))
}

/// A result with so many calls more.
fn counted(result: Option<&str>, more: u64) -> Map<String, JsonValue> {
    let mut result = fields(result);
    let calls = result.get(CALLS).and_then(JsonValue::as_u64).unwrap_or(0) + more;
    result.insert(CALLS.to_owned(), json!(calls));
    result
}

pub(super) fn fields(result: Option<&str>) -> Map<String, JsonValue> {
    result.and_then(|result| serde_json::from_str(result).ok()).unwrap_or_default()
}

fn save_result(tx: &Tx<'_>, lease: &JobLease, result: &Map<String, JsonValue>) -> StoreResult<()> {
    let sql = "UPDATE job SET result = $5 WHERE project = $1 AND kind = $2 AND id = $3 \
               AND leases = $4";
    let values = [
        (&lease.project).into(),
        lease.kind.as_str().into(),
        (&lease.id).into(),
        lease.number.into(),
        JsonValue::Object(result.clone()).to_string().into(),
    ];
    tx.execute(sql, &values).map(drop)
}

/// Ends a trial; returns false if its lease is lost.
fn finish(
    tx: &Tx<'_>,
    lease: &JobLease,
    trial: &Redacted<FinishedTrial>,
    now: Timestamp,
) -> StoreResult<bool> {
    let trial = trial.get();
    let before = job::one(tx, &lease.project, lease.kind, &lease.id)?;
    let mut result = counted(before.and_then(|job| job.result).as_deref(), 0);
    result.extend(trial.result.clone());
    let result = JsonValue::Object(result).to_string();
    if job::complete(tx, lease, Some(result), now)? == LeaseStatus::Lost {
        return Ok(false);
    }
    if let Some(CacheableAnswer { key, document, .. }) = &trial.answer {
        tx.execute(
            "INSERT INTO experiment_answer (project, id, answer, created_at) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (project, id) DO NOTHING",
            &[(&lease.project).into(), key.into(), document.into(), now.into()],
        )?;
    }
    Ok(true)
}

fn add(
    tx: &Tx<'_>,
    (project, run): (&ProjectId, &str),
    counts: &RunCounts,
    now: Timestamp,
) -> StoreResult<()> {
    if *counts == RunCounts::default() {
        return Ok(());
    }
    let sql = "UPDATE experiment_run SET done = done + $3, faults = faults + $4, \
               cached = cached + $5, calls = calls + $6, unpriced = unpriced + $7, \
               cost = cost + $8, updated_at = $9 WHERE project = $1 AND id = $2";
    let values = [
        project.into(),
        run.into(),
        counts.done.into(),
        counts.faults.into(),
        counts.cached.into(),
        counts.calls.into(),
        counts.unpriced.into(),
        counts.cost.pico().into(),
        now.into(),
    ];
    tx.execute(sql, &values).map(drop)
}
