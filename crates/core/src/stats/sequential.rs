//! An anytime-valid test of a mean: it may be looked at after every value, and stopped at any time.
//!
//! The evidence is an e-process: the wealth of a gambler who bets against the hypothesis with fair
//! odds, averaged over all stakes from 0 to 1 alike. If the hypothesis is true, the chance that the
//! wealth ever reaches `1 / alpha` is at most `alpha` (Ville's inequality), whatever the
//! distribution of the values. For values of -1 and 1 it is the beta-binomial e-process of discordant
//! pairs.

use super::float;
use super::interval::Interval;

/// Stakes; the rule is exact for polynomials of twice that degree, and any rule gives a valid test.
const STAKES: usize = 48;
/// Wealth from which on nothing more is counted: it has decided, and must not overflow.
const ENOUGH: f64 = 1e12;

/// A test of the hypothesis that values from -1 to 1 have a mean of 0 or less.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    stakes: Vec<Stake>,
    n: usize,
    highest: f64,
}

#[derive(Clone, Debug)]
struct Stake {
    share: f64,
    /// Part of the wealth that is bet on each value.
    part: f64,
    wealth: f64,
}

impl Default for SequentialTest {
    fn default() -> Self {
        Self::new()
    }
}

impl SequentialTest {
    /// A test without any values yet.
    pub fn new() -> Self {
        let stake = |(node, weight): (f64, f64)| Stake {
            share: weight / 2.0,
            part: f64::midpoint(node, 1.0),
            wealth: 1.0,
        };
        Self { stakes: legendre(STAKES).into_iter().map(stake).collect(), n: 0, highest: 1.0 }
    }

    /// Adds a value; what is outside -1 to 1 counts as the end of the range.
    pub fn add(&mut self, value: f64) {
        if self.highest >= ENOUGH || !value.is_finite() {
            return;
        }
        let value = value.clamp(-1.0, 1.0);
        for stake in &mut self.stakes {
            stake.wealth *= 1.0 + stake.part * value;
        }
        self.n += 1;
        self.highest = self.highest.max(self.evidence());
    }

    /// Returns the evidence against the hypothesis now; 1 is none.
    pub fn evidence(&self) -> f64 {
        self.stakes.iter().map(|stake| stake.share * stake.wealth).sum()
    }

    /// Returns the highest evidence so far.
    pub const fn highest(&self) -> f64 {
        self.highest
    }

    /// Returns the number of values that were counted.
    pub const fn count(&self) -> usize {
        self.n
    }

    /// Returns whether the hypothesis is rejected, with this error rate shared by several tests.
    pub fn is_rejected(&self, alpha: f64, tests: usize) -> bool {
        self.highest >= float(tests.max(1)) / alpha
    }
}

/// Halvings of the range in the search for a bound: it is known to a hundredth of a point.
const HALVINGS: usize = 14;

/// Returns an interval of the mean of values from -1 to 1 that is valid at any time: the chance that
/// it ever misses the mean is at most `alpha`, however often one looks.
///
/// It holds the means that [`SequentialTest`] does not reject, from below or from above.
pub fn anytime_interval(values: &[f64], alpha: f64) -> Interval {
    let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
    Interval {
        lower: highest_rejected(values, alpha / 2.0),
        upper: -highest_rejected(&mirrored, alpha / 2.0),
    }
}

/// The highest mean that the values are significantly above of; -1 if there is none.
fn highest_rejected(values: &[f64], alpha: f64) -> f64 {
    let (mut rejected, mut open) = (-1.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(rejected, open);
        if is_above(values, middle, alpha) {
            rejected = middle;
        } else {
            open = middle;
        }
    }
    rejected
}

fn is_above(values: &[f64], mean: f64, alpha: f64) -> bool {
    let mut test = SequentialTest::new();
    values.iter().any(|value| {
        // Distances from the mean, scaled so that none is beyond -1 or 1.
        test.add((value.clamp(-1.0, 1.0) - mean) / (1.0 + mean.abs()));
        test.is_rejected(alpha, 1)
    })
}

