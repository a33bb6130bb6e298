use ratchet_core::experiment::plan::{ExperimentPlan, ExperimentProgress, PlannedTarget};
use ratchet_core::experiment::runner::{MissingVerdict, TrialScore, TrialSummary};
use ratchet_core::job::JobPhase;
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{ExperimentRun, JobRecord};
use ratchet_store::experiment::Experiment;
use serde_json::Value;

use super::service::{ExperimentError, payload_of};

pub(super) fn view(run: &ExperimentRun, dataset: &str) -> ExperimentProgress {
    let plan: Option<ExperimentPlan> = serde_json::from_str(run.plan.as_str()).ok();
    let counts = run.counts;
    ExperimentProgress {
        id: run.id.clone(),
        name: run.name.clone(),
        dataset: dataset.to_owned(),
        state: run.state.clone(),
        repeats: run
            .extended_repeats
            .unwrap_or_else(|| plan.as_ref().map_or(1, |plan| plan.repeats)),
        evaluators: plan.as_ref().map(|plan| plan.evaluators.clone()).unwrap_or_default(),
        target: plan.map(|plan| plan.target),
        trials: counts.trials,
        done: counts.done,
        faults: counts.faults,
        cached: counts.cached,
        calls: counts.calls,
        unpriced: counts.unpriced,
        cost: counts.cost.dollars(),
        max_cost: run.max_cost.map(Money::dollars),
        created_at: run.created_at.to_string(),
        finished_at: run.finished_at.map(|at| at.to_string()),
    }
}

/// A run that another client recorded.
pub fn recorded_view(run: &Experiment, dataset: &str) -> ExperimentProgress {
    ExperimentProgress {
        id: run.id.clone(),
        name: run.name.clone(),
        dataset: dataset.to_owned(),
        state: "recorded".to_owned(),
        target: None::<PlannedTarget>,
        evaluators: Vec::new(),
        repeats: 1,
        trials: 0,
        done: 0,
        faults: 0,
        cached: 0,
        calls: 0,
        unpriced: 0,
        cost: 0.0,
        max_cost: None,
        created_at: run.created_at.to_string(),
        finished_at: None,
    }
}

pub(super) fn summary(job: &JobRecord) -> Result<TrialSummary, ExperimentError> {
    let payload = payload_of(job)?;
    let result: Value =
        job.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
    let scores: Vec<TrialScore> = list(&result, "scores");
    let not_judged: Vec<MissingVerdict> = list(&result, "notJudged");
    let fault = text("fault").or_else(|| {
        let is_dead = job.state.phase == JobPhase::Dead;
        job.state.error.clone().filter(|_| is_dead)
    });
    let (state, runner) = match &job.state.phase {
        JobPhase::Queued { .. } => ("waiting", None),
        JobPhase::Leased { owner, .. } => ("running", Some(owner.clone())),
        JobPhase::Done if fault.is_none() => ("answered", None),
        JobPhase::Done | JobPhase::Dead => ("fault", None),
    };
    Ok(TrialSummary {
        id: job.id.clone(),
        item: payload.item,
        version: Timestamp::from_nanos(payload.version).to_string(),
        repeat: payload.repeat,
        state: state.to_owned(),
        calls: result.get("calls").and_then(Value::as_u64).unwrap_or(0),
        cached: result.get("cached").and_then(Value::as_bool).unwrap_or(false),
        fault,
        trace: text("trace"),
        latency_ms: result.get("latencyMs").and_then(Value::as_u64),
        cost: result.get("cost").and_then(Value::as_f64),
        scores,
        not_judged,
        runner,
    })
}

fn list<T: serde::de::DeserializeOwned>(result: &Value, field: &str) -> Vec<T> {
    let found = result.get(field).and_then(|all| serde_json::from_value(all.clone()).ok());
    found.unwrap_or_default()
}
