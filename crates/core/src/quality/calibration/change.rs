use std::collections::BTreeMap;

use crate::id::SessionId;
use crate::stats::bounded;

use super::{Agreement, Calibration, Statistic, ThresholdResult, distance};

/// The effect of a change of the judge on one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreShift {
    pub dimension: String,
    /// Mean absolute error before.
    pub before: Statistic,
    /// Mean absolute error after.
    pub after: Statistic,
    /// Paired difference of the errors; negative is better.
    pub difference: Statistic,
    /// Whether the error decreased significantly.
    pub nearer: ThresholdResult,
}

/// Compares a judge before and after a change with the same labels, over the sessions judged both
/// times. The first entry is the overall score.
///
/// Paired by session, because sessions differ far more than judges do.
pub fn compare(before: &Calibration, after: &Calibration) -> Vec<ScoreShift> {
    let all = |report: &Calibration| -> Vec<Agreement> {
        std::iter::once(&report.overall).chain(&report.dimensions).cloned().collect()
    };
    let later: BTreeMap<String, Agreement> =
        all(after).into_iter().map(|one| (one.dimension.clone(), one)).collect();
    let both = all(before).into_iter().filter_map(|before| {
        let after = later.get(&before.dimension)?;
        Some(change(&before, after))
    });
    both.collect()
}

fn change(before: &Agreement, after: &Agreement) -> ScoreShift {
    let known: BTreeMap<&SessionId, f64> =
        before.pairs.iter().map(|(session, pair)| (session, distance(*pair))).collect();
    let both = after
        .pairs
        .iter()
        .filter_map(|(session, pair)| known.get(session).map(|before| (*before, distance(*pair))));
    let both: Vec<(f64, f64)> = both.collect();
    let errors = |of: fn(&(f64, f64)) -> f64| {
        bounded::mean(&both.iter().map(of).collect::<Vec<_>>(), 0.0..=1.0)
    };
    let differences: Vec<f64> = both.iter().map(|(before, after)| after - before).collect();
    let difference = bounded::mean(&differences, -1.0..=1.0);
    // What changes no session makes the judge no better, however few there are.
    let is_same = !differences.is_empty() && differences.iter().all(|value| *value == 0.0);
    ScoreShift {
        dimension: before.dimension.clone(),
        before: errors(|(before, _)| *before),
        after: errors(|(_, after)| *after),
        difference,
        nearer: if is_same { ThresholdResult::NotMet } else { nearer(difference) },
    }
}

/// Tests for improvement.
fn nearer(difference: Statistic) -> ThresholdResult {
    match difference.ok().and_then(|estimate| estimate.interval) {
        Some(interval) if interval.upper < 0.0 => ThresholdResult::Met,
        Some(interval) if interval.lower >= 0.0 => ThresholdResult::NotMet,
        Some(_) | None => ThresholdResult::CannotTell,
    }
}
