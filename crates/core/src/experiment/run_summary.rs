use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gate::bounds;
use crate::stats::float;

/// Error rate of each bound: both together are a 95% interval.
const TAIL: f64 = 0.025;
/// The least score of a trial that passed.
const PASS: f64 = 0.5;

/// What is known of one finished trial.
#[derive(Clone, Debug, Default)]
pub struct TrialFacts {
    /// Id of the dataset item.
    pub item: String,
    /// The target failed instead of answering.
    pub is_fault: bool,
    /// Of the call; `None` without one, as for a cached answer.
    pub latency_ms: Option<u64>,
    /// In US dollars; `None` if unknown.
    pub cost: Option<f64>,
    /// Names and values of scores.
    pub scores: Vec<(String, f64)>,
    /// Names of scores that an evaluator failed to give.
    pub not_judged: Vec<String>,
}

/// A run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    pub items: usize,
    /// Finished trials.
    pub trials: usize,
    /// Trials in which the target failed instead of answering.
    pub faults: usize,
    /// Of trials with an answer that was not cached.
    pub latency_ms: Option<LatencySummary>,
    /// Known cost of the target in US dollars; `None` if no trial has one.
    pub cost: Option<f64>,
    /// Trials without a known cost.
    pub unpriced: usize,
    /// By name.
    pub scores: Vec<ScoreSummary>,
    /// Scores of the run as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_scores: Vec<RunScore>,
}

/// A score of a run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunScore {
    pub name: String,
    pub value: f64,
    pub comment: Option<String>,
}

/// Percentiles of latencies, by the nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencySummary {
    pub p50: u64,
    pub p95: u64,
    pub max: u64,
}

/// One score over a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoreSummary {
    pub name: String,
    /// Mean of the means of items; `None` without a verdict.
    pub mean: Option<f64>,
    /// 95% interval over items; `None` if a value is not between 0 and 1.
    pub interval: Option<[f64; 2]>,
    /// Items with the score.
    pub items: usize,
    /// Trials with the score.
    pub trials: usize,
    /// Trials with a score of at least a half, and the others.
    pub passed: usize,
    pub failed: usize,
    /// Trials with an answer on which the evaluator failed.
    pub not_judged: usize,
}

/// One score while it is collected.
#[derive(Default)]
struct Collected<'a> {
    by_item: BTreeMap<&'a str, Vec<f64>>,
    not_judged: usize,
}

impl RunSummary {
    /// Summarises finished trials.
    pub fn of(trials: &[TrialFacts]) -> Self {
        let mut items: Vec<&str> = trials.iter().map(|trial| trial.item.as_str()).collect();
        items.sort_unstable();
        items.dedup();
        let answered = trials.iter().filter(|trial| !trial.is_fault);
        let costs: Vec<f64> = trials.iter().filter_map(|trial| trial.cost).collect();
        Self {
            items: items.len(),
            trials: trials.len(),
            faults: trials.iter().filter(|trial| trial.is_fault).count(),
            latency_ms: LatencySummary::of(answered.filter_map(|trial| trial.latency_ms)),
            cost: (!costs.is_empty()).then(|| costs.iter().sum()),
            unpriced: trials.len() - costs.len(),
            scores: scores(trials),
            run_scores: Vec::new(),
        }
    }
}

impl LatencySummary {
    fn of(latencies: impl Iterator<Item = u64>) -> Option<Self> {
        let mut sorted: Vec<u64> = latencies.collect();
        sorted.sort_unstable();
        let max = *sorted.last()?;
        let rank = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(rank - 1).copied().unwrap_or(max)
        };
        Some(Self { p50: rank(50), p95: rank(95), max })
    }
}

fn scores(trials: &[TrialFacts]) -> Vec<ScoreSummary> {
    let mut all: BTreeMap<&str, Collected<'_>> = BTreeMap::new();
    for trial in trials {
        for (name, value) in &trial.scores {
            let values = all.entry(name).or_default().by_item.entry(&trial.item).or_default();
            values.push(*value);
        }
        for name in &trial.not_judged {
            all.entry(name).or_default().not_judged += 1;
        }
    }
    all.into_iter().map(|(name, collected)| summary(name, &collected)).collect()
}

fn summary(name: &str, collected: &Collected<'_>) -> ScoreSummary {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / float(values.len().max(1));
    let means: Vec<f64> = collected.by_item.values().map(|values| mean(values)).collect();
    let values = || collected.by_item.values().flatten();
    let is_share = values().all(|value| (0.0..=1.0).contains(value));
    let found = bounds::accuracy(&means, TAIL).filter(|_| is_share);
    let passed = values().filter(|value| **value >= PASS).count();
    ScoreSummary {
        name: name.to_owned(),
        mean: (!means.is_empty()).then(|| mean(&means)),
        interval: found.map(|found| found.interval),
        items: means.len(),
        trials: values().count(),
        passed,
        failed: values().count() - passed,
        not_judged: collected.not_judged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(item: &str, value: Option<f64>, latency: u64) -> TrialFacts {
        TrialFacts {
            item: item.to_owned(),
            latency_ms: Some(latency),
            scores: value.map(|value| ("exact".to_owned(), value)).into_iter().collect(),
            not_judged: value.is_none().then(|| "exact".to_owned()).into_iter().collect(),
            ..TrialFacts::default()
        }
    }

    #[test]
    fn n_is_items_and_trials_without_a_verdict_are_counted_apart() {
        let fault = TrialFacts { is_fault: true, ..trial("b", Some(0.0), 9_000) };
        let trials = [
            trial("a", Some(1.0), 10),
            trial("a", Some(0.0), 20),
            trial("b", Some(1.0), 30),
            trial("c", None, 40),
            fault,
        ];
        let found = RunSummary::of(&trials);
        assert_eq!((found.items, found.trials, found.faults), (3, 5, 1));
        let latency = LatencySummary { p50: 20, p95: 40, max: 40 };
        assert_eq!(found.latency_ms, Some(latency), "a fault has no latency");
        assert_eq!((found.cost, found.unpriced), (None, 5));
        let score = &found.scores[0];
        assert_eq!((score.mean, score.items, score.trials), (Some(0.5), 2, 4));
        assert_eq!((score.passed, score.failed, score.not_judged), (2, 2, 1));
        let expected = bounds::accuracy(&[0.5, 0.5], TAIL).unwrap().interval;
        assert_eq!(score.interval, Some(expected));
    }

    #[test]
    fn a_score_on_another_scale_has_no_interval() {
        let found = RunSummary::of(&[trial("a", Some(7.0), 1)]);
        assert_eq!((found.scores[0].mean, found.scores[0].interval), (Some(7.0), None));
        let unknown = RunSummary::of(&[trial("a", None, 1)]);
        assert_eq!(unknown.scores[0].mean, None, "no verdict is not a score of zero");
        assert_eq!(RunSummary::of(&[]), RunSummary::default());
    }
}
