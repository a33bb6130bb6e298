use std::ops::RangeInclusive;

use super::agreement::RatingPair;
use super::difference::SampleStats;
use super::interval::{Estimate, Interval, Z_95, wilson};
use super::undefined::Undefined;
use super::{agreement, bounded, float};

/// A stratum of a population, with the values of its sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stratum {
    /// Size of the stratum in the population.
    pub population: u64,
    /// Values of the sampled items.
    pub values: Vec<f64>,
}

/// A sampled item with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedValue<T> {
    /// The number of items it represents.
    pub weight: f64,
    pub found: T,
}

/// Returns the stratified mean of values within bounds: the mean of each stratum, weighted by its
/// population.
///
/// The interval is the MOVER interval over that of [`bounded::mean`] in each stratum, with the finite
/// population correction. It is valid where a stratum has few samples without variance; one with a
/// single sample may have any mean. A single sample in all has no interval.
///
/// # Errors
/// No samples.
pub fn mean(strata: &[Stratum], bounds: RangeInclusive<f64>) -> Result<Estimate, Undefined> {
    let kinds = Kind::all(strata)?;
    let n = looked_at(&kinds);
    let ends = kinds.iter().map(|kind| kind.bounded(&bounds)).collect::<Result<Vec<_>, _>>()?;
    let found = mover(&kinds, &ends);
    // Rounding may carry a sum of shares past the bounds.
    let cut = |value: f64| value.clamp(*bounds.start(), *bounds.end());
    let is_enough = n > 1 || kinds.iter().all(Kind::is_whole);
    let interval = found.interval.filter(|_| is_enough);
    let interval = interval.map(|it| Interval { lower: cut(it.lower), upper: cut(it.upper) });
    Ok(Estimate { value: cut(found.value), interval, n })
}

/// Returns the stratified proportion of 0/1 values, with the MOVER interval over Wilson's of each
/// stratum. It is valid where a stratum has few samples without variance.
///
/// # Errors
/// No samples.
pub fn share(strata: &[Stratum]) -> Result<Estimate, Undefined> {
    let kinds = Kind::all(strata)?;
    let mut estimate = mover(&kinds, &kinds.iter().map(Kind::wilson).collect::<Vec<_>>());
    if let Some(interval) = &mut estimate.interval {
        (interval.lower, interval.upper) = (interval.lower.max(0.0), interval.upper.min(1.0));
    }
    Ok(estimate)
}

/// Combines the means of strata and their intervals.
fn mover(kinds: &[Kind<'_>], ends: &[Interval]) -> Estimate {
    let value: f64 = kinds.iter().map(|kind| kind.share * kind.sampled.mean).sum();
    let (mut below, mut above) = (0.0, 0.0);
    for (kind, Interval { lower, upper }) in kinds.iter().zip(ends) {
        below += (kind.share * (kind.sampled.mean - lower)).powi(2);
        above += (kind.share * (upper - kind.sampled.mean)).powi(2);
    }
    let interval = Some(Interval { lower: value - below.sqrt(), upper: value + above.sqrt() });
    Estimate { value, interval, n: looked_at(kinds) }
}

/// Returns the weighted proportion of hits, with Wilson's interval at the effective sample size.
///
/// # Errors
/// No samples.
pub fn hits(weighed: &[WeightedValue<bool>]) -> Result<Estimate, Undefined> {
    Undefined::check(weighed.len(), 1)?;
    let weights: Vec<f64> = weighed.iter().map(|one| one.weight).collect();
    let hit = |one: &WeightedValue<bool>| if one.found { one.weight } else { 0.0 };
    let value = weighed.iter().map(hit).sum::<f64>() / weights.iter().sum::<f64>();
    let interval = Some(wilson(value, worth(&weights)));
    Ok(Estimate { value, interval, n: weighed.len() as u64 })
}

/// Returns the weighted Pearson correlation, with Fisher's interval at the effective sample size.
///
/// # Errors
/// Fewer than two pairs, or a side that never varies.
pub fn pearson(weighed: &[WeightedValue<RatingPair>]) -> Result<Estimate, Undefined> {
    let pairs: Vec<RatingPair> = weighed.iter().map(|one| one.found).collect();
    let weights: Vec<f64> = weighed.iter().map(|one| one.weight).collect();
    let r = agreement::correlation(&pairs, &weights)?;
    let left = worth(&weights) - 3.0;
    let interval = (left > 0.0 && r.abs() < 1.0).then(|| {
        let half = Z_95 * (1.0 / left).sqrt();
        Interval { lower: (r.atanh() - half).tanh(), upper: (r.atanh() + half).tanh() }
    });
    Ok(Estimate { value: r, interval, n: weighed.len() as u64 })
}

/// Returns Kish's effective sample size: less than the sample size, unless all weights are equal.
fn worth(weights: &[f64]) -> f64 {
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    weights.iter().sum::<f64>().powi(2) / squares
}

/// A sampled stratum with its share of the population.
struct Kind<'a> {
    values: &'a [f64],
    share: f64,
    population: f64,
    /// Sample size.
    n: f64,
    sampled: SampleStats,
}

