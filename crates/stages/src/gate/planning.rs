use ratchet_core::gate::decision::Look;
use ratchet_core::gate::plan;

use super::items::DatasetItems;
use super::lookup::{baseline, dataset};
use super::recorded::{self, Reading, RecordedRun};
use super::{GateContext, GateError, GateOrder};

/// What a gate will be able to see, before anything runs.
#[derive(Clone, Debug, PartialEq)]
pub struct GatePlan {
    /// Active items of the dataset.
    pub items: usize,
    /// Smallest drop that it sees in four of five gates; `None` without a baseline.
    pub smallest_drop: Option<f64>,
    /// Right items from which on accuracy passes; `None` without a threshold.
    pub right_to_pass: Option<usize>,
    /// Cost of the run by that of the baseline, in USD.
    pub cost: Option<f64>,
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
    let mut plan = GatePlan {
        items: count,
        smallest_drop: None,
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
