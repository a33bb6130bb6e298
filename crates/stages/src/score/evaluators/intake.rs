use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use ratchet_core::catalog::evaluator::document::{EvaluationRule, EvaluationTarget, Evaluator};
use ratchet_core::catalog::evaluator::sampling::is_sampled;
use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::job::JobKind;
use ratchet_core::record::score::ScoreTarget;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{EnqueuedEvaluation, EvaluatorCall, NewJob};
use ratchet_store::evaluation::ChangedTrace;
use ratchet_store::experiment::StoredExperimentItem;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationQuery, Paging, Test, TraceColumn, TraceOrder,
    TraceQuery,
};
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{Store, StoreResult};
use serde::{Deserialize, Serialize};

use super::rules::{ProjectRules, RuleFilter, RunningRules};

/// Traces that are read from the outbox at a time.
const PAGE: u32 = 500;
/// Observations of a trace that a rule evaluates at most.
const MAX_OBSERVATIONS: u64 = 1_000;
/// Attempts before an evaluation becomes a dead letter: some hours of backoff, so that no outage of
/// an hour costs a verdict.
pub(super) const MAX_ATTEMPTS: u32 = 40;
/// The longest time that a job waits at once; it is checked again then.
const MAX_WAIT: Duration = Duration::from_secs(4 * 60);

/// How long before its arrival a trace may have ended.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// What a job works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EvaluationPayload {
    pub(super) evaluator: String,
    pub(super) version: u32,
    /// The rule that wants it.
    pub(super) rule: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) trace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) observation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) session: Option<String>,
    /// When the record was last written, in nanoseconds.
    pub(super) changed_at: i64,
    /// Whether a person asked for it: then it runs though its rule does not.
    #[serde(default)]
    pub(super) is_backfill: bool,
}

impl EvaluationPayload {
    pub(super) fn target(&self) -> Option<ScoreTarget> {
        let trace = self.trace.as_deref().and_then(|id| TraceId::parse(id).ok());
        let observation = self.observation.as_deref().map(ObservationId::parse);
        let session = self.session.as_deref().and_then(|id| SessionId::parse(id).ok());
        match (trace, observation, session) {
            (Some(trace), Some(id), _) => Some(ScoreTarget::Observation(trace, id.ok()?)),
            (Some(trace), None, _) => Some(ScoreTarget::Trace(trace)),
            (None, _, Some(session)) => Some(ScoreTarget::Session(session)),
            (None, _, None) => None,
        }
    }
}

/// The part of a job's id after the version: unique per record.
pub(super) fn target_key(target: &ScoreTarget) -> String {
    match target {
        ScoreTarget::Trace(id) => format!("trace/{id}"),
        ScoreTarget::Observation(trace, id) => format!("observation/{trace}/{id}"),
        ScoreTarget::Session(id) => format!("session/{id}"),
        ScoreTarget::DatasetRun(id) => format!("run/{id}"),
    }
}

/// A job for each evaluator version and record.
pub(super) fn job(
    (rule, evaluator): (&EvaluationRule, &Evaluator),
    target: &ScoreTarget,
    (changed_at, run_at): (Timestamp, Timestamp),
    is_backfill: bool,
) -> Option<NewJob> {
    let version = evaluator.latest()?.version;
    let (trace, observation, session) = match target {
        ScoreTarget::Trace(trace) => (Some(trace.to_string()), None, None),
        ScoreTarget::Observation(trace, id) => {
            (Some(trace.to_string()), Some(id.to_string()), None)
        }
        ScoreTarget::Session(session) => (None, None, Some(session.to_string())),
        ScoreTarget::DatasetRun(_) => return None,
    };
    let payload = EvaluationPayload {
        evaluator: evaluator.id.clone(),
        version,
        rule: rule.id.clone(),
        trace,
        observation,
        session,
        changed_at: changed_at.nanos(),
        is_backfill,
    };
    Some(NewJob {
        kind: JobKind::Evaluation,
        id: format!("{}.{version}/{}", evaluator.id, target_key(target)),
        group: None,
        payload: serde_json::to_string(&payload).ok()?,
        // What arrives now is judged before what is judged in retrospect.
        priority: if is_backfill { -1 } else { 0 },
        run_at,
        max_attempts: MAX_ATTEMPTS,
        is_held: false,
    })
}

/// Returns the next time to look at a record that is to be still until a moment.
pub(super) fn look_again(until: Timestamp, now: Timestamp) -> Timestamp {
    until.min(now.plus(MAX_WAIT)).max(now)
}

