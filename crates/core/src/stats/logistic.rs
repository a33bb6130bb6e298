//! Ridge logistic regression: the probability of an outcome from several measures.

use super::float;
use super::undefined::Undefined;

/// Newton steps after which a fit ends. Fits of bounded, standardised measures need about ten.
const MAX_STEPS: usize = 60;
/// A Newton step that changes no coefficient by more than this is the last one.
const TOLERANCE: f64 = 1e-12;
/// Halvings of a Newton step that overshoots.
const MAX_HALVINGS: usize = 30;
/// Keeps the equations solvable where a measure without penalty is constant.
const MIN_PIVOT: f64 = 1e-12;

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    pub intercept: f64,
    /// By measure, per unit of it.
    pub weights: Vec<f64>,
}

impl Logistic {
    /// Fits a model by penalised maximum likelihood (Newton's method, which is iteratively
    /// reweighted least squares). Minimises the negative log-likelihood plus half of the sum of
    /// `penalty × weight²`; the intercept has no penalty. All `rows` have one value by penalty.
    ///
    /// # Errors
    /// There are no rows, or all outcomes are the same.
    pub fn fit(rows: &[Vec<f64>], outcomes: &[bool], penalties: &[f64]) -> Result<Self, Undefined> {
        Undefined::check(rows.len().min(outcomes.len()), 2)?;
        if outcomes.iter().all(|outcome| *outcome) || !outcomes.iter().any(|outcome| *outcome) {
            return Err(Undefined::ConstantInput);
        }
        let problem = Problem { rows, outcomes, penalties };
        let mut at = vec![0.0; penalties.len() + 1];
        let mut loss = problem.loss(&at);
        for _ in 0..MAX_STEPS {
            let step = problem.newton_step(&at);
            let mut next = moved(&at, &step, 1.0);
            let mut next_loss = problem.loss(&next);
            let mut length = 1.0;
            for _ in 0..MAX_HALVINGS {
                if next_loss <= loss {
                    break;
                }
                length /= 2.0;
                next = moved(&at, &step, length);
                next_loss = problem.loss(&next);
            }
            let is_last = next_loss > loss || step.iter().all(|change| change.abs() < TOLERANCE);
            if next_loss <= loss {
                (at, loss) = (next, next_loss);
            }
            if is_last {
                break;
            }
        }
        Ok(Self { intercept: at.first().copied().unwrap_or_default(), weights: at.split_off(1) })
    }

    /// Returns the probability of the outcome.
    pub fn probability(&self, row: &[f64]) -> f64 {
        sigmoid(self.log_odds(row))
    }

    /// Returns the logarithm of the odds of the outcome.
    pub fn log_odds(&self, row: &[f64]) -> f64 {
        self.intercept + dot(&self.weights, row)
    }
}

struct Problem<'a> {
    rows: &'a [Vec<f64>],
    outcomes: &'a [bool],
    penalties: &'a [f64],
}

impl Problem<'_> {
    /// Returns the penalised negative log-likelihood; the first coefficient is the intercept.
    fn loss(&self, at: &[f64]) -> f64 {
        let (intercept, weights) = at.split_first().unwrap_or((&0.0, &[]));
        let losses = self.rows.iter().zip(self.outcomes).map(|(row, outcome)| {
            let log_odds = intercept + dot(weights, row);
            let log_odds = if *outcome { -log_odds } else { log_odds };
            log_odds.max(0.0) + (-log_odds.abs()).exp().ln_1p()
        });
        let ridge = self.penalties.iter().zip(weights).map(|(penalty, it)| penalty * it * it);
        losses.sum::<f64>() + ridge.sum::<f64>() / 2.0
    }

    fn newton_step(&self, at: &[f64]) -> Vec<f64> {
        let size = at.len();
        let (intercept, weights) = at.split_first().unwrap_or((&0.0, &[]));
        let mut gradient = vec![0.0; size];
        let mut curvature = vec![vec![0.0; size]; size];
        for (row, outcome) in self.rows.iter().zip(self.outcomes) {
            let probability = sigmoid(intercept + dot(weights, row));
            let error = f64::from(u8::from(*outcome)) - probability;
            let weight = probability * (1.0 - probability);
            let full = || std::iter::once(1.0).chain(row.iter().copied());
            for ((value, line), slope) in full().zip(&mut curvature).zip(&mut gradient) {
                *slope += error * value;
                for (cell, other) in line.iter_mut().zip(full()) {
                    *cell += weight * value * other;
                }
            }
        }
        for (place, (penalty, weight)) in (1..).zip(self.penalties.iter().zip(weights)) {
            gradient[place] -= penalty * weight;
            curvature[place][place] += penalty;
        }
        solve(curvature, gradient)
    }
}

/// Solves a symmetric positive definite system by Cholesky decomposition.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for row in 0..size {
        for column in 0..=row {
            let known: f64 = (0..column).map(|it| matrix[row][it] * matrix[column][it]).sum();
            let rest = matrix[row][column] - known;
            matrix[row][column] = if row == column {
                rest.max(MIN_PIVOT).sqrt()
            } else {
                rest / matrix[column][column]
            };
        }
        let known: f64 = (0..row).map(|it| matrix[row][it] * right[it]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|it| matrix[it][row] * right[it]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

fn moved(at: &[f64], step: &[f64], length: f64) -> Vec<f64> {
    at.iter().zip(step).map(|(at, step)| at + length * step).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn sigmoid(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// Mean and standard deviation of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standardisation {
    pub mean: f64,
    /// Never zero: 1 for a constant measure.
    pub deviation: f64,
}

impl Standardisation {
    /// Measures values; missing ones do not count.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = float(values.clone().count()).max(1.0);
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let deviation = if variance > 1e-18 { variance.sqrt() } else { 1.0 };
        Self { mean, deviation }
    }

    /// Returns the value in standard deviations from the mean; a missing one is at the mean.
    pub fn apply(&self, value: Option<f64>) -> f64 {
        value.map_or(0.0, |value| (value - self.mean) / self.deviation)
    }
}

#[cfg(test)]
mod tests;
