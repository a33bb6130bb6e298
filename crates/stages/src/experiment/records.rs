use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata, TimeSpan};
use ratchet_core::environment::Environment;
use ratchet_core::experiment::evaluator::TrialEvaluator;
use ratchet_core::experiment::plan::ExperimentPlan;
use ratchet_core::experiment::runner::{JudgeCall, ReportedCall, TrialResult, TrialScore};
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::id::{ObservationId, ScoreId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Field, Stamp, StampedValue, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest, Metadata};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{DataType, ScoreSource, ScoreTarget};
use ratchet_core::record::trace::TracePatch;
use ratchet_core::record::usage::{Cost, Usage};
use ratchet_core::time::Timestamp;
use ratchet_store::Store;
use ratchet_store::catalog::{DatasetItem, ExperimentRun};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;
use serde_json::{Value, json};

use super::service::{ExperimentError, TrialPayload};
use crate::record::scores::write_with;
use crate::score::judge_calls::{CALL_TRACE, JudgeCallRecord};

/// Metadata of the trace of a trial that names its run.
pub(crate) const RUN_NAME: &str = "ratchet.experiment.run";
/// Metadata of a score that names its evaluator's version.
pub(crate) const EVALUATOR_VERSION: &str = "evaluator_version";
/// Metadata of a score with what its judge cost, in US dollars.
pub(crate) const JUDGE_COST: &str = "ratchet.experiment.judge_cost";

/// What a result leaves behind.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) trace: TraceId,
    pub(super) latency_ms: u64,
    trace_patch: TracePatch,
    root: ObservationPatch,
    calls: Vec<ObservationPatch>,
    item: ExperimentItem,
    scores: Vec<ScoreDraft>,
    /// Traces of the calls of judges.
    judge_calls: Vec<(TracePatch, ObservationPatch)>,
}

/// Makes the records of a result.
pub(super) fn of(
    run: &ExperimentRun,
    plan: &ExperimentPlan,
    (item, payload): (&DatasetItem, &TrialPayload),
    result: &TrialResult,
    now: Timestamp,
) -> Result<Recorded, ExperimentError> {
    let call = CallTrace::of(&result.id, result.lease, result.call)
        .map_err(|why| invalid("id", why.to_string()))?;
    let start = time("startedAt", &result.started_at)?;
    let end = time("endedAt", &result.ended_at)?.max(start);
    let stamp = Stamp::stated(now, WriteKind::Create);
    let environment = plan.target.environment.as_deref().map(Environment::normalise);
    let input = item.input.clone().map(Payload::Json);
    // An answer is text, also if it looks like a number.
    let answer = result.answer.as_ref().map(|text| Json::from_value(&json!(text)));
    let output = answer.map(Payload::Json);
    let trace_patch = TracePatch {
        timestamp: Earliest(Some(start)),
        name: Field::new(plan.target.name.clone(), stamp),
        environment: Field::if_some(environment.clone(), stamp),
        version: Field::if_some(plan.target.version.clone(), stamp),
        metadata: metadata(facts(run, plan, payload, result), stamp),
        input: Field::if_some(input.clone(), stamp),
        output: Field::if_some(output.clone(), stamp),
        ..TracePatch::new(call.trace.clone())
    };
    let kind =
        if result.model.is_some() { ObservationKind::Generation } else { ObservationKind::Agent };
    let root = ObservationPatch {
        kind: Field::new(kind, stamp),
        name: Field::new(plan.target.name.clone(), stamp),
        start: Earliest(Some(start)),
        end: Latest(Some(end)),
        level: Field::if_some(result.fault.as_ref().map(|_| Level::Error), stamp),
        status_message: Field::if_some(result.fault.clone(), stamp),
        environment: Field::if_some(environment.clone(), stamp),
        model: Field::if_some(result.model.clone(), stamp),
        usage: Field::if_some(usage(result), stamp),
        cost: Field::if_some(cost(result), stamp),
        input: Field::if_some(input, stamp),
        output: Field::if_some(output, stamp),
        ..ObservationPatch::new(call.root.clone(), Some(call.trace.clone()))
    };
    let judge_calls = judge_calls(&call, (result, run), now)?;
    let judged_in = judge_traces(result, &judge_calls);
    let scores = scores(plan, result, (&call, environment.as_ref(), &judged_in), stamp)?;
    let tried = run_item(experiment(run, plan), item, (&call.trace, TimeSpan { start, end }), now);
    let latency_ms = u64::try_from(end.since(start) / 1_000_000).unwrap_or(0);
    let calls = calls(&call, result, start, (stamp, environment.as_ref()))?;
    Ok(Recorded {
        trace: call.trace,
        latency_ms,
        trace_patch,
        root,
        calls,
        item: tried,
        scores,
        judge_calls,
    })
}