impl<'a> Kind<'a> {
    /// Returns the strata with at least one sample.
    fn all(strata: &'a [Stratum]) -> Result<Vec<Self>, Undefined> {
        let of = |stratum: &'a Stratum| {
            let sampled = SampleStats::of(&stratum.values)?;
            let n = float(stratum.values.len());
            let population = super::interval::float(stratum.population).max(n);
            Some(Self { values: &stratum.values, share: 0.0, population, n, sampled })
        };
        let mut kinds: Vec<Self> = strata.iter().filter_map(of).collect();
        Undefined::check(kinds.len(), 1)?;
        let all: f64 = kinds.iter().map(|kind| kind.population).sum();
        kinds.iter_mut().for_each(|kind| kind.share = kind.population / all);
        Ok(kinds)
    }

    /// Returns whether the whole stratum was sampled, which leaves no sampling error.
    fn is_whole(&self) -> bool {
        self.n >= self.population
    }

    /// Returns the interval of a mean of values within bounds.
    fn bounded(&self, bounds: &RangeInclusive<f64>) -> Result<Interval, Undefined> {
        let mean = self.sampled.mean;
        if self.is_whole() {
            return Ok(Interval { lower: mean, upper: mean });
        }
        let anything = Interval { lower: *bounds.start(), upper: *bounds.end() };
        let of_many = bounded::mean(self.values, bounds.clone())?.interval;
        let Interval { lower, upper } = of_many.unwrap_or(anything);
        let left = ((self.population - self.n) / (self.population - 1.0)).sqrt();
        Ok(Interval { lower: mean - left * (mean - lower), upper: mean + left * (upper - mean) })
    }

    fn wilson(&self) -> Interval {
        if self.is_whole() {
            return Interval { lower: self.sampled.mean, upper: self.sampled.mean };
        }
        let n = self.n * (self.population - 1.0) / (self.population - self.n);
        wilson(self.sampled.mean, n)
    }
}