/// Nodes and weights of the Gauss–Legendre rule on -1 to 1.
fn legendre(n: usize) -> Vec<(f64, f64)> {
    let node = |index: usize| {
        let mut x = (std::f64::consts::PI * (float(index) + 0.75) / (float(n) + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..60 {
            let (mut last, mut this) = (0.0, 1.0);
            for degree in 1..=n {
                let k = float(degree);
                (last, this) = (this, ((2.0 * k - 1.0) * x * this - (k - 1.0) * last) / k);
            }
            slope = float(n) * (x * this - last) / (x * x - 1.0);
            let step = this / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..n).map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::near;

    /// Discordant pairs for and against, and the evidence of the one-sided uniform mixture.
    const VECTORS: [(usize, usize, f64); 9] = [
        (0, 0, 1.0),
        (1, 0, 1.5),
        (3, 0, 3.75),
        (6, 0, 18.142_857_142_857_13),
        (7, 0, 31.875),
        (8, 2, 4.002_020_202_020_203),
        (12, 5, 2.240_249_946_132_301),
        (20, 9, 3.497_344_690_957_885),
        (2, 8, 0.135_353_535_353_535_3),
    ];

    #[test]
    fn the_evidence_of_discordant_pairs_is_that_of_the_beta_binomial_process() {
        for (worse, better, want) in VECTORS {
            let mut test = SequentialTest::new();
            (0..worse).for_each(|_| test.add(1.0));
            (0..better).for_each(|_| test.add(-1.0));
            near(test.evidence(), want);
        }
    }

    /// Values of -1 and 1, the latter with a probability that is a count of 64ths.
    fn coins(seed: u64, n: usize, of_64: u64) -> Vec<f64> {
        let mut state = seed;
        let mut coin = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if (state >> 58) < of_64 { 1.0 } else { -1.0 }
        };
        (0..n).map(|_| coin()).collect()
    }

    #[test]
    fn the_interval_seldom_misses_the_mean_at_any_look() {
        let missed = (0..200_u64).filter(|seed| {
            let values = coins(seed * 7_919 + 3, 200, 48);
            // 48 of 64 are 1. The test remembers its highest evidence, so that a miss is final.
            let interval = anytime_interval(&values, 0.05);
            !(interval.lower..=interval.upper).contains(&0.5)
        });
        let missed = missed.count();
        assert!(missed <= 10, "{missed} of 200");
    }

    #[test]
    fn the_interval_shrinks_and_excludes_zero_when_the_test_rejects() {
        assert_eq!(anytime_interval(&[], 0.05), Interval { lower: -1.0, upper: 1.0 });
        let widths = [20, 100, 500].map(|n| {
            let interval = anytime_interval(&coins(1, n, 48), 0.05);
            interval.upper - interval.lower
        });
        assert!(widths.is_sorted_by(|one, next| one > next) && widths[2] < 0.4, "{widths:?}");
        for n in (0..60).step_by(4) {
            let values = coins(2, n, 48);
            let mut test = SequentialTest::new();
            values.iter().for_each(|value| test.add(*value));
            let is_above = anytime_interval(&values, 0.05).lower >= 0.0;
            assert_eq!(is_above, test.is_rejected(0.025, 1), "{n}");
        }
    }

    #[test]
    fn long_runs_neither_overflow_nor_forget_a_rejection() {
        let mut test = SequentialTest::new();
        (0..100_000).for_each(|_| test.add(1.0));
        (0..100_000).for_each(|_| test.add(-1.0));
        assert!(test.highest().is_finite() && test.is_rejected(0.05, 5));
        let mut none = SequentialTest::new();
        (0..100_000).for_each(|_| none.add(f64::NAN));
        assert_eq!((none.count(), none.is_rejected(0.05, 1)), (0, false));
    }
}
