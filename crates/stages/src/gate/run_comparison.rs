use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::catalog::run_comparison::{ItemRun, ScoreScale};
use ratchet_core::experiment::score_comparison::{ScoreComparison, ScoredRuns};
use ratchet_core::gate::outcomes::{ItemOutcomes, Trial};
use ratchet_core::record::score::ScoreSource;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::blocking::run_blocking;

use super::evaluator::is_later_score;
use super::run_trials::{MAX_TRIALS, RunTrial, RunTrials};
use super::{DatasetItems, GateContext};

/// A trial without its texts.
struct BareTrial {
    item: String,
    version: Option<Timestamp>,
    is_fault: bool,
    output: Option<String>,
    /// By evaluators and clients, the newest of each name.
    judged: BTreeMap<String, f64>,
    /// What people say of each of these.
    corrected: BTreeMap<String, f64>,
    /// What people say of the answer, for any other score.
    correctness: Option<f64>,
}

/// Compares two runs, by their ids, by each of their scores: as the gate reads them.
///
/// # Errors
/// Fails only when the database does.
pub async fn compare_runs(
    context: GateContext<'_>,
    [before, after]: [&str; 2],
) -> StoreResult<ScoreComparison> {
    let mut items = DatasetItems::new(context);
    let runs = [
        bare_trials(context, before, &mut items).await?,
        bare_trials(context, after, &mut items).await?,
    ];
    run_blocking(move || ScoreComparison::of(&scored(&runs))).await
}

async fn bare_trials(
    context: GateContext<'_>,
    run: &str,
    items: &mut DatasetItems<'_>,
) -> StoreResult<Vec<BareTrial>> {
    let mut trials = RunTrials::open(context, run, &[]).await?;
    let mut found = Vec::new();
    while found.len() < MAX_TRIALS
        && let Some(trial) = trials.next(items).await?
    {
        found.push(BareTrial::of(trial));
    }
    Ok(found)
}

impl BareTrial {
    fn of(trial: RunTrial) -> Self {
        let (mut judged, mut corrected) = (BTreeMap::new(), BTreeMap::new());
        for score in &trial.scores.0 {
            let is_judged = score.source != ScoreSource::Annotation && !is_later_score(&score.name);
            let Some(value) = score.value.number().filter(|_| is_judged) else { continue };
            // The newest one counts.
            if judged.contains_key(&score.name) {
                continue;
            }
            judged.insert(score.name.clone(), value);
            let said = trial.scores.correction(&score.name);
            corrected.extend(said.map(|said| (score.name.clone(), said)));
        }
        Self {
            correctness: trial.scores.correction(""),
            item: trial.stored.item,
            version: trial.version,
            is_fault: trial.is_fault,
            output: trial.output,
            judged,
            corrected,
        }
    }

    fn counted(&self, score: &str, scale: ScoreScale) -> Option<Trial> {
        let judged = self.judged.get(score).map(|value| scale.share(*value));
        let corrected = self.corrected.get(score).copied().or(self.correctness);
        let corrected = corrected.map(|value| value.clamp(0.0, 1.0));
        let trial = Trial::counted(judged, corrected, self.is_fault)?;
        Some(Trial { output: self.output.clone(), ..trial })
    }
}

fn scored(runs: &[Vec<BareTrial>; 2]) -> Vec<ScoredRuns> {
    let trials = || runs.iter().flatten();
    let names: BTreeSet<&String> = trials().flat_map(|trial| trial.judged.keys()).collect();
    let of_score = |score: &String| {
        let scale = ScoreScale::of(trials().filter_map(|trial| trial.judged.get(score).copied()));
        let runs = [&runs[0], &runs[1]].map(|run| item_runs(run, score, scale));
        ScoredRuns { score: score.clone(), scale, runs }
    };
    names.into_iter().map(of_score).collect()
}

fn item_runs(trials: &[BareTrial], score: &str, scale: ScoreScale) -> Vec<ItemRun> {
    let mut items: BTreeMap<&str, ItemRun> = BTreeMap::new();
    for trial in trials {
        let entry = items.entry(&trial.item).or_insert_with(|| ItemRun {
            outcomes: ItemOutcomes {
                item: trial.item.clone(),
                version: trial.version,
                trials: Vec::new(),
            },
            outputs: BTreeSet::new(),
        });
        entry.outcomes.version = entry.outcomes.version.max(trial.version);
        entry.outcomes.trials.extend(trial.counted(score, scale));
        entry.outputs.extend(trial.output.clone());
    }
    items.into_values().collect()
}
