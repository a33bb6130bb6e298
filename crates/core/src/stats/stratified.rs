use super::agreement::RatingPair;
use super::difference::SampleStats;
use super::interval::{Estimate, Interval, Z_95, student_95, wilson};
use super::undefined::Undefined;
use super::{agreement, float};

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

/// Returns the stratified mean: the mean of each stratum, weighted by its population.
///
/// The interval is Student's with Satterthwaite's degrees of freedom and the finite population
/// correction. There is none where a stratum has one sample, or a few without variance: then the
/// sample shows no error, which is not the same as having none.
///
/// # Errors
/// No samples.
pub fn mean(strata: &[Stratum]) -> Result<Estimate, Undefined> {
    let kinds = Kind::all(strata)?;
    let value = kinds.iter().map(|kind| kind.share * kind.sampled.mean).sum();
    let interval = error(&kinds).map(|(error, freedom)| {
        let half = if error > 0.0 { student_95(freedom) * error } else { 0.0 };
        Interval { lower: value - half, upper: value + half }
    });
    Ok(Estimate { value, interval, n: looked_at(&kinds) })
}

/// Returns the stratified proportion of 0/1 values, with the MOVER interval over Wilson's of each
/// stratum. It is valid where a stratum has few samples without variance.
///
/// # Errors
/// No samples.
pub fn share(strata: &[Stratum]) -> Result<Estimate, Undefined> {
    let kinds = Kind::all(strata)?;
    let value: f64 = kinds.iter().map(|kind| kind.share * kind.sampled.mean).sum();
    let (mut below, mut above) = (0.0, 0.0);
    for kind in &kinds {
        let Interval { lower, upper } = kind.wilson();
        below += (kind.share * (kind.sampled.mean - lower)).powi(2);
        above += (kind.share * (upper - kind.sampled.mean)).powi(2);
    }
    let (lower, upper) = ((value - below.sqrt()).max(0.0), (value + above.sqrt()).min(1.0));
    Ok(Estimate { value, interval: Some(Interval { lower, upper }), n: looked_at(&kinds) })
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
struct Kind {
    share: f64,
    population: f64,
    /// Sample size.
    n: f64,
    sampled: SampleStats,
}

impl Kind {
    /// Returns the strata with at least one sample.
    fn all(strata: &[Stratum]) -> Result<Vec<Self>, Undefined> {
        let of = |stratum: &Stratum| {
            let sampled = SampleStats::of(&stratum.values)?;
            let n = float(stratum.values.len());
            let population = super::interval::float(stratum.population).max(n);
            Some(Self { share: 0.0, population, n, sampled })
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

    fn wilson(&self) -> Interval {
        if self.is_whole() {
            return Interval { lower: self.sampled.mean, upper: self.sampled.mean };
        }
        let n = self.n * (self.population - 1.0) / (self.population - self.n);
        wilson(self.sampled.mean, n)
    }
}

/// Returns the standard error of the stratified mean and its degrees of freedom; `None` where the
/// sample does not show it.
fn error(kinds: &[Kind]) -> Option<(f64, f64)> {
    let (mut variance, mut rest) = (0.0, 0.0);
    for kind in kinds.iter().filter(|kind| !kind.is_whole()) {
        let deviation = kind.sampled.deviation.filter(|deviation| *deviation > 0.0)?;
        let left = 1.0 - kind.n / kind.population;
        let own = kind.share.powi(2) * left * deviation.powi(2) / kind.n;
        variance += own;
        rest += own * own / (kind.n - 1.0);
    }
    let freedom = if rest > 0.0 { variance * variance / rest } else { 1.0 };
    Some((variance.sqrt(), freedom))
}

fn looked_at(kinds: &[Kind]) -> u64 {
    kinds.iter().map(|kind| kind.sampled.n as u64).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::near;

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
        let estimate = mean(&strata).unwrap();
        near(estimate.value, 0.807);
        assert_eq!(estimate.n, 250);
        let (error, freedom) = error(&Kind::all(&strata).unwrap()).unwrap();
        near(error, 0.067_789_266_225_447_63);
        assert!((9.0..10.0).contains(&freedom), "ten of one kind tell most of it: {freedom}");
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
    fn what_shows_no_error_has_no_interval() {
        let kind = |population, values: &[f64]| Stratum { population, values: values.to_vec() };
        let interval = |strata: &[Stratum]| mean(strata).unwrap().interval;
        assert_eq!(mean(&[kind(10, &[])]), Err(Undefined::Empty));
        assert_eq!(interval(&[kind(10, &[0.5])]), None);
        assert_eq!(interval(&[kind(10, &[0.5, 0.5]), kind(4, &[0.1, 0.2])]), None);
        let whole = interval(&[kind(2, &[0.1, 0.3])]).unwrap();
        near(whole.lower, 0.2);
        near(whole.upper, 0.2);
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
            for estimate in [mean(&strata), share(&strata)].into_iter().flatten() {
                prop_assert!((0.0..=1.0 + 1e-9).contains(&estimate.value));
                if let Some(Interval { lower, upper }) = estimate.interval {
                    prop_assert!(lower <= estimate.value + 1e-9);
                    prop_assert!(estimate.value <= upper + 1e-9);
                }
            }
        }
    }
}
