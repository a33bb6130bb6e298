use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::experiment::plan::{ExperimentPlan, PlannedTarget};
use ratchet_core::id::TraceId;
use ratchet_store::experiment::{Experiment, ExperimentItemQuery, ExperimentQuery};
use ratchet_store::query::{Detail, Direction, ObservationQuery, Paging, TimeRange};

use super::{GateContext, GateError};

/// Trials whose traces are read.
const MAX_TRIALS: u64 = 10;
/// Observations of a trace that are read.
const MAX_STEPS: u64 = 500;

/// The prompt versions that a run had: that of its target if it is a prompt, and those that its traces
/// name. Of a prompt with several versions in one run, none is what was tested.
pub(super) async fn of(
    context: GateContext<'_>,
    run: &Experiment,
) -> Result<Vec<(String, u32)>, GateError> {
    let mut found: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let catalog = &context.store.catalog;
    let driven = catalog.experiment_run(context.project.clone(), run.id.clone()).await?;
    if let Some((name, version)) = driven.and_then(|run| of_target(run.plan.as_str())) {
        found.entry(name).or_default().insert(version);
    }
    let of = ExperimentQuery {
        project: context.project.clone(),
        range: TimeRange::default(),
        ids: vec![run.id.clone()],
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor: None, limit: MAX_TRIALS },
    };
    let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Row };
    for trial in context.store.telemetry.experiment_items(query).await?.rows {
        for (name, version) in of_trace(context, trial.trace.clone()).await? {
            found.entry(name).or_default().insert(version);
        }
    }
    let single = |(name, versions): (String, BTreeSet<u32>)| {
        let version = versions.first().copied().filter(|_| versions.len() == 1)?;
        Some((name, version))
    };
    Ok(found.into_iter().filter_map(single).collect())
}

/// A target that is a prompt names its version as "NAME vVERSION".
fn of_target(plan: &str) -> Option<(String, u32)> {
    let plan: ExperimentPlan = serde_json::from_str(plan).ok()?;
    let PlannedTarget { kind, version, .. } = plan.target;
    let version = version.filter(|_| kind == "prompt")?;
    let (name, version) = version.rsplit_once(" v")?;
    Some((name.to_owned(), version.parse().ok()?))
}

async fn of_trace(
    context: GateContext<'_>,
    trace: TraceId,
) -> Result<Vec<(String, u32)>, GateError> {
    let query = ObservationQuery {
        project: context.project.clone(),
        range: TimeRange::default(),
        trace: Some(trace),
        conditions: Vec::new(),
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: MAX_STEPS },
        detail: Detail::Row,
    };
    let steps = context.store.telemetry.observations(query).await?.rows;
    let links = steps.into_iter().filter_map(|step| step.prompt);
    Ok(links.map(|link| (link.name, link.version)).collect())
}
