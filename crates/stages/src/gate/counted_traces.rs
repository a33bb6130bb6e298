use std::collections::BTreeSet;

use ratchet_core::id::TraceId;
use ratchet_store::StoreResult;
use serde_json::Value;

use super::GateContext;

/// Trials read at a time.
const SLICE: u64 = 1_000;

/// The traces that count in a run that Ratchet drove. A call whose trial was interrupted after its
/// records were written leaves a trace that does not: the trial was run again.
#[derive(Debug, Default)]
pub(super) struct CountedTraces {
    /// All count if it is `None`.
    counted: Option<BTreeSet<String>>,
    /// Traces and the names of scores that an evaluator failed to give.
    not_judged: BTreeSet<(String, String)>,
    /// What judges cost in US dollars; `None` if no cost is known.
    pub(super) judge_cost: Option<f64>,
}

impl CountedTraces {
    /// Reads the results of a run's trials; of runs of others, all traces count.
    pub(super) async fn of(context: GateContext<'_>, run: &str) -> StoreResult<Self> {
        let (catalog, project) = (&context.store.catalog, context.project);
        if catalog.experiment_run(project.clone(), run.to_owned()).await?.is_none() {
            return Ok(Self::default());
        }
        let (mut traces, mut not_judged, mut cursor) = (BTreeSet::new(), BTreeSet::new(), None);
        let mut judge_cost = None;
        loop {
            let jobs = catalog.trials(project.clone(), run.to_owned(), (cursor, SLICE)).await?;
            for result in jobs.iter().filter_map(|job| job.result.as_deref()) {
                let result: Value = serde_json::from_str(result).unwrap_or_default();
                let Some(trace) = result["trace"].as_str() else { continue };
                let verdicts = ["scores", "notJudged"].map(|field| result[field].as_array());
                let paid = verdicts.into_iter().flatten().flatten();
                for cost in paid.filter_map(|verdict| verdict["cost"].as_f64()) {
                    judge_cost = Some(judge_cost.unwrap_or(0.0) + cost);
                }
                traces.insert(trace.to_owned());
                let missing = result["notJudged"].as_array().into_iter().flatten();
                let names = missing.filter_map(|one| one["name"].as_str());
                not_judged.extend(names.map(|name| (trace.to_owned(), name.to_owned())));
            }
            let is_last = (jobs.len() as u64) < SLICE;
            cursor = jobs.last().map(|job| job.id.clone());
            if is_last {
                return Ok(Self { counted: Some(traces), not_judged, judge_cost });
            }
        }
    }

    pub(super) fn includes(&self, trace: &TraceId) -> bool {
        self.counted.as_ref().is_none_or(|traces| traces.contains(&trace.to_string()))
    }

    /// Whether an evaluator failed to give a score.
    pub(super) fn lacks_verdict(&self, trace: &TraceId, score: &str) -> bool {
        self.not_judged.contains(&(trace.to_string(), score.to_owned()))
    }
}
