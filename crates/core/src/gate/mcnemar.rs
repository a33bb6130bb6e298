use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::outcomes::Pairing;

/// Exact McNemar test of items that were run once in each of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct McNemar {
    /// Items that were right before and are wrong now.
    pub b: u64,
    /// Items that were wrong before and are right now.
    pub c: u64,
    /// Probability of at least `b` such items of `b + c` if nothing changed.
    pub p_one_sided: f64,
    pub p_two_sided: f64,
}

impl McNemar {
    /// Tests counts of discordant pairs.
    pub fn of(b: u64, c: u64) -> Self {
        let (one, other) = (at_least(b, b + c), at_least(c, b + c));
        Self { b, c, p_one_sided: one, p_two_sided: (2.0 * one.min(other)).min(1.0) }
    }

    /// Tests two runs of one trial each with scores 0 and 1; `None` for other runs.
    pub fn of_pairing(pairing: &Pairing<'_>) -> Option<Self> {
        let mut counts = (0, 0);
        for pair in &pairing.pairs {
            let single = |trials: &[super::outcomes::Trial]| match trials {
                [trial] if is_binary(trial.value) => Some(trial.value > 0.5),
                _ => None,
            };
            match (single(&pair.before.trials)?, single(&pair.after.trials)?) {
                (true, false) => counts.0 += 1,
                (false, true) => counts.1 += 1,
                (true, true) | (false, false) => {}
            }
        }
        (!pairing.pairs.is_empty()).then(|| Self::of(counts.0, counts.1))
    }
}

fn is_binary(value: f64) -> bool {
    value.abs() < f64::EPSILON || (value - 1.0).abs() < f64::EPSILON
}

fn at_least(count: u64, of: u64) -> f64 {
    if count == 0 {
        return 1.0;
    }
    Binomial::new(0.5, of).map_or(1.0, |coin| coin.sf(count - 1))
}
