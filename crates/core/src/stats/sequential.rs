//! An anytime-valid test of a mean: it may be looked at after every value, and stopped at any time.
//!
//! The evidence is an e-process: the wealth of a gambler who bets against the hypothesis with fair
//! odds, averaged over all stakes from 0 to 1 alike. If the hypothesis is true, the chance that the
//! wealth ever reaches `1 / alpha` is at most `alpha` (Ville's inequality), whatever the
//! distribution of the values. For values of -1 and 1 it is the beta-binomial e-process of discordant
//! pairs.

use super::float;

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
