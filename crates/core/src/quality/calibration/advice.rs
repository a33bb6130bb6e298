use crate::counted::noun_of;
use crate::stats::undefined::Undefined;

use super::{Agreement, Calibration, MIN_LABELS, ThresholdResult};

/// Returns why a headline figure is missing, in words for people: `5 of 30 labels needed`.
pub fn missing(why: Undefined) -> String {
    match why {
        Undefined::Empty => format!("0 of {MIN_LABELS} labels needed"),
        Undefined::TooFew { have, needed } => format!("{have} of {needed} labels needed"),
        Undefined::ConstantInput => {
            "unknown: all scores of the judge, or all labels, are the same".to_owned()
        }
    }
}

/// Returns what to trust and what not, in plain sentences.
pub fn advice(calibration: &Calibration) -> String {
    let labels = calibration.overall.pairs.len();
    if labels < MIN_LABELS {
        let more = MIN_LABELS - labels;
        let sessions = noun_of(more, "session");
        return format!(
            "Do not rely on the judge's scores yet: {labels} of {MIN_LABELS} labels needed. \
             Label {more} more {sessions}."
        );
    }
    let of = |standing: ThresholdResult| -> Vec<&Agreement> {
        calibration.dimensions.iter().filter(|one| threshold_result(one) == standing).collect()
    };
    let threshold = calibration.threshold;
    let mut sentences = Vec::new();
    let trusted = of(ThresholdResult::Met);
    if !trusted.is_empty() {
        let names = names(&trusted);
        sentences.push(format!(
            "Trust {names}: on average the judge is within {threshold:.2} of people."
        ));
    }
    let refuted = of(ThresholdResult::NotMet);
    if !refuted.is_empty() {
        let leaning: Vec<String> = refuted.iter().map(|one| leaning(one)).collect();
        sentences.push(format!(
            "Do not trust {}: the judge is further than {threshold:.2} from people.",
            listed(&leaning)
        ));
    }
    let open = of(ThresholdResult::CannotTell);
    if !open.is_empty() {
        sentences.push(format!("More labels are needed to tell for {}.", names(&open)));
    }
    sentences.join(" ")
}

/// Where a dimension stands, once it has enough labels.
fn threshold_result(one: &Agreement) -> ThresholdResult {
    if one.pairs.len() < MIN_LABELS { ThresholdResult::CannotTell } else { one.standing }
}

/// A dimension, and which way the judge errs if that is significant.
fn leaning(one: &Agreement) -> String {
    let interval = one.bias.ok().and_then(|bias| bias.interval);
    match interval {
        Some(interval) if interval.lower > 0.0 => format!("{} (too lenient)", one.dimension),
        Some(interval) if interval.upper < 0.0 => format!("{} (too strict)", one.dimension),
        Some(_) | None => one.dimension.clone(),
    }
}

fn names(dimensions: &[&Agreement]) -> String {
    listed(&dimensions.iter().map(|one| one.dimension.clone()).collect::<Vec<_>>())
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}
