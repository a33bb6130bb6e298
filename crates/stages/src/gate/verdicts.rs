use std::collections::BTreeSet;

use ratchet_core::gate::report::GateReport;
use ratchet_core::promotion::evidence::{Comparison, ItemVerdicts, OpenItem};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Dataset, StoredGate};
use ratchet_store::experiment::Experiment;

use super::items::DatasetItems;
use super::recorded::{Reading, RecordedRun};
use super::{GateContext, GateError, GateOrder, dataset, decide, read, run};

/// Open items that are listed.
const MAX_LISTED: usize = 50;
/// Changes of a dataset that are looked through for the one before a run.
const MAX_MOMENTS: u64 = 1_000;

/// A decision as evidence of a promotion.
#[derive(Clone, Debug)]
pub struct PromotableGate {
    pub gate: StoredGate,
    pub report: GateReport,
    pub comparison: Comparison,
    /// When the dataset was last changed before the run.
    pub dataset_version: Timestamp,
    pub verdicts: ItemVerdicts,
    /// The version that the run's target named.
    pub run_version: Option<String>,
}

/// Reads a decision, with people's verdicts on its items. If these change what was decided, the run
/// is decided on again, and the new decision is returned.
///
/// # Errors
/// There is no such decision, it is on another dataset, or its run is gone.
pub async fn promotable(
    context: GateContext<'_>,
    id: &str,
    dataset_name: &str,
) -> Result<PromotableGate, GateError> {
    let stored = context.store.catalog.gate(context.project.clone(), id.to_owned()).await?;
    let dataset = dataset(context, dataset_name).await?;
    if stored.dataset != dataset.id {
        return Err(GateError::Invalid(format!(
            "gate: {id} decided on another dataset than {dataset_name}"
        )));
    }
    let (gate, report) = current(context, stored).await?;
    let candidate = run(context, &dataset, &gate.run).await?;
    Ok(PromotableGate {
        comparison: comparison(context, &dataset, (&candidate, &report)).await?,
        dataset_version: version_before(context, &dataset, &candidate).await?,
        verdicts: verdicts(context, &candidate, (&gate.id, &report)).await?,
        run_version: named_version(&candidate),
        gate,
        report,
    })
}

/// The decision with the corrections that there are now.
async fn current(
    context: GateContext<'_>,
    stored: StoredGate,
) -> Result<(StoredGate, GateReport), GateError> {
    let report: GateReport = serde_json::from_str(stored.report.as_str())
        .map_err(|error| GateError::Invalid(format!("gate: stored report: {error}")))?;
    let order = GateOrder {
        dataset: report.dataset.clone(),
        run: stored.run.clone(),
        baseline: report.baseline.clone(),
        score: Some(report.score.clone()),
        rule: report.rule,
        look: report.look,
        judged_again: Vec::new(),
    };
    let (_, _, again) = read(context, &order).await?;
    let is_same = again.corrections == report.corrections && again.verdict == report.verdict;
    if is_same { Ok((stored, report)) } else { decide(context, order).await }
}

/// The version in what a run was made with, as Ratchet's experiments record it.
fn named_version(run: &Experiment) -> Option<String> {
    let metadata: serde_json::Value = serde_json::from_str(run.metadata.as_ref()?.as_str()).ok()?;
    Some(metadata.get("target")?.get("version")?.as_str()?.to_owned())
}

async fn comparison(
    context: GateContext<'_>,
    dataset: &Dataset,
    (candidate, report): (&Experiment, &GateReport),
) -> Result<Comparison, GateError> {
    let promoted =
        context.store.catalog.promoted_gates(context.project.clone(), dataset.id.clone()).await?;
    let Some(production) = promoted.first() else { return Ok(Comparison::Nothing) };
    if production.run == candidate.id {
        return Ok(Comparison::Production);
    }
    let Some(name) = &report.baseline else { return Ok(Comparison::Other) };
    let baseline = run(context, dataset, name).await?;
    let is_production = baseline.id == production.run;
    Ok(if is_production { Comparison::Production } else { Comparison::Other })
}

async fn version_before(
    context: GateContext<'_>,
    dataset: &Dataset,
    candidate: &Experiment,
) -> Result<Timestamp, GateError> {
    let catalog = &context.store.catalog;
    let moments =
        catalog.dataset_moments(context.project.clone(), dataset.id.clone(), MAX_MOMENTS).await?;
    let before = moments.iter().find(|moment| moment.at <= candidate.created_at);
    before.map(|moment| moment.at).ok_or_else(|| {
        GateError::Invalid(format!("gate: run {:?} is older than its dataset", candidate.name))
    })
}

/// An item needs a person's verdict if one of its trials failed, or if it flipped.
async fn verdicts(
    context: GateContext<'_>,
    candidate: &Experiment,
    (gate, report): (&str, &GateReport),
) -> Result<ItemVerdicts, GateError> {
    let mut items = DatasetItems::new(context);
    let recorded =
        RecordedRun::read(context, candidate, Reading::stored(&report.score), &mut items).await?;
    let flipped: BTreeSet<&str> = report.flips.iter().map(|flip| flip.item.as_str()).collect();
    let (mut needed, mut open) = (0_u32, Vec::new());
    for item in &recorded.items {
        let failed = item.trials.iter().find(|trial| trial.value < 0.5);
        if failed.is_none() && !flipped.contains(item.item.as_str()) {
            continue;
        }
        needed = needed.saturating_add(1);
        if item.trials.iter().any(|trial| trial.corrected.is_some()) {
            continue;
        }
        let shown = failed.or_else(|| item.trials.first());
        let trace = shown.and_then(|trial| trial.trace.clone());
        open.push(OpenItem { item: item.item.clone(), trace });
    }
    let open_count = u32::try_from(open.len()).unwrap_or(u32::MAX);
    open.truncate(MAX_LISTED);
    Ok(ItemVerdicts { gate: gate.to_owned(), needed, open, open_count })
}