fn run_item(
    experiment: ExperimentMetadata,
    item: &DatasetItem,
    (trace, ran): (&TraceId, TimeSpan),
    now: Timestamp,
) -> ExperimentItem {
    ExperimentItem {
        experiment,
        item: item.id.clone(),
        version: Some(item.valid_from),
        expected_output: item.expected_output.clone(),
        metadata: item.metadata.clone(),
        trace: trace.clone(),
        observation: None,
        ran: Some(ran),
        recorded_at: now,
    }
}

/// Writes records in one commit.
pub(super) async fn write(
    store: &Store,
    project: &ProjectId,
    all: Vec<Recorded>,
    now: Timestamp,
) -> Result<(), ExperimentError> {
    if all.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::new(project.clone(), now);
    let mut scores = Vec::new();
    for one in all {
        batch.traces.push(one.trace_patch);
        batch.observations.push(one.root);
        batch.observations.extend(one.calls);
        batch.experiment_items.push(one.item);
        scores.extend(one.scores);
        for (trace, generation) in one.judge_calls {
            batch.traces.push(trace);
            batch.observations.push(generation);
        }
    }
    Ok(write_with((&store.telemetry, &store.catalog), batch, scores).await?)
}

/// The calls of tools that a target reports, below the root; those of a sub-agent below the call that
/// started it.
fn calls(
    trace: &CallTrace,
    result: &TrialResult,
    start: Timestamp,
    (stamp, environment): (Stamp, Option<&Environment>),
) -> Result<Vec<ObservationPatch>, ExperimentError> {
    let known: BTreeSet<&str> = result.calls.iter().map(|call| call.id.as_str()).collect();
    let step = |id: &str| trace.step(id).map_err(|why| invalid("calls", why.to_string()));
    let at = |millis: u64| start.plus(Duration::from_millis(millis));
    let text = |text: &String| Payload::Json(Json::from_value(&json!(text)));
    let patch = |call: &ReportedCall| {
        let parent = call.parent.as_deref().filter(|parent| known.contains(parent));
        let parent = parent.map_or_else(|| Ok(trace.root.clone()), step)?;
        let level = if call.failed { Level::Error } else { Level::Default };
        Ok(ObservationPatch {
            kind: Field::new(ObservationKind::Tool, stamp),
            name: Field::new(call.name.clone(), stamp),
            parent: Field::new(parent, stamp),
            start: Earliest(Some(at(call.started_ms))),
            end: Latest(call.ended_ms.map(at)),
            level: Field::new(level, stamp),
            environment: Field::if_some(environment.cloned(), stamp),
            input: Field::new(Payload::Json(Json::from_value(&call.input)), stamp),
            output: Field::if_some(call.output.as_ref().map(text), stamp),
            ..ObservationPatch::new(step(&call.id)?, Some(trace.trace.clone()))
        })
    };
    result.calls.iter().map(patch).collect()
}

fn experiment(run: &ExperimentRun, plan: &ExperimentPlan) -> ExperimentMetadata {
    let metadata =
        json!({ "target": plan.target, "evaluators": plan.evaluators, "repeats": plan.repeats });
    ExperimentMetadata {
        id: run.id.clone(),
        name: Some(run.name.clone()),
        description: plan.description.clone(),
        metadata: Some(Json::from_value(&metadata)),
        dataset: Some(run.dataset.clone()),
    }
}

