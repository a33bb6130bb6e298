use std::collections::BTreeSet;

use ratchet_core::id::TraceId;
use ratchet_store::experiment::Experiment;
use serde_json::Value;

use super::{GateContext, GateError};

/// Trials read at a time.
const SLICE: u64 = 1_000;

/// The traces that count in a run that Ratchet drove. A call whose trial was interrupted after its
/// records were written leaves a trace that does not: the trial was run again.
#[derive(Debug)]
pub(super) struct CountedTraces(Option<BTreeSet<String>>);

impl CountedTraces {
    /// Reads the results of a run's trials; of runs of others, all traces count.
    pub(super) async fn of(context: GateContext<'_>, run: &Experiment) -> Result<Self, GateError> {
        let (catalog, project) = (&context.store.catalog, context.project);
        if catalog.experiment_run(project.clone(), run.id.clone()).await?.is_none() {
            return Ok(Self(None));
        }
        let (mut traces, mut cursor) = (BTreeSet::new(), None);
        loop {
            let jobs = catalog.trials(project.clone(), run.id.clone(), (cursor, SLICE)).await?;
            for result in jobs.iter().filter_map(|job| job.result.as_deref()) {
                let result: Value = serde_json::from_str(result).unwrap_or_default();
                traces.extend(result["trace"].as_str().map(str::to_owned));
            }
            let is_last = (jobs.len() as u64) < SLICE;
            cursor = jobs.last().map(|job| job.id.clone());
            if is_last {
                return Ok(Self(Some(traces)));
            }
        }
    }

    pub(super) fn includes(&self, trace: &TraceId) -> bool {
        self.0.as_ref().is_none_or(|traces| traces.contains(&trace.to_string()))
    }
}
