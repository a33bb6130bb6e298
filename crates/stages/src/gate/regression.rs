use ratchet_core::experiment::plan::{ExperimentPlan, PlannedTarget};
use ratchet_core::gate::decision::Verdict;
use ratchet_core::gate::explain::RegressionEvidence;
use ratchet_core::gate::flip::FlipKind;
use ratchet_core::gate::report::GateReport;
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_store::catalog::{Dataset, ExperimentRun, GateQuery};
use ratchet_store::query::{Detail, Direction, ObservationQuery, PageNumber, Paging, TimeRange};

use super::{GateContext, GateError};

/// Regressed items whose traces are read.
const MAX_ITEMS: usize = 20;
/// Observations of a trace that are read.
const MAX_STEPS: u64 = 500;
/// Earlier gates among which the last one that did not pass is looked for.
const MAX_GATES: u64 = 20;

/// Reads what the records say of the cause of a regression.
pub(super) async fn evidence(
    context: GateContext<'_>,
    dataset: &Dataset,
    (run, report): (Option<&ExperimentRun>, &GateReport),
) -> Result<RegressionEvidence, GateError> {
    let mut evidence = RegressionEvidence::default();
    if report.verdict == Verdict::Pass {
        return Ok(evidence);
    }
    let regressed = report.flips.iter().filter(|flip| flip.kind == FlipKind::Regressed);
    for trace in regressed.filter_map(|flip| flip.trace.as_deref()).take(MAX_ITEMS) {
        let Ok(trace) = TraceId::parse(trace) else { continue };
        evidence.items += 1;
        evidence.with_tool_errors += usize::from(has_tool_error(context, trace).await?);
    }
    evidence.prompt_versions = match run {
        Some(run) => prompt_versions(context, dataset, run).await?,
        None => None,
    };
    Ok(evidence)
}

async fn has_tool_error(context: GateContext<'_>, trace: TraceId) -> Result<bool, GateError> {
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
    Ok(steps.iter().any(|step| step.kind == ObservationKind::Tool && step.level == Level::Error))
}

/// Versions of the prompt in the last gate that did not pass, and now.
async fn prompt_versions(
    context: GateContext<'_>,
    dataset: &Dataset,
    run: &ExperimentRun,
) -> Result<Option<(String, String)>, GateError> {
    let Some((name, now)) = prompt_of(run) else { return Ok(None) };
    let query = GateQuery {
        project: context.project.clone(),
        dataset: Some(dataset.id.clone()),
        run: None,
        page: PageNumber { page: 1, limit: MAX_GATES },
    };
    let earlier = context.store.catalog.gates(query).await?.rows;
    let failed = |verdict: Verdict| verdict != Verdict::Pass;
    let Some(gate) = earlier.into_iter().find(|it| failed(it.verdict) && it.run != run.id) else {
        return Ok(None);
    };
    let found = context.store.catalog.experiment_run(context.project.clone(), gate.run).await?;
    let before = found.as_ref().and_then(prompt_of).filter(|(other, _)| *other == name);
    Ok(before.map(|(_, before)| (before, now)).filter(|(before, now)| before != now))
}

/// The target's name and the version of its prompt, if it is a prompt.
fn prompt_of(run: &ExperimentRun) -> Option<(String, String)> {
    let plan: ExperimentPlan = serde_json::from_str(run.plan.as_str()).ok()?;
    let PlannedTarget { name, kind, version, .. } = plan.target;
    Some((name, version.filter(|_| kind == "prompt")?))
}
