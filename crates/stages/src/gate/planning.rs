use ratchet_core::gate::decision::{GateRule, Look};
use ratchet_core::gate::plan;

use super::items::DatasetItems;
use super::lookup::{FoundBaseline, baseline, dataset};
use super::recorded::{self, Reading, RecordedRun};
use super::{GateContext, GateError, GateOrder};

/// What a gate will be able to see, before anything runs.
#[derive(Clone, Debug, PartialEq)]
pub struct GatePlan {
    /// Active items of the dataset.
    pub items: usize,
    /// Smallest drop that it sees in four of five gates. Without a baseline that of a comparison with a
    /// run as right as the threshold; `None` without both.
    pub smallest_drop: Option<f64>,
    /// Why there is no baseline; `None` if there is one.
    pub no_baseline: Option<String>,
    /// Right items from which on accuracy passes; `None` without a threshold.
    pub right_to_pass: Option<usize>,
    /// Cost of the run by that of the baseline, in USD.
    pub cost: Option<f64>,
}

/// Checks that there is something to decide by.
pub(super) fn check_rule(rule: &GateRule, found: &FoundBaseline) -> Result<(), GateError> {
    if rule.min_accuracy.is_some() || found.run.is_some() {
        return Ok(());
    }
    let why = found.why_none.as_deref().unwrap_or_default();
    Err(GateError::Invalid(format!(
        "min-accuracy: give a threshold or a baseline, otherwise there is nothing to decide. {why}"
    )))
}

/// Plans a gate.
///
/// # Errors
/// Something does not exist or is invalid.
pub async fn plan(
    context: GateContext<'_>,
    order: &GateOrder,
    repeats: usize,
) -> Result<GatePlan, GateError> {
    let rule = order.rule.validated().map_err(GateError::Invalid)?;
    let dataset = dataset(context, &order.dataset).await?;
    let mut items = DatasetItems::new(context);
    let count = items.count(&dataset).await?;
    let tail = rule.tail(Look::First);
    let found = baseline(context, &dataset, order, None).await?;
    check_rule(&rule, &found)?;
    let not_named = || "none is named with --baseline".to_owned();
    let no_baseline = found.run.is_none().then(|| found.why_none.clone().unwrap_or_else(not_named));
    let mut plan = GatePlan {
        items: count,
        smallest_drop: rule
            .min_accuracy
            .filter(|_| no_baseline.is_some())
            .and_then(|least| plan::assumed_drop(count, least, tail)),
        no_baseline,
        right_to_pass: rule
            .min_accuracy
            .and_then(|least| plan::right_items_to_pass(count, least, tail)),
        cost: None,
    };
    if let Some(experiment) = found.run {
        let score = match &order.score {
            Some(score) => score.clone(),
            None => recorded::only_score(context, &experiment).await?,
        };
        let read =
            RecordedRun::read(context, &experiment, Reading::stored(&score), &mut items).await?;
        plan.smallest_drop = plan::smallest_drop(&read.items, count, repeats, tail);
        plan.cost = read.cost_of(count, repeats);
    }
    Ok(plan)
}