/// Moves traces from the outbox into the queue, as jobs of all rules that want them.
pub(super) async fn drain(store: &Store, rules: &RunningRules, now: Timestamp) -> StoreResult<()> {
    // Without a rule nothing new comes in; what is left goes.
    let delay = rules.min_delay().unwrap_or_default();
    let before = now.plus_nanos(-i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX));
    loop {
        let changed = store.telemetry.changed_traces(before, PAGE).await?;
        let is_last = changed.len() < PAGE as usize;
        let mut by_project: BTreeMap<ProjectId, Vec<&ChangedTrace>> = BTreeMap::new();
        for one in changed.iter().filter(|one| one.trace.is_some()) {
            if let Some(project) = &one.project {
                by_project.entry(project.clone()).or_default().push(one);
            }
        }
        let mut running = HashSet::new();
        for (project, traces) in by_project {
            let intake = Intake { store, project: &project, rules: &rules.of(&project), now };
            running.extend(intake.enqueue(&traces).await?);
        }
        let is_seen =
            |one: &ChangedTrace| !one.trace.as_ref().is_some_and(|trace| running.contains(trace));
        let seen: Vec<ChangedTrace> = changed.into_iter().filter(is_seen).collect();
        if seen.is_empty() {
            return Ok(());
        }
        store.telemetry.forget_changed_traces(&seen).await?;
        if is_last {
            return Ok(());
        }
    }
}

/// Calls of judges and experiments are evaluated by rules for experiments only.
fn is_production(changed: &ChangedTrace) -> bool {
    changed.environment.as_ref().is_none_or(Environment::is_production_traffic)
}

/// Whether a trace ended long before it arrived: it is imported, or sent after the fact. Verdicts
/// that cost money are given to it only if a person asks for them.
fn is_late(changed: &ChangedTrace) -> bool {
    changed.ended_at.is_some_and(|ended_at| ended_at.plus(MAX_AGE) < changed.changed_at)
}

/// The number of records that one evaluator did not judge.
type Skipped = BTreeMap<(String, u32), u64>;

struct Intake<'a> {
    store: &'a Store,
    project: &'a ProjectId,
    rules: &'a ProjectRules,
    now: Timestamp,
}

impl Intake<'_> {
    /// Enqueues the jobs of traces; returns the traces that are being judged right now, which stay
    /// in the outbox until they are not.
    async fn enqueue(&self, traces: &[&ChangedTrace]) -> StoreResult<HashSet<TraceId>> {
        let mut jobs = Vec::new();
        let mut of_trace = Vec::new();
        let mut skipped = Skipped::new();
        for (rule, evaluator) in self.rules.watched() {
            let Some(version) = evaluator.latest() else { continue };
            let filter = match RuleFilter::of(rule) {
                Ok(filter) => filter,
                Err(why) => {
                    tracing::warn!(rule = rule.name, why, "a rule cannot be applied");
                    continue;
                }
            };
            for (changed, target) in self.targets(rule, &filter, traces).await? {
                let is_too_old = rule.target != EvaluationTarget::Experiment
                    && !version.is_free()
                    && is_late(changed);
                if !self.rules.is_active(evaluator) || is_too_old {
                    *skipped.entry((evaluator.id.clone(), version.version)).or_default() += 1;
                    continue;
                }
                let due = changed.changed_at.plus(rule.delay());
                let times = (changed.changed_at, look_again(due, self.now));
                if let Some(job) = job((rule, evaluator), &target, times, false) {
                    jobs.push(job);
                    of_trace.push(changed.trace.clone());
                }
            }
        }
        let catalog = &self.store.catalog;
        if !skipped.is_empty() {
            let call = |((evaluator, version), count)| {
                let project = self.project.clone();
                (EvaluatorCall { project, evaluator, version }, count)
            };
            let skipped = skipped.into_iter().map(call).collect();
            catalog.count_skipped_evaluations(skipped, self.now).await?;
        }
        if jobs.is_empty() {
            return Ok(HashSet::new());
        }
        let enqueued = catalog.enqueue_evaluations(self.project.clone(), jobs, self.now).await?;
        let all = of_trace.into_iter().zip(enqueued);
        let running = all.filter(|(_, outcome)| *outcome == EnqueuedEvaluation::Running);
        Ok(running.filter_map(|(trace, _)| trace).collect())
    }

    /// The records of a rule among traces that were written.
    async fn targets<'t>(
        &self,
        rule: &EvaluationRule,
        filter: &RuleFilter,
        traces: &[&'t ChangedTrace],
    ) -> StoreResult<Vec<(&'t ChangedTrace, ScoreTarget)>> {
        let telemetry = &self.store.telemetry;
        let is_experiment = rule.target == EvaluationTarget::Experiment;
        let traces: Vec<&'t ChangedTrace> =
            traces.iter().copied().filter(|one| is_experiment || is_production(one)).collect();
        let ids: Vec<TraceId> = traces.iter().filter_map(|one| one.trace.clone()).collect();
        if is_experiment {
            return self.runs(rule, filter, (&traces, ids)).await;
        }
        let mut found = Vec::new();
        match filter {
            RuleFilter::Observations(_) => {
                for (changed, trace) in traces.iter().zip(ids) {
                    let of_trace = observations(telemetry, self.project, &trace, filter).await?;
                    let sampled = of_trace
                        .into_iter()
                        .filter(|id| is_sampled(&id.to_string(), rule.sampling));
                    found.extend(
                        sampled.map(|id| (*changed, ScoreTarget::Observation(trace.clone(), id))),
                    );
                }
            }
            RuleFilter::Traces(conditions) => {
                let matching = if conditions.is_empty() {
                    ids.into_iter().collect()
                } else {
                    matching(telemetry, self.project, ids, filter).await?
                };
                let passes = |one: &&&ChangedTrace| {
                    one.trace.as_ref().is_some_and(|trace| matching.contains(trace))
                };
                let target = |one: &&'t ChangedTrace| Some((*one, target_of(rule, one)?));
                found.extend(traces.iter().filter(passes).filter_map(target));
            }
        }
        Ok(found)
    }
}

