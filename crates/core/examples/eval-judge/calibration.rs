//! Calibration: whether sessions with a mark of 0.8 are good eight times in ten.

use std::fmt::Write;

use ratchet_core::judge::rubric::Rubric;

use crate::report::{Judged, Marked, overall};

/// Bands of marks.
const BANDS: [(f64, f64); 5] = [(0.0, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 1.01)];

/// Formats the share of good sessions for each band of marks, and the Brier score.
pub(crate) fn report(rubric: &Rubric, judged: &[Judged]) -> String {
    let marked: Vec<Marked<'_>> = judged.iter().filter_map(|one| overall(rubric, one)).collect();
    let mut text = "| overall mark | sessions | mean mark | good |\n|---|---|---|---|\n".to_owned();
    for (low, high) in BANDS {
        let band: Vec<Marked<'_>> =
            marked.iter().filter(|one| (low..high).contains(&one.mark)).copied().collect();
        if !band.is_empty() {
            let (mark, good) = (mean(&band, |one| one.mark), mean(&band, is_good));
            // Writing to a text cannot fail.
            let _infallible = writeln!(
                text,
                "| {low:.1} to {:.1} | {} | {mark:.2} | {good:.2} |",
                high.min(1.0),
                band.len()
            );
        }
    }
    let brier = mean(&marked, |one| (one.mark - is_good(one)).powi(2));
    let good = mean(&marked, is_good);
    let constant = good * (1.0 - good);
    let _infallible = writeln!(
        text,
        "\nBrier score {brier:.3}; the share of good sessions alone has {constant:.3}. Uncalibrated: no mark was fitted to labels."
    );
    text
}

fn is_good(one: &Marked<'_>) -> f64 {
    f64::from(u8::from(one.is_good))
}

fn mean(marked: &[Marked<'_>], value: impl Fn(&Marked<'_>) -> f64) -> f64 {
    let count = f64::from(u32::try_from(marked.len()).unwrap_or(u32::MAX));
    marked.iter().map(value).sum::<f64>() / count.max(1.0)
}
