//! Results of a run by one score, as the gate reads them.

use std::collections::BTreeMap;

use ratchet_core::catalog::run_comparison::{ItemRun, RunComparison, ScoreScale};
use ratchet_core::gate::bounds::Bounds;
use ratchet_core::gate::outcomes::{ItemOutcomes, Trial};

use super::results::{RunResult, TrialOutcome};

type Results = BTreeMap<String, RunResult>;

/// Scores of evaluators and clients, those with the most values first.
pub(in crate::pages) fn score_names<'a>(
    runs: impl IntoIterator<Item = &'a Results>,
) -> Vec<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    let trials = runs.into_iter().flat_map(BTreeMap::values).flat_map(|of| &of.trials);
    for name in trials.flat_map(|trial| trial.scores.judged.keys()) {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    counts.into_iter().map(|(name, _)| name.clone()).collect()
}

/// The scale that a score is on.
pub(in crate::pages) fn scale_of<'a>(
    runs: impl IntoIterator<Item = &'a Results>,
    score: &str,
) -> ScoreScale {
    let trials = runs.into_iter().flat_map(BTreeMap::values).flat_map(|of| &of.trials);
    ScoreScale::of(trials.filter_map(|trial| trial.scores.judged.get(score).copied()))
}

/// Whether the mean of a score is an accuracy.
pub(in crate::pages) fn is_share(scale: ScoreScale) -> bool {
    scale == ScoreScale { least: 0.0, greatest: 1.0 }
}

/// The items of a run by a score.
pub(in crate::pages) fn item_runs(
    results: &Results,
    score: &str,
    scale: ScoreScale,
) -> Vec<ItemRun> {
    let item = |(item, result): (&String, &RunResult)| ItemRun {
        outcomes: ItemOutcomes {
            item: item.clone(),
            version: result.version,
            trials: result.trials.iter().filter_map(|one| trial(one, score, scale)).collect(),
        },
        outputs: result.trials.iter().filter_map(|one| one.digest.clone()).collect(),
    };
    results.iter().map(item).collect()
}

/// Accuracy by the score with the most values, and its name; `None` if no score is a share.
pub(in crate::pages) fn accuracy(results: &Results) -> Option<(String, Bounds)> {
    let score = score_names([results]).into_iter().next()?;
    let scale = scale_of([results], &score);
    let items = is_share(scale).then(|| item_runs(results, &score, scale))?;
    let [_, bounds] = RunComparison::of(&[], &items).accuracy;
    Some((score, bounds?))
}

/// A trial as the gate reads it; `None` without the score.
fn trial(trial: &TrialOutcome, score: &str, scale: ScoreScale) -> Option<Trial> {
    let judged = trial.scores.judged.get(score).map(|value| scale.share(*value));
    let corrected = trial.scores.correction(score).map(|value| value.clamp(0.0, 1.0));
    let counted = Trial::counted(judged, corrected, trial.fault.is_some())?;
    let trace = Some(trial.trace.to_string());
    Some(Trial { output: trial.digest.clone(), trace, ..counted })
}
