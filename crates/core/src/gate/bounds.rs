use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::mcnemar::McNemar;
use crate::stats::float;

/// An estimate over items with two one-sided bounds, each with the error rate of its look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    pub value: f64,
    /// Lower and upper bound.
    pub interval: [f64; 2],
    /// Number of items.
    pub n: usize,
    /// Standard error, clustered by item.
    pub standard_error: f64,
}

impl Bounds {
    /// Returns the lower bound.
    pub const fn lower(&self) -> f64 {
        self.interval[0]
    }

    /// Returns the upper bound.
    pub const fn upper(&self) -> f64 {
        self.interval[1]
    }
}

/// Returns the bounds of accuracy from item means between 0 and 1; `None` without items.
///
/// Wilson's bounds with n = items where trials of an item agree. Where they do not, an item's mean
/// varies less than one trial, and the same formula is used with the number of single trials that
/// would have the same variance. `tail` is the error rate of each bound.
pub fn accuracy(means: &[f64], tail: f64) -> Option<Bounds> {
    let sample = Sample::of(means)?;
    let z = normal_quantile(1.0 - tail);
    let p = sample.mean.clamp(0.0, 1.0);
    let effective = effective_items(&sample, p);
    let rare = rare_share(sample.n, z);
    let [lower, upper] = wilson(p, effective, z);
    Some(Bounds {
        value: p,
        interval: [lower.min(p * (1.0 - rare)), upper.max(p + (1.0 - p) * rare)],
        n: means.len(),
        standard_error: (sample.variance / sample.n).sqrt(),
    })
}

/// Returns the bounds of the mean of paired differences between -1 and 1; `None` without pairs.
///
/// Student's bounds over items. They are never closer to the mean than those of a sample in which
/// no item differs: n items without a change do not show that there are none elsewhere. Where items
/// changed from always right to always wrong or back, few of them are far from normal, and an
/// interval excludes zero only if the exact McNemar test does.
pub fn difference(differences: &[f64], tail: f64) -> Option<Bounds> {
    let sample = Sample::of(differences)?;
    let error = (sample.unbiased() / sample.n).sqrt();
    let half = if differences.len() > 1 {
        student_quantile(1.0 - tail, sample.n - 1.0) * error
    } else {
        2.0
    };
    let rare = rare_share(sample.n, normal_quantile(1.0 - tail));
    let d = sample.mean.clamp(-1.0, 1.0);
    let lower = (d - half).min(d - rare * (1.0 + d)).max(-1.0);
    let upper = (d + half).max(d + rare * (1.0 - d)).min(1.0);
    let [falls, rises] = exact_tests(differences).map(|p| p.is_none_or(|p| p < tail));
    Some(Bounds {
        value: d,
        interval: [
            if rises { lower } else { lower.min(0.0) },
            if falls { upper } else { upper.max(0.0) },
        ],
        n: differences.len(),
        standard_error: error,
    })
}

/// The exact tests for a fall and for a rise, where all differences are whole.
fn exact_tests(differences: &[f64]) -> [Option<f64>; 2] {
    let is_whole = |value: &f64| (value - value.round()).abs() < 1e-9;
    if !differences.iter().all(is_whole) {
        return [None, None];
    }
    let count = |sign: f64| differences.iter().filter(|value| **value * sign > 0.5).count() as u64;
    let (fell, rose) = (count(-1.0), count(1.0));
    [McNemar::of(fell, rose), McNemar::of(rose, fell)].map(|test| Some(test.p_one_sided))
}

struct Sample {
    n: f64,
    mean: f64,
    /// Divided by n.
    variance: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = float(values.len());
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        Some(Self { n, mean, variance })
    }

    fn unbiased(&self) -> f64 {
        self.variance * self.n / (self.n - 1.0).max(1.0)
    }
}

/// Single trials with the same variance of the mean: n if each item is always right or wrong.
fn effective_items(sample: &Sample, p: f64) -> f64 {
    let of_one_trial = p * (1.0 - p);
    if sample.variance < 1e-12 || of_one_trial < 1e-12 {
        return sample.n;
    }
    sample.n * (of_one_trial / sample.variance).max(1.0)
}

/// The greatest share of items that may behave in a way that none of `n` showed (Wilson).
fn rare_share(n: f64, z: f64) -> f64 {
    z * z / (n + z * z)
}

fn wilson(p: f64, n: f64, z: f64) -> [f64; 2] {
    let z2 = z * z;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// Returns a quantile of the standard normal distribution.
pub(super) fn normal_quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability)
}

fn student_quantile(probability: f64, freedom: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom.max(1.0));
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_items_there_is_nothing_to_say() {
        assert_eq!(accuracy(&[], 0.05), None);
        assert_eq!(difference(&[], 0.05), None);
        let one = difference(&[0.0], 0.05).unwrap();
        assert_eq!(one.interval, [-1.0, 1.0], "one item says nothing about others");
    }

    #[test]
    fn equal_runs_of_few_items_do_not_show_that_nothing_changed() {
        let lower = |n: usize| difference(&vec![0.0; n], 0.05).unwrap().lower();
        assert!(lower(24) < -0.1 && lower(25) > -0.1, "{} {}", lower(24), lower(25));
    }

    /// Three of a hundred that fell are not enough, five are.
    #[test]
    fn few_whole_changes_need_the_exact_test() {
        let upper = |fell: usize| {
            let values: Vec<f64> = (0..100).map(|at| if at < fell { -1.0 } else { 0.0 }).collect();
            difference(&values, 0.05).unwrap().upper()
        };
        assert!(upper(4) >= 0.0 && upper(5) < 0.0, "{} {}", upper(4), upper(5));
    }

    proptest! {
        #[test]
        fn bounds_contain_the_value_and_stay_in_range(
            values in prop::collection::vec(0.0..=1.0_f64, 1..40), tail in 0.001..0.3_f64,
        ) {
            let accuracy = accuracy(&values, tail).unwrap();
            prop_assert!(0.0 <= accuracy.lower() && accuracy.lower() <= accuracy.value + 1e-12);
            prop_assert!(accuracy.value <= accuracy.upper() + 1e-12 && accuracy.upper() <= 1.0);
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            let there = difference(&values, tail).unwrap();
            let back = difference(&turned, tail).unwrap();
            prop_assert!((there.lower() + back.upper()).abs() < 1e-9, "bounds are symmetric");
            prop_assert!(-1.0 <= there.lower() && there.lower() <= there.value + 1e-12);
        }

        /// A wrong answer more never raises the bound.
        #[test]
        fn a_worse_item_never_helps(n in 2_usize..60, worse in 0.0..1.0_f64) {
            let mut values = vec![1.0; n];
            let all_right = accuracy(&values, 0.05).unwrap();
            values[0] = worse;
            prop_assert!(accuracy(&values, 0.05).unwrap().lower() <= all_right.lower() + 1e-12);
        }
    }
}
