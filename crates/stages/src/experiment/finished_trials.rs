use std::collections::BTreeMap;

use ratchet_core::experiment::runner::{CachedAnswer, TrialResult};
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_store::catalog::{CacheableAnswer, FinishedTrial, TrialLease};
use serde_json::Map;

use super::records::Recorded;
use super::service::{ExperimentService, ServiceResult, TrialPayload};

impl ExperimentService {
    /// Adds the costs in spans of the agents that have arrived, to results that are not recorded yet. A
    /// result that is sent again after an interruption may count twice: a cap errs on the safe side.
    pub(super) async fn with_span_costs(
        &self,
        finished: Vec<(TraceId, FinishedTrial)>,
    ) -> ServiceResult<Vec<FinishedTrial>> {
        let ids = finished.iter().map(|(trace, _)| trace.clone()).collect();
        let traces = self.store.telemetry.find_traces(self.project.clone(), ids).await?;
        let costs: BTreeMap<TraceId, Money> =
            traces.into_iter().filter_map(|trace| Some((trace.id, trace.summary.cost?))).collect();
        let with_cost = |(trace, trial): (TraceId, FinishedTrial)| match costs.get(&trace) {
            Some(spans) if !trial.is_cached => {
                let cost = Some(trial.cost.unwrap_or(Money::ZERO) + *spans);
                FinishedTrial { cost, ..trial }
            }
            _ => trial,
        };
        Ok(finished.into_iter().map(with_cost).collect())
    }
}

/// The end of a trial, as the queue keeps it.
pub(super) fn of(
    lease: TrialLease,
    payload: &TrialPayload,
    result: &TrialResult,
    recorded: &Recorded,
) -> FinishedTrial {
    let mut fields = Map::new();
    fields.insert("trace".to_owned(), recorded.trace.to_string().into());
    fields.insert("latencyMs".to_owned(), recorded.latency_ms.into());
    fields.insert("cached".to_owned(), result.cached.into());
    fields.insert("cost".to_owned(), result.cost.into());
    fields.insert("fault".to_owned(), result.fault.clone().into());
    let scores = serde_json::to_value(&result.scores).unwrap_or_default();
    fields.insert("scores".to_owned(), scores);
    if !result.not_judged.is_empty() {
        let not_judged = serde_json::to_value(&result.not_judged).unwrap_or_default();
        fields.insert("notJudged".to_owned(), not_judged);
    }
    let answer = result.answer.as_ref().filter(|_| !result.cached).zip(payload.cache.clone());
    let answer = answer.and_then(|(answer, key)| {
        let (text, trace) = (answer.clone(), recorded.trace.to_string());
        let document = serde_json::to_string(&CachedAnswer { answer: answer.clone(), trace });
        Some(CacheableAnswer { key, text, document: document.ok()? })
    });
    let cost =
        if result.cached { Some(Money::ZERO) } else { result.cost.and_then(Money::from_dollars) };
    let is_fault = result.fault.is_some();
    let paid = result.scores.iter().filter_map(|score| score.cost);
    let paid = paid.chain(result.not_judged.iter().filter_map(|failed| failed.cost));
    let judge_cost = paid.filter_map(Money::from_dollars).sum();
    let is_cached = result.cached;
    FinishedTrial { lease, result: fields, is_fault, is_cached, cost, judge_cost, answer }
}
