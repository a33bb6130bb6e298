use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::fit::{Fitted, LabelledFeatures, smoothed_share, split};
use crate::stats::float;
use crate::stats::interval::{Estimate, Interval};
use crate::stats::ranking::auc;

/// Folds of the cross-validation; fewer if there are fewer tasks.
const FOLDS: usize = 10;
/// Bootstrap rounds.
const ROUNDS: usize = 2_000;
/// The seed of the bootstrap: the same labels give the same interval.
const SEED: u64 = 15;

/// What a fit is worth on tasks that it has not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossCheck {
    /// Labelled sessions and tasks.
    pub labels: usize,
    pub tasks: usize,
    /// The share of sessions that were a success.
    pub share: f64,
    /// Brier scores; lower is better.
    pub brier: f64,
    /// Of the judge as it is.
    pub brier_uncalibrated: f64,
    /// Of always saying the share of successes of the other tasks.
    pub brier_constant: f64,
    /// By how much the Brier score is lower than the judge's and the constant's; 95% intervals from
    /// drawing whole tasks.
    pub gain_uncalibrated: Estimate,
    pub gain_constant: Estimate,
    /// The AUC, and that of the judge as it is; `None` where undefined.
    pub auc: Option<f64>,
    pub auc_uncalibrated: Option<f64>,
    /// Probabilities of sessions, each from a fit without its task.
    pub predictions: Vec<Prediction>,
}

/// The prediction of one session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    pub probability: f64,
    /// What the judge says without labels, and the share of successes of the other tasks.
    pub uncalibrated: f64,
    pub constant: f64,
    pub is_success: bool,
    /// The number of its task.
    pub task: usize,
}

impl CrossCheck {
    /// Returns whether the fit is better than both the judge as it is and a constant, beyond
    /// chance.
    pub fn gains(&self) -> bool {
        let is_better = |gain: &Estimate| gain.interval.is_some_and(|it| it.lower > 0.0);
        is_better(&self.gain_uncalibrated) && is_better(&self.gain_constant)
    }

    /// Describes the gain.
    pub fn sentence(&self) -> String {
        let gain = |gain: &Estimate| {
            let interval =
                gain.interval.map(|it| format!(" ({:+.3} to {:+.3})", it.lower, it.upper));
            format!("{:+.3}{}", gain.value, interval.unwrap_or_default())
        };
        format!(
            "Cross-validated on {} labels of {} tasks: Brier score {:.3}; better than the uncalibrated judge by {}, than a constant by {}",
            self.labels,
            self.tasks,
            self.brier,
            gain(&self.gain_uncalibrated),
            gain(&self.gain_constant),
        )
    }
}

/// Predicts each session from the labels of other tasks, and compares.
pub(super) fn cross_check(sessions: &[&LabelledFeatures], groups: &[usize]) -> CrossCheck {
    let tasks = groups.iter().max().map_or(0, |last| last + 1);
    let folds = FOLDS.min(tasks).max(1);
    let mut predictions = Vec::with_capacity(sessions.len());
    for fold in 0..folds {
        let is_held = |group: usize| group % folds == fold;
        let (train, train_groups) = split(sessions, groups, &is_held, false);
        let (test, test_groups) = split(sessions, groups, &is_held, true);
        let fitted = Fitted::of(&train, &train_groups);
        let constant = smoothed_share(&train);
        predictions.extend(test.iter().zip(test_groups).map(|(session, task)| Prediction {
            probability: fitted.probability(session),
            // Where the judge says nothing, it is as good as the share of successes.
            uncalibrated: session.features.uncalibrated.unwrap_or(constant),
            constant,
            is_success: session.is_success,
            task,
        }));
    }
    let draws = draws(tasks);
    let gain = |other: fn(&Prediction) -> f64| {
        let gains = |it: &Prediction| it.brier(other(it)) - it.brier(it.probability);
        estimate(&predictions, &draws, gains)
    };
    let mean = |value: &dyn Fn(&Prediction) -> f64| {
        predictions.iter().map(value).sum::<f64>() / float(predictions.len()).max(1.0)
    };
    CrossCheck {
        labels: sessions.len(),
        tasks,
        share: mean(&|it| f64::from(u8::from(it.is_success))),
        brier: mean(&|it| it.brier(it.probability)),
        brier_uncalibrated: mean(&|it| it.brier(it.uncalibrated)),
        brier_constant: mean(&|it| it.brier(it.constant)),
        gain_uncalibrated: gain(|it| it.uncalibrated),
        gain_constant: gain(|it| it.constant),
        auc: area(&predictions, |it| it.probability),
        auc_uncalibrated: area(&predictions, |it| it.uncalibrated),
        predictions,
    }
}

impl Prediction {
    /// Returns the squared error of a forecast.
    fn brier(&self, forecast: f64) -> f64 {
        (forecast - f64::from(u8::from(self.is_success))).powi(2)
    }
}

fn area(predictions: &[Prediction], value: fn(&Prediction) -> f64) -> Option<f64> {
    let side = |is_success: bool| -> Vec<f64> {
        predictions.iter().filter(|it| it.is_success == is_success).map(value).collect()
    };
    auc(&side(true), &side(false)).ok()
}

/// Draws whole tasks with replacement: how often each task was drawn, by round.
pub(in crate::judge::offline) fn draws(tasks: usize) -> Vec<Vec<u32>> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let tasks = tasks.max(1);
    let mut round = || {
        let mut counts = vec![0_u32; tasks];
        for _ in 0..tasks {
            let drawn = usize::try_from(random.next_u64() % (tasks as u64)).unwrap_or_default();
            counts[drawn] += 1;
        }
        counts
    };
    (0..ROUNDS).map(|_| round()).collect()
}

fn estimate(
    predictions: &[Prediction],
    draws: &[Vec<u32>],
    value: impl Fn(&Prediction) -> f64,
) -> Estimate {
    let values: Vec<(usize, f64)> = predictions.iter().map(|it| (it.task, value(it))).collect();
    estimate_by_task(&values, draws)
}

/// Estimates a mean with a 95% bootstrap interval over tasks. Each value has the number of its task.
pub(in crate::judge::offline) fn estimate_by_task(
    values: &[(usize, f64)],
    draws: &[Vec<u32>],
) -> Estimate {
    let mut means: Vec<f64> = draws
        .iter()
        .map(|counts| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (task, value) in values {
                let count = f64::from(counts.get(*task).copied().unwrap_or_default());
                sum += count * value;
                weight += count;
            }
            if weight > 0.0 { sum / weight } else { 0.0 }
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let tail = means.len() / 40;
    let ends = means.get(tail).zip(means.iter().nth_back(tail));
    let sum: f64 = values.iter().map(|(_, value)| value).sum();
    Estimate {
        value: sum / float(values.len()).max(1.0),
        interval: ends.map(|(lower, upper)| Interval { lower: *lower, upper: *upper }),
        n: u64::try_from(values.len()).unwrap_or(u64::MAX),
    }
}