pub(crate) fn metadata(
    facts: impl IntoIterator<Item = (&'static str, Value)>,
    stamp: Stamp,
) -> Metadata {
    Metadata::new(facts.into_iter().map(|(key, value)| {
        (key.to_owned(), StampedValue { stamp, value: Some(Json::from_value(&value)) })
    }))
}

fn facts(
    run: &ExperimentRun,
    plan: &ExperimentPlan,
    payload: &TrialPayload,
    result: &TrialResult,
) -> [(&'static str, Value); 6] {
    [
        (RUN_NAME, json!(run.name)),
        ("ratchet.experiment.item", json!(payload.item)),
        ("ratchet.experiment.repeat", json!(payload.repeat)),
        ("ratchet.experiment.target", json!(plan.target.name)),
        ("ratchet.experiment.target_kind", json!(plan.target.kind)),
        ("ratchet.experiment.cached", json!(result.cached)),
    ]
}

fn usage(result: &TrialResult) -> Option<Usage> {
    let sent = [("input", result.input_tokens), ("output", result.output_tokens)];
    let kinds: BTreeMap<String, u64> =
        sent.into_iter().filter_map(|(kind, count)| Some((kind.to_owned(), count?))).collect();
    (!kinds.is_empty() && !result.cached).then(|| Usage::new(kinds))
}

fn cost(result: &TrialResult) -> Option<Cost> {
    let total = result.cost.and_then(Money::from_dollars).filter(|_| !result.cached)?;
    Some(Cost::new(BTreeMap::from([("total".to_owned(), total)])))
}

fn scores(
    plan: &ExperimentPlan,
    result: &TrialResult,
    (call, environment, judged_in): (&CallTrace, Option<&Environment>, &BTreeMap<&str, String>),
    stamp: Stamp,
) -> Result<Vec<ScoreDraft>, ExperimentError> {
    let evaluators: Vec<TrialEvaluator> =
        plan.evaluators.iter().filter_map(|text| text.parse().ok()).collect();
    let draft = |score: &TrialScore| {
        if !score.value.is_finite() {
            return Err(invalid("scores", format!("{}: the value is not a number", score.name)));
        }
        // A sub-agent may have worked several times.
        let on = score.observation.as_ref().map(|of| format!("-{of}")).unwrap_or_default();
        let id = ScoreId::parse(&format!("{}-{}{on}", call.trace, score.name));
        let id = id.map_err(|why| invalid("scores", why.to_string()))?;
        let target = match score.observation.as_deref().map(ObservationId::parse).transpose() {
            Ok(None) => ScoreTarget::Trace(call.trace.clone()),
            Ok(Some(of)) => ScoreTarget::Observation(call.trace.clone(), of),
            Err(why) => return Err(invalid("scores", why.to_string())),
        };
        let by = evaluators.iter().find(|evaluator| evaluator.gives(&score.name));
        let judge = by.map(|by| ("judge", json!(by.judge())));
        let link = judged_in.get(score.name.as_str()).map(|trace| (CALL_TRACE, json!(trace)));
        let judge = judge.into_iter().chain(link);
        Ok(ScoreDraft {
            name: Some(score.name.clone()),
            value: Some(SentValue::Number(score.value)),
            data_type: Some(DataType::Numeric),
            comment: Field::if_some(score.comment.clone(), stamp),
            environment: Field::if_some(environment.cloned(), stamp),
            metadata: metadata(score_facts(plan, score).chain(judge), stamp),
            ..ScoreDraft::new(id, target, ScoreSource::Eval, stamp)
        })
    };
    result.scores.iter().map(draft).collect()
}

/// A version only where there is one: without it, nothing is known to have changed.
fn score_facts(
    plan: &ExperimentPlan,
    score: &TrialScore,
) -> impl Iterator<Item = (&'static str, Value)> + use<> {
    let (name, _) = score.name.split_once('@').unwrap_or((&score.name, ""));
    let of_score = |(text, version): (&String, &String)| {
        let evaluator: TrialEvaluator = text.parse().ok()?;
        (evaluator.score_name() == name).then(|| (EVALUATOR_VERSION, json!(version)))
    };
    let version = plan.evaluator_versions.iter().find_map(of_score);
    let facts = [
        ("ratchet.experiment.evaluators", json!(plan.evaluators)),
        (JUDGE_COST, json!(score.cost)),
    ];
    facts.into_iter().chain(version)
}

/// The calls of judges as traces of their own.
fn judge_calls(
    trial: &CallTrace,
    (result, run): (&TrialResult, &ExperimentRun),
    now: Timestamp,
) -> Result<Vec<(TracePatch, ObservationPatch)>, ExperimentError> {
    let trace = trial.trace.to_string();
    let of_call = |(nth, call): (usize, &JudgeCall)| {
        let nth = nth.to_string();
        let sent_at = time("judgeCalls", &call.started_at)?;
        let record = JudgeCallRecord {
            key: &["experiment-judge-call", &trace, &nth],
            evaluator: &call.score,
            facts: vec![
                ("evaluator", json!(call.score)),
                (RUN_NAME, json!(run.name)),
                ("target", json!(trace)),
                ("score", json!(format!("{trace}-{}", call.score))),
            ],
            messages: &call.messages,
            output: &call.output,
            model: &call.model,
            usage: Usage::new(call.usage.clone()),
            cost: call.cost.and_then(Money::from_dollars),
            sent_at,
            ended_at: time("judgeCalls", &call.ended_at)?.max(sent_at),
        };
        record.patches(now).map_err(|why| invalid("judgeCalls", why.to_string()))
    };
    result.judge_calls.iter().enumerate().map(of_call).collect()
}

/// The trace of the last call for each score: the one whose answer counts.
fn judge_traces<'a>(
    result: &'a TrialResult,
    calls: &[(TracePatch, ObservationPatch)],
) -> BTreeMap<&'a str, String> {
    let scores = result.judge_calls.iter().map(|call| call.score.as_str());
    scores.zip(calls.iter().map(|(trace, _)| trace.id.to_string())).collect()
}

fn time(field: &'static str, text: &str) -> Result<Timestamp, ExperimentError> {
    Timestamp::parse(text).map_err(|_| invalid(field, "must be a time as in RFC 3339"))
}

fn invalid(field: &'static str, problem: impl Into<String>) -> ExperimentError {
    ExperimentError::Invalid { field, problem: problem.into() }
}
