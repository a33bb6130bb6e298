use std::fmt::Write;

use ratchet_core::judge::offline::SignalSet;
use ratchet_core::judge::offline::success::check::Prediction;
use ratchet_core::judge::offline::success::{LabelledFeatures, fit};
use ratchet_core::judge::rubric::Rubric;

use crate::report::Judged;

/// The width of a band of probabilities.
const BAND: f64 = 0.2;
/// The number of signals that are listed.
const NAMED: usize = 8;

/// Formats what P(success) is worth on tasks that it was not fitted to, or why it is not fitted.
pub(crate) fn report(signals: &SignalSet, rubric: &Rubric, judged: &[Judged]) -> String {
    let labelled = judged.iter().map(|one| {
        let mut features = one.features.clone();
        features.group.clone_from(&one.task);
        LabelledFeatures { features, is_success: one.is_good }
    });
    let fit = match fit(signals, &rubric.name, &labelled.collect::<Vec<_>>()) {
        Ok(fit) => fit,
        Err(why) => return format!("P(success) is not fitted: {why}.\n"),
    };
    let check = &fit.check;
    let area = |auc: Option<f64>| auc.map_or("–".to_owned(), |auc| format!("{auc:.3}"));
    let mut text = format!(
        "P(success). {}. AUC {} (completion without labels {}). {}.\n\n| P(success) | sessions | mean | good |\n|---|---|---|---|\n",
        check.sentence(),
        area(check.auc),
        area(check.auc_uncalibrated),
        if check.gains() { "Offered" } else { "Not offered" },
    );
    for band in 0..5_u8 {
        let low = f64::from(band) * BAND;
        let high = if band == 4 { 1.01 } else { low + BAND };
        let within: Vec<&Prediction> =
            check.predictions.iter().filter(|it| (low..high).contains(&it.probability)).collect();
        if !within.is_empty() {
            let mean = |value: &dyn Fn(&Prediction) -> f64| {
                let count = f64::from(u32::try_from(within.len()).unwrap_or(u32::MAX));
                within.iter().map(|it| value(it)).sum::<f64>() / count
            };
            // Writing to a text cannot fail.
            let _infallible = writeln!(
                text,
                "| {low:.1} to {:.1} | {} | {:.2} | {:.2} |",
                high.min(1.0),
                within.len(),
                mean(&|it| it.probability),
                mean(&|it| f64::from(u8::from(it.is_success))),
            );
        }
    }
    let weights: Vec<String> = fit
        .model
        .weights()
        .into_iter()
        .take(NAMED)
        .map(|(name, weight)| format!("{name} {weight:+.2}"))
        .collect();
    let _infallible = writeln!(text, "\nWeights: {}.", weights.join(", "));
    text
}
