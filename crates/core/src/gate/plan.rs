use super::bounds::{self, normal_quantile};
use super::decision::{Decision, GateRule, Reason};
use super::outcomes::ItemOutcomes;
use crate::stats::float;

/// Probability with which a drop of the stated size is seen.
pub const POWER: f64 = 0.8;
/// Correlation of an item in two runs where no baseline with repeats says more; on real agents it
/// is about 0.8.
const CORRELATION: f64 = 0.5;
/// Items above which asking for more is not advice.
const MAX_ITEMS: usize = 100_000;

/// Returns the smallest drop that a comparison sees with a probability of 80%.
pub fn detectable_drop(standard_error: f64, tail: f64) -> f64 {
    (normal_quantile(1.0 - tail) + normal_quantile(POWER)) * standard_error
}

/// Returns the standard error of a paired difference of two accuracies near `p`.
pub fn planned_error(p: f64, correlation: f64, items: usize) -> f64 {
    (2.0 * p * (1.0 - p) * (1.0 - correlation) / float(items.max(1))).sqrt()
}

/// Returns the smallest drop that a run over these items can show against a baseline; `None`
/// without items.
pub fn smallest_drop(
    baseline: &[ItemOutcomes],
    items: usize,
    repeats: usize,
    tail: f64,
) -> Option<f64> {
    if baseline.is_empty() || items == 0 {
        return None;
    }
    let n = float(baseline.len());
    let p = baseline.iter().map(ItemOutcomes::mean).sum::<f64>() / n;
    let p = p.clamp(0.5 / n, 1.0 - 0.5 / n);
    let repeated: Vec<&ItemOutcomes> =
        baseline.iter().filter(|item| item.trials.len() > 1).collect();
    let error = if repeated.len() == baseline.len() {
        let within = repeated.iter().map(|item| within_variance(item)).sum::<f64>() / n;
        let before = repeated.iter().map(|item| 1.0 / float(item.trials.len())).sum::<f64>() / n;
        (within * (before + 1.0 / float(repeats.max(1))) / float(items)).sqrt()
    } else {
        planned_error(p, CORRELATION, items)
    };
    // Items that turn from right to wrong are few, however alike the repeats are.
    Some(detectable_drop(error, tail).max(whole_drop(items, tail)).min(1.0))
}

/// Returns the smallest drop that a comparison with a run of a given accuracy would show, where no
/// such run is known yet; `None` without items.
pub fn assumed_drop(items: usize, accuracy: f64, tail: f64) -> Option<f64> {
    if items == 0 {
        return None;
    }
    let n = float(items);
    let p = accuracy.clamp(0.5 / n, 1.0 - 0.5 / n);
    let error = planned_error(p, CORRELATION, items);
    Some(detectable_drop(error, tail).max(whole_drop(items, tail)).min(1.0))
}

/// Returns the fewest items that turned from right to wrong, with none the other way, for which the
/// exact test says that it is no chance.
fn least_regressions(tail: f64) -> usize {
    (1..64)
        .find(|count| 0.5_f64.powi(*count) <= tail)
        .map_or(64, |count| count.unsigned_abs() as usize)
}

/// Returns the smallest drop in which enough items turn wrong with a probability of 80%.
fn whole_drop(items: usize, tail: f64) -> f64 {
    let least = least_regressions(tail);
    if items < least {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if at_least(least, items, middle) < POWER { low = middle } else { high = middle }
    }
    high
}

/// Returns the probability of at least so many successes in `n` tries.
fn at_least(successes: usize, n: usize, probability: f64) -> f64 {
    let mut below = 0.0;
    let mut term = (1.0 - probability).powf(float(n));
    for count in 0..successes {
        below += term;
        let next = float(n - count) / float(count + 1);
        term *= next * probability / (1.0 - probability).max(f64::MIN_POSITIVE);
    }
    1.0 - below
}

