use ratchet_core::gate::report::GateReport;
use ratchet_store::catalog::Dataset;
use ratchet_store::experiment::{Experiment, ExperimentQuery, RunQuery};
use ratchet_store::query::{Paging, TimeRange};

use super::{GateContext, GateError, GateOrder, PRODUCTION};

/// Returns a dataset by name.
///
/// # Errors
/// There is none; the message says how to make one.
pub async fn dataset(context: GateContext<'_>, name: &str) -> Result<Dataset, GateError> {
    let found = context.store.catalog.dataset(context.project.clone(), name.to_owned()).await?;
    found.ok_or_else(|| GateError::NotFound(format!("dataset {name:?} not found")))
}

/// Returns a run of a dataset by id or name.
pub(super) async fn run(
    context: GateContext<'_>,
    dataset: &Dataset,
    name: &str,
) -> Result<Experiment, GateError> {
    let telemetry = &context.store.telemetry;
    let by_id = ExperimentQuery {
        project: context.project.clone(),
        range: TimeRange::default(),
        ids: vec![name.to_owned()],
        names: Vec::new(),
        datasets: vec![dataset.id.clone()],
        paging: Paging::After { cursor: None, limit: 1 },
    };
    if let Some(found) = telemetry.experiments(by_id).await?.rows.into_iter().next() {
        return Ok(found.experiment);
    }
    let by_name = RunQuery {
        project: context.project.clone(),
        dataset: dataset.id.clone(),
        name: Some(name.to_owned()),
        paging: Paging::After { cursor: None, limit: 1 },
    };
    let found = telemetry.runs(by_name).await?.rows.into_iter().next();
    found.ok_or_else(|| {
        GateError::NotFound(format!("dataset {:?} has no run {name:?}", dataset.name))
    })
}

/// The run to compare with.
#[derive(Debug, Default)]
pub(super) struct FoundBaseline {
    pub(super) run: Option<Experiment>,
    /// Why there is none although one was asked for.
    pub(super) why_none: Option<String>,
}

impl FoundBaseline {
    fn none(why: &str) -> Self {
        Self { run: None, why_none: Some(why.to_owned()) }
    }
}

/// Returns the baseline of an order for a candidate; with no candidate yet, of one to come.
pub(super) async fn baseline(
    context: GateContext<'_>,
    dataset: &Dataset,
    order: &GateOrder,
    candidate: Option<&Experiment>,
) -> Result<FoundBaseline, GateError> {
    let found = match order.baseline.as_deref() {
        None => return Ok(FoundBaseline::default()),
        Some(PRODUCTION) => return production(context, dataset, candidate).await,
        Some(name) => run(context, dataset, name).await?,
    };
    if candidate.is_some_and(|candidate| candidate.id == found.id) {
        return Err(GateError::Invalid("baseline: is the run itself; name another one".to_owned()));
    }
    Ok(FoundBaseline { run: Some(found), why_none: None })
}

/// What users get. Which runs were promoted, only the catalog's functions for gates know.
async fn production(
    context: GateContext<'_>,
    dataset: &Dataset,
    candidate: Option<&Experiment>,
) -> Result<FoundBaseline, GateError> {
    let (catalog, project) = (&context.store.catalog, context.project.clone());
    // The first gate of a dataset has nothing to compare with, and says so.
    let other = candidate.map(|candidate| candidate.id.clone());
    let Some(gate) = catalog.production_gate(project, dataset.id.clone(), other).await? else {
        let why = "No other run of this dataset was promoted or has passed yet: this one can be the first.";
        return Ok(FoundBaseline::none(why));
    };
    if candidate.is_some_and(|candidate| candidate.id == gate.run) {
        return Ok(FoundBaseline::none("This run is the one in production."));
    }
    match run(context, dataset, &gate.run).await {
        Ok(found) => Ok(FoundBaseline { run: Some(found), why_none: None }),
        Err(GateError::NotFound(_)) => {
            let why =
                "The records of the run in production are deleted. Name another with --baseline.";
            Ok(FoundBaseline::none(why))
        }
        Err(error) => Err(error),
    }
}

/// The best promoted run.
#[derive(Debug, Default)]
pub(super) struct FoundBest {
    pub(super) run: Option<Experiment>,
    /// Why there is none although one was promoted.
    pub(super) why_none: Option<String>,
}

/// The best promoted run, unless it is one of these.
pub(super) async fn best(
    context: GateContext<'_>,
    dataset: &Dataset,
    known: [Option<&Experiment>; 2],
) -> Result<FoundBest, GateError> {
    let (catalog, project) = (&context.store.catalog, context.project.clone());
    let Some(gate) = catalog.best_promoted_gate(project, dataset.id.clone()).await? else {
        return Ok(FoundBest::default());
    };
    if known.into_iter().flatten().any(|run| run.id == gate.run) {
        return Ok(FoundBest::default());
    }
    match run(context, dataset, &gate.run).await {
        Ok(found) => Ok(FoundBest { run: Some(found), why_none: None }),
        // Its records have expired.
        Err(GateError::NotFound(_)) => {
            let name = serde_json::from_str::<GateReport>(gate.report.as_str());
            let name = name.map_or_else(|_| gate.run.clone(), |report| report.run);
            let why = format!(
                "Whether it is worse than the best promoted run, {name}: its records are deleted."
            );
            Ok(FoundBest { run: None, why_none: Some(why) })
        }
        Err(error) => Err(error),
    }
}