impl Intake<'_> {
    /// The runs of dataset items among traces that were written.
    async fn runs<'t>(
        &self,
        rule: &EvaluationRule,
        filter: &RuleFilter,
        (traces, ids): (&[&'t ChangedTrace], Vec<TraceId>),
    ) -> StoreResult<Vec<(&'t ChangedTrace, ScoreTarget)>> {
        let telemetry = &self.store.telemetry;
        let items = telemetry.experiment_items_of_traces(self.project.clone(), ids.clone()).await?;
        let matching = match filter {
            RuleFilter::Traces(conditions) if conditions.is_empty() => ids.into_iter().collect(),
            _ => matching(telemetry, self.project, ids, filter).await?,
        };
        let found = items.iter().filter_map(|item| {
            let changed = traces.iter().find(|one| one.trace.as_ref() == Some(&item.trace))?;
            let is_wanted = matching.contains(&item.trace);
            is_wanted.then(|| run_target(rule, item)).flatten().map(|target| (*changed, target))
        });
        Ok(found.collect())
    }
}

/// The record of a run of a dataset item, if a rule wants it.
pub(super) fn run_target(
    rule: &EvaluationRule,
    item: &StoredExperimentItem,
) -> Option<ScoreTarget> {
    let is_wanted = rule.accepts_dataset(item.experiment.dataset.as_deref())
        && is_sampled(&item.trace.to_string(), rule.sampling);
    let trace = item.trace.clone();
    is_wanted.then(|| match &item.observation {
        Some(observation) => ScoreTarget::Observation(trace, observation.clone()),
        None => ScoreTarget::Trace(trace),
    })
}

/// The trace or its session, if it is in the rule's sample.
fn target_of(rule: &EvaluationRule, changed: &ChangedTrace) -> Option<ScoreTarget> {
    let (id, target) = match rule.target {
        EvaluationTarget::Session => {
            let session = changed.session.clone()?;
            (session.to_string(), ScoreTarget::Session(session))
        }
        _ => {
            let trace = changed.trace.clone()?;
            (trace.to_string(), ScoreTarget::Trace(trace))
        }
    };
    is_sampled(&id, rule.sampling).then_some(target)
}

/// Those of the traces that a filter matches.
async fn matching(
    telemetry: &Telemetry,
    project: &ProjectId,
    ids: Vec<TraceId>,
    filter: &RuleFilter,
) -> StoreResult<HashSet<TraceId>> {
    let RuleFilter::Traces(filter) = filter else { return Ok(HashSet::new()) };
    let limit = ids.len() as u64;
    let any = Test::AnyOf(ids.iter().map(ToString::to_string).collect());
    let mut conditions = vec![Condition { column: TraceColumn::Id, test: any }];
    conditions.extend(filter.conditions.iter().cloned());
    let query = TraceQuery {
        project: project.clone(),
        range: filter.range,
        conditions,
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit },
        detail: Detail::Row,
    };
    Ok(telemetry.traces(query).await?.rows.into_iter().map(|trace| trace.id).collect())
}

/// Those of a trace's observations that a filter matches.
pub(super) async fn observations(
    telemetry: &Telemetry,
    project: &ProjectId,
    trace: &TraceId,
    filter: &RuleFilter,
) -> StoreResult<Vec<ObservationId>> {
    let RuleFilter::Observations(filter) = filter else { return Ok(Vec::new()) };
    let query = ObservationQuery {
        project: project.clone(),
        range: filter.range,
        trace: Some(trace.clone()),
        conditions: filter.conditions.clone(),
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: MAX_OBSERVATIONS },
        detail: Detail::Row,
    };
    Ok(telemetry.observations(query).await?.rows.into_iter().map(|one| one.id).collect())
}