fn looked_at(kinds: &[Kind<'_>]) -> u64 {
    kinds.iter().map(|kind| kind.sampled.n as u64).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    use super::*;
    use crate::stats::near;

    const UNIT: RangeInclusive<f64> = 0.0..=1.0;
    const POPULATION: [u64; 6] = [20, 10, 20, 150, 120, 680];

    /// Six strata with sample sizes and correct counts.
    fn strata(sampled: [usize; 6], correct: [usize; 6]) -> Vec<Stratum> {
        let of = |at: usize| Stratum {
            population: POPULATION[at],
            values: (0..sampled[at]).map(|n| f64::from(u8::from(n < correct[at]))).collect(),
        };
        (0..6).map(of).collect()
    }

    const SAMPLED: [usize; 6] = [20, 10, 20, 150, 40, 10];
    const CORRECT: [usize; 6] = [3, 2, 16, 150, 8, 9];

    /// Reference values for six strata, computed with samplics.
    #[test]
    fn kinds_count_by_how_many_there_are() {
        let strata = strata(SAMPLED, CORRECT);
        let estimate = mean(&strata, UNIT).unwrap();
        near(estimate.value, 0.807);
        assert_eq!(estimate.n, 250);
        let weights: Vec<f64> = weighed().iter().map(|(weight, ..)| *weight).collect();
        near(worth(&weights), 21.367_521_367_521_366);
    }

    #[track_caller]
    fn check(sampled: [usize; 6], correct: [usize; 6], value: f64, lower: f64, upper: f64) {
        let estimate = share(&strata(sampled, correct)).unwrap();
        near(estimate.value, value);
        near(estimate.interval.unwrap().lower, lower);
        near(estimate.interval.unwrap().upper, upper);
    }

    /// Reference values of MOVER over Wilson.
    #[test]
    fn shares_have_mover_intervals() {
        check(SAMPLED, CORRECT, 0.807, 0.601_508_299_852_981, 0.864_511_010_258_734_7);
        let all_right = [3, 2, 16, 150, 8, 10];
        check(SAMPLED, all_right, 0.875, 0.687_832_898_311_338_9, 0.889_203_978_067_964_4);
        let even = [20, 10, 20, 150, 25, 25];
        let found = [3, 2, 16, 150, 5, 24];
        check(even, found, 0.8478, 0.744_043_054_443_899_1, 0.877_906_982_616_196_3);
        let (best, found) = ([20, 10, 20, 150, 12, 38], [3, 2, 16, 150, 2, 36]);
        let value = 0.835_210_526_315_789_4;
        check(best, found, value, 0.755_311_837_149_578_3, 0.876_217_676_392_581_3);
    }

    /// Each sampled run: its weight, whether it was right, whether the judge agreed.
    fn weighed() -> Vec<(f64, bool, bool)> {
        let weights = [1.0, 1.0, 1.0, 1.0, 3.0, 68.0];
        let judged_good = [false, true, false, true, false, true];
        let of = |at: usize| {
            (0..SAMPLED[at]).map(move |n| (weights[at], n < CORRECT[at], judged_good[at]))
        };
        (0..6).flat_map(of).collect()
    }

    /// Reference values of a weighted judge: far from the unweighted ones.
    #[test]
    fn a_judge_is_held_against_all_runs_and_not_those_looked_at() {
        let all = weighed();
        let hit = |one: &(f64, bool, bool)| WeightedValue { weight: one.0, found: one.1 == one.2 };
        near(hits(&all.iter().map(hit).collect::<Vec<_>>()).unwrap().value, 0.881);
        let of = |right: bool| -> f64 {
            let those: Vec<_> = all.iter().filter(|one| one.1 == right).map(hit).collect();
            hits(&those).unwrap().value
        };
        near(of(true), 0.946_716_232_961_586_1);
        near(of(false), 0.606_217_616_580_310_9);
        assert_eq!(hits(&[]), Err(Undefined::Empty));
    }

    #[test]
    fn weights_that_are_all_the_same_change_nothing() {
        let pairs = [(0.42, 0.41), (0.47, 0.63), (0.76, 0.8), (0.22, 0.3), (0.93, 0.85)];
        let rated = pairs.map(|(human, judge)| RatingPair { human, judge });
        let plain = agreement::pearson(&rated).unwrap();
        let same = pearson(&rated.map(|found| WeightedValue { weight: 7.0, found })).unwrap();
        near(same.value, plain.value);
        near(same.interval.unwrap().lower, plain.interval.unwrap().lower);
        let mut tilted = rated.map(|found| WeightedValue { weight: 1.0, found });
        tilted[1].weight = 50.0;
        assert_eq!(pearson(&tilted).unwrap().interval, None, "it is worth one session and a bit");
    }

    #[test]
    fn samples_without_variance_have_an_interval() {
        let kind = |population, values: &[f64]| Stratum { population, values: values.to_vec() };
        let interval = |strata: &[Stratum]| mean(strata, UNIT).unwrap().interval;
        assert_eq!(mean(&[kind(10, &[])], UNIT), Err(Undefined::Empty));
        assert_eq!(interval(&[kind(10, &[0.5])]), None, "one label says nothing");
        let two = interval(&[kind(10, &[0.5, 0.5]), kind(4, &[0.1, 0.2])]).unwrap();
        assert!(two.lower < 0.2 && two.upper > 0.6, "{two:?}");
        let same = interval(&[kind(1_000, &[1.0; 20])]).unwrap();
        let plain = bounded::mean(&[1.0; 20], UNIT).unwrap().interval.unwrap();
        assert!(same.upper == 1.0 && (same.lower - plain.lower).abs() < 0.01, "{same:?}");
        let single = interval(&[kind(90, &[0.5; 9]), kind(10, &[1.0])]).unwrap();
        assert!(single.lower <= 0.55 - 0.1, "a stratum with one label may have any mean");
        let whole = interval(&[kind(2, &[0.1, 0.3])]).unwrap();
        near(whole.lower, 0.2);
        near(whole.upper, 0.2);
    }

    /// Populations of two strata: errors of a judge that is mostly right, and one that is not.
    const ERRORS: [[&[f64]; 2]; 3] = [
        [&[0.0, 0.0, 0.0, 0.1, 0.1, 0.2, 0.5, 1.0], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.6]],
        [&[0.0, 1.0], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]],
        [&[0.1, 0.15, 0.2], &[0.0, 0.3, 0.35, 0.4]],
    ];

    /// Weighted intervals contain the true mean as often as promised, for few labels.
    #[test]
    fn weighted_means_cover() {
        let mut random = ChaCha8Rng::seed_from_u64(15);
        let mut draw = |from: &[f64]| {
            let at = random.next_u32() as usize % from.len();
            from[at]
        };
        for errors in ERRORS {
            let mean_of = |values: &[f64]| values.iter().sum::<f64>() / float(values.len());
            let truth = 0.2 * mean_of(errors[0]) + 0.8 * mean_of(errors[1]);
            for n in [5, 8, 12, 20] {
                let mut held = 0_usize;
                for _ in 0..1_500 {
                    let strata = [(200, n / 2), (800, n - n / 2)].into_iter().zip(errors);
                    let strata = strata.map(|((population, n), from)| Stratum {
                        population,
                        values: (0..n).map(|_| draw(from)).collect(),
                    });
                    let strata: Vec<Stratum> = strata.collect();
                    let interval = mean(&strata, UNIT).unwrap().interval.unwrap();
                    held += usize::from((interval.lower..=interval.upper).contains(&truth));
                }
                let share = float(held) / 1_500.0;
                assert!(share >= 0.92, "{share} of {errors:?} at n = {n}");
            }
        }
    }

    proptest! {
        #[test]
        fn estimates_lie_in_their_intervals(
            kinds in prop::collection::vec(
                (1..200_u64, prop::collection::vec(0..2_u8, 0..12)), 1..6,
            ),
        ) {
            let strata: Vec<Stratum> = kinds
                .into_iter()
                .map(|(population, values)| Stratum {
                    population,
                    values: values.into_iter().map(f64::from).collect(),
                })
                .collect();
            for estimate in [mean(&strata, UNIT), share(&strata)].into_iter().flatten() {
                prop_assert!((0.0..=1.0 + 1e-9).contains(&estimate.value));
                if let Some(Interval { lower, upper }) = estimate.interval {
                    prop_assert!(lower <= estimate.value + 1e-9);
                    prop_assert!(estimate.value <= upper + 1e-9);
                }
            }
        }
    }
}
