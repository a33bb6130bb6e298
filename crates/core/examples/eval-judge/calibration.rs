//! Calibration: whether sessions with a mark of 0.8 are good eight times in ten.

use std::collections::BTreeMap;
use std::fmt::Write;

use ratchet_core::judge::offline::success::OUTCOME;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::judge::verdict::Finding;

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
    let _infallible = writeln!(text, "\n{}", grades(judged));
    let brier = mean(&marked, |one| (one.mark - is_good(one)).powi(2));
    let good = mean(&marked, is_good);
    let constant = good * (1.0 - good);
    let _infallible = writeln!(
        text,
        "\nBrier score {brier:.3}; the share of good sessions alone has {constant:.3}. Uncalibrated: no mark was fitted to labels."
    );
    text
}

/// Formats how often each grade of completion was given, and how many of those sessions were good.
fn grades(judged: &[Judged]) -> String {
    let grade = |one: &Judged| match &one.verdict.judgement(OUTCOME)?.finding {
        Finding::Grade(grade) => Some(grade.label.clone()),
        Finding::Number(_) | Finding::NotObservable => None,
    };
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for one in judged {
        let label = grade(one).unwrap_or_else(|| "no signal".to_owned());
        let [all, good] = counts.entry(label).or_default();
        *all += 1;
        *good += usize::from(one.is_good);
    }
    let counts = counts.iter().map(|(label, [all, good])| format!("{label} {all} ({good} good)"));
    format!("Completion: {}.", counts.collect::<Vec<_>>().join(", "))
}

fn is_good(one: &Marked<'_>) -> f64 {
    f64::from(u8::from(one.is_good))
}

fn mean(marked: &[Marked<'_>], value: impl Fn(&Marked<'_>) -> f64) -> f64 {
    let count = f64::from(u32::try_from(marked.len()).unwrap_or(u32::MAX));
    marked.iter().map(value).sum::<f64>() / count.max(1.0)
}