/// Unbiased variance of an item's trials.
fn within_variance(item: &ItemOutcomes) -> f64 {
    let (n, mean) = (float(item.trials.len()), item.mean());
    item.trials.iter().map(|trial| (trial.value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// Returns the least number of right items with which accuracy passes; `None` if even all are too
/// few.
pub fn right_items_to_pass(items: usize, least: f64, tail: f64) -> Option<usize> {
    let passes = |right: usize| {
        let means: Vec<f64> =
            (0..items).map(|index| if index < right { 1.0 } else { 0.0 }).collect();
        bounds::accuracy(&means, tail).is_some_and(|bounds| bounds.lower() >= least - 1e-9)
    };
    if !passes(items) {
        return None;
    }
    let (mut low, mut high) = (0, items);
    while low < high {
        let middle = usize::midpoint(low, high);
        if passes(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

/// Returns about how many items would decide, for a pass or a block, if they behave like these;
/// `None` if no number of them does.
pub fn items_needed(decision: &Decision, rule: &GateRule, tail: f64) -> Option<usize> {
    let to_pass = items_to_pass(decision, rule, tail);
    let to_block = decision.reasons.iter().filter_map(|reason| to_block(decision, reason, tail));
    to_pass.into_iter().chain(to_block).min()
}

/// Returns how many items would show that a run is too bad, if they behave like these.
fn to_block(decision: &Decision, reason: &Reason, tail: f64) -> Option<usize> {
    let z = normal_quantile(1.0 - tail);
    let by_variance = |error: f64, n: usize, distance: f64| {
        (distance > 0.0).then(|| error.powi(2) * float(n) * (z / distance).powi(2))
    };
    match reason {
        Reason::AccuracyUnclear { value, least, .. } => {
            let found =
                by_variance(decision.accuracy.standard_error, decision.accuracy.n, least - value);
            whole(found?).map(|found| found.max(decision.accuracy.n + 1))
        }
        Reason::DifferenceUnclear { value, .. } => {
            let bounds = &decision.difference.as_ref()?.bounds;
            let found = by_variance(bounds.standard_error, bounds.n, -value)?;
            let rare = float(least_regressions(tail)) / -value;
            whole(found.max(rare)).map(|found| found.max(bounds.n + 1))
        }
        _ => None,
    }
}

fn items_to_pass(decision: &Decision, rule: &GateRule, tail: f64) -> Option<usize> {
    let mut needed = decision.accuracy.n;
    for reason in &decision.reasons {
        let found = match reason {
            Reason::AccuracyUnclear { value, least, .. } => {
                for_accuracy(decision, *value, *least, tail)
            }
            Reason::DifferenceUnclear { value, .. } => {
                let error = decision.difference.as_ref()?.bounds.standard_error;
                for_difference(
                    error,
                    decision.difference.as_ref()?.bounds.n,
                    value + rule.margin,
                    tail,
                )
            }
            _ => Some(needed),
        };
        needed = needed.max(found?);
    }
    Some(needed)
}

fn for_accuracy(decision: &Decision, value: f64, least: f64, tail: f64) -> Option<usize> {
    let distance = value - least;
    if distance <= 0.0 {
        return None;
    }
    let z = normal_quantile(1.0 - tail);
    let variance = decision.accuracy.standard_error.powi(2) * float(decision.accuracy.n);
    whole(variance.max(least * (1.0 - least)) * (z / distance).powi(2))
}

fn for_difference(error: f64, n: usize, distance: f64, tail: f64) -> Option<usize> {
    if distance <= 0.0 {
        return None;
    }
    let z = normal_quantile(1.0 - tail);
    let by_variance = error.powi(2) * float(n) * (z / distance).powi(2);
    let by_rare = z * z * (1.0 - distance) / distance;
    whole(by_variance.max(by_rare))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(items: f64) -> Option<usize> {
    (items.is_finite() && items <= float(MAX_ITEMS)).then(|| items.ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::outcomes::Trial;

    /// 40 items, right twice before: of those that turn wrong five must do so.
    #[test]
    fn a_drop_of_whole_items_is_seen_as_often_as_stated() {
        let item = |at: usize| ItemOutcomes {
            item: at.to_string(),
            version: None,
            trials: vec![Trial::scored(1.0), Trial::scored(1.0)],
        };
        let items: Vec<ItemOutcomes> = (0..40).map(item).collect();
        let drop = smallest_drop(&items, 40, 2, 0.05).unwrap();
        assert!((0.160..0.170).contains(&drop), "{drop}");
        assert!((at_least(5, 40, drop) - POWER).abs() < 1e-9);
        assert_eq!(least_regressions(0.05), 5);
        assert_eq!(least_regressions(0.025), 6);
        assert!(whole_drop(4, 0.05) >= 1.0, "four items show nothing");
    }

    #[test]
    fn right_items_to_pass_is_the_first_that_passes() {
        assert_eq!(right_items_to_pass(30, 0.9, 0.05), Some(30));
        assert_eq!(right_items_to_pass(10, 0.9, 0.05), None);
        let right = right_items_to_pass(100, 0.7, 0.05).unwrap();
        let bound = |right: usize| {
            let means: Vec<f64> = (0..100).map(|at| f64::from(u8::from(at < right))).collect();
            bounds::accuracy(&means, 0.05).unwrap().lower()
        };
        assert!(bound(right) >= 0.7 && bound(right - 1) < 0.7, "{right}");
    }
}
