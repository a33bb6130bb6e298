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
/// Rearrangements end early when each measure's statistic was reached that often: large p-values
/// need no more (the stopping rule of Besag and Clifford, whose p-values are exact).
const ENOUGH: usize = 20;
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

/// Two groups of subjects that are compared, by their indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contrast {
    pub earlier: Vec<usize>,
    pub later: Vec<usize>,
}

/// Tests several contrasts of the same subjects at once. Returns a p-value by contrast and measure,
/// corrected for the number of all of them.
///
/// Under the null hypothesis the subjects of a stratum could as well have changed places; each
/// subject is in at most one stratum, and those in none keep theirs. So differences between strata
/// are not taken for differences between groups. The statistic is Welch's, so that a difference of
/// variances alone is rarely taken for one of means.
pub fn contrasts(
    subjects: &[Row],
    strata: &[Vec<usize>],
    contrasts: &[Contrast],
    seed: u64,
) -> Vec<Vec<f64>> {
    let measures = subjects.iter().map(Vec::len).max().unwrap_or_default();
    let values = Values::new(subjects, measures);
    let mut places: Vec<usize> = (0..subjects.len()).collect();
    let statistics = |places: &[usize]| -> Vec<f64> {
        let of = |contrast: &Contrast| values.welch(contrast, places);
        contrasts.iter().flat_map(of).collect()
    };
    let found = statistics(&places);
    let mut tally = Tally::new(&found);
    tally.count(&found);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..MAX_REARRANGEMENTS {
        if tally.is_enough() {
            break;
        }
        strata.iter().for_each(|stratum| shuffle(&mut places, stratum, &mut random));
        tally.count(&statistics(&places));
    }
    let p_values = tally.p_values();
    match measures {
        0 => vec![Vec::new(); contrasts.len()],
        measures => p_values.chunks(measures).map(<[f64]>::to_vec).collect(),
    }
}

/// Puts the elements at some indexes of a list in a random order.
fn shuffle(list: &mut [usize], indexes: &[usize], random: &mut ChaCha8Rng) {
    for (at, index) in indexes.iter().enumerate() {
        let rest = indexes.len() - at;
        #[expect(clippy::cast_possible_truncation, reason = "less than the length of the list")]
        let step = (random.next_u64() % rest as u64) as usize;
        if let Some(other) = indexes.get(at + step) {
            list.swap(*index, *other);
        }
    }
}

/// The values of all subjects, by measure; NaN where one is missing.
struct Values {
    measures: usize,
    rows: Vec<Vec<f64>>,
}

impl Values {
    fn new(subjects: &[Row], measures: usize) -> Self {
        let of = |row: &Row| {
            let value = |measure: usize| row.get(measure).copied().flatten().unwrap_or(f64::NAN);
            (0..measures).map(value).collect()
        };
        Self { measures, rows: subjects.iter().map(of).collect() }
    }

    /// Welch's statistic without its sign, by measure; 0 where a group has fewer than two values.
    fn welch(&self, contrast: &Contrast, places: &[usize]) -> Vec<f64> {
        let earlier = self.moments(&contrast.earlier, places);
        let later = self.moments(&contrast.later, places);
        earlier.iter().zip(&later).map(|(one, other)| one.distance(other)).collect()
    }

    /// Called thousands of times: plain loops, which are quick in unoptimised builds too.
    fn moments(&self, group: &[usize], places: &[usize]) -> Vec<Moments> {
        let mut moments = vec![Moments::default(); self.measures];
        for index in group {
            let Some(row) = places.get(*index).and_then(|place| self.rows.get(*place)) else {
                continue;
            };
            for (moment, value) in moments.iter_mut().zip(row) {
                if !value.is_nan() {
                    moment.n += 1;
                    moment.sum += value;
                    moment.squares += value * value;
                }
            }
        }
        moments
    }
}

/// Count and sums of the values of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    n: usize,
    sum: f64,
    squares: f64,
}

impl Moments {
    /// The mean and its variance.
    fn mean(&self) -> Option<(f64, f64)> {
        if self.n < 2 {
            return None;
        }
        let mean = self.sum / float(self.n);
        let variance = (self.squares - self.sum * mean).max(0.0) / (float(self.n) - 1.0);
        Some((mean, variance / float(self.n)))
    }

    fn distance(&self, other: &Self) -> f64 {
        let (Some((one, one_error)), Some((other, other_error))) = (self.mean(), other.mean())
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
