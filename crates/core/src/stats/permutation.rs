//! Permutation tests for several measures at once: how often chance alone would give a difference
//! as large as the one found, in any of the measures (the maxT method of Westfall and Young).
//!
//! The p-values hold for any distribution of the values, for small samples, and for all measures
//! together: an alarm at `p <= 0.01` is false in one of a hundred cases, not in one of a hundred for
//! each measure.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::float;

/// The values of one subject, by measure; `None` where a measure is missing.
pub type Row = Vec<Option<f64>>;

/// The maximum number of random rearrangements: p-values down to 1 in 10,000.
const MAX_REARRANGEMENTS: usize = 9_999;
/// Rearrangements end early when each measure's statistic was reached that often: the p-values are
/// then known within about 10% (the stopping rule of Besag and Clifford).
const ENOUGH: usize = 100;
/// Up to this many subjects all sign changes are tried instead of random ones.
const MAX_EXACT: usize = 13;
/// Statistics are equal but for the last bits when the same values are summed in another order.
const SAME: f64 = 1e-9;

/// Tests whether paired differences are symmetric around zero. Returns a p-value by measure,
/// corrected for the number of measures.
///
/// Under the null hypothesis each subject's differences could as well have had the other sign.
pub fn paired(differences: &[Row], seed: u64) -> Vec<f64> {
    let measures = differences.iter().map(Vec::len).max().unwrap_or_default();
    let statistics = |is_flipped: &dyn Fn(usize) -> bool| -> Vec<f64> {
        let of = |measure: usize| {
            let (mut sum, mut squares) = (0.0, 0.0);
            for (subject, row) in differences.iter().enumerate() {
                let value = row.get(measure).copied().flatten().unwrap_or_default();
                sum += if is_flipped(subject) { -value } else { value };
                squares += value * value;
            }
            if squares > 0.0 { sum.abs() / squares.sqrt() } else { 0.0 }
        };
        (0..measures).map(of).collect()
    };
    let found = statistics(&|_| false);
    let mut tally = Tally::new(&found);
    if differences.len() <= MAX_EXACT {
        for flips in 0..1_u64 << differences.len() {
            tally.count(&statistics(&|subject| flips >> subject & 1 == 1));
        }
    } else {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        tally.count(&found);
        for _ in 0..MAX_REARRANGEMENTS {
            if tally.is_enough() {
                break;
            }
            let flips: Vec<bool> = differences.iter().map(|_| random.next_u32() & 1 == 1).collect();
            tally.count(&statistics(&|subject| flips.get(subject).copied().unwrap_or_default()));
        }
    }
    tally.p_values()
}

/// Tests whether two groups of subjects have the same distribution. Returns a p-value by measure,
/// corrected for the number of measures.
///
/// Under the null hypothesis each subject could as well have been in the other group. The statistic
/// is Welch's, so that a difference of variances alone is rarely taken for one of means.
pub fn two_groups(earlier: &[Row], later: &[Row], seed: u64) -> Vec<f64> {
    let mut subjects: Vec<&Row> = earlier.iter().chain(later).collect();
    let measures = subjects.iter().map(|row| row.len()).max().unwrap_or_default();
    let statistics = |subjects: &[&Row]| -> Vec<f64> {
        let (one, other) = subjects.split_at(earlier.len());
        (0..measures).map(|measure| welch(one, other, measure)).collect()
    };
    let found = statistics(&subjects);
    let mut tally = Tally::new(&found);
    tally.count(&found);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..MAX_REARRANGEMENTS {
        if tally.is_enough() {
            break;
        }
        shuffle(&mut subjects, earlier.len(), &mut random);
        tally.count(&statistics(&subjects));
    }
    tally.p_values()
}

/// Draws the first `count` elements at random, as far as the two groups are concerned.
fn shuffle<T>(list: &mut [T], count: usize, random: &mut ChaCha8Rng) {
    for at in 0..count.min(list.len()) {
        let rest = list.len() - at;
        #[expect(clippy::cast_possible_truncation, reason = "less than the length of the list")]
        let step = (random.next_u64() % rest as u64) as usize;
        list.swap(at, at + step);
    }
}

/// Welch's statistic without its sign; 0 where a group has fewer than two values.
fn welch(one: &[&Row], other: &[&Row], measure: usize) -> f64 {
    let moments = |rows: &[&Row]| {
        let (mut n, mut sum, mut squares) = (0_usize, 0.0, 0.0);
        for value in rows.iter().filter_map(|row| row.get(measure).copied().flatten()) {
            n += 1;
            sum += value;
            squares += value * value;
        }
        if n < 2 {
            return None;
        }
        let mean = sum / float(n);
        let variance = (squares - sum * mean).max(0.0) / (float(n) - 1.0);
        Some((mean, variance / float(n)))
    };
    let (Some((one, one_error)), Some((other, other_error))) = (moments(one), moments(other))
    else {
        return 0.0;
    };
    let distance = (one - other).abs();
    match distance > SAME {
        // Two groups of equal values each: as clear as can be.
        true => distance / (one_error + other_error).max(SAME * SAME).sqrt(),
        false => 0.0,
    }
}

/// Counts rearrangements whose greatest statistic reaches that of a measure.
struct Tally<'a> {
    found: &'a [f64],
    reached: Vec<usize>,
    count: usize,
}

impl<'a> Tally<'a> {
    fn new(found: &'a [f64]) -> Self {
        Self { found, reached: vec![0; found.len()], count: 0 }
    }

    fn count(&mut self, statistics: &[f64]) {
        let greatest = statistics.iter().copied().fold(0.0, f64::max);
        self.count += 1;
        for (reached, found) in self.reached.iter_mut().zip(self.found) {
            *reached += usize::from(greatest >= found * (1.0 - SAME));
        }
    }

    fn is_enough(&self) -> bool {
        self.reached.iter().all(|reached| *reached >= ENOUGH)
    }

    fn p_values(&self) -> Vec<f64> {
        self.reached.iter().map(|reached| float(*reached) / float(self.count.max(1))).collect()
    }
}

#[cfg(test)]
mod tests;
