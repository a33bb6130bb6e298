//! Permutation tests for several measures at once: how often chance alone would give a difference
//! as large as the one found, in any of the measures (the step-down maxT method of Westfall and
//! Young: each difference is held against those that are not larger than itself).
//!
//! The p-values hold for any distribution of the values, for small samples, and for all measures
//! together: an alarm at `p <= 0.01` is false in one of a hundred cases, not in one of a hundred for
//! each measure.

use std::collections::BTreeMap;

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
/// variances alone is rarely taken for one of means; over several strata it is that of the weighted
/// mean of their differences, so that their levels do not count as noise.
pub fn contrasts(
    subjects: &[Row],
    strata: &[Vec<usize>],
    contrasts: &[Contrast],
    seed: u64,
) -> Vec<Vec<f64>> {
    let measures = subjects.iter().map(Vec::len).max().unwrap_or_default();
    let values = Values::new(subjects, measures);
    let mut places: Vec<usize> = (0..subjects.len()).collect();
    let parts: Vec<Vec<Contrast>> =
        contrasts.iter().map(|contrast| contrast.by_stratum(strata)).collect();
    let statistics = |places: &[usize]| -> Vec<f64> {
        parts.iter().flat_map(|parts| values.statistics(parts, places)).collect()
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

impl Contrast {
    /// Splits the groups by stratum. Subjects in no stratum are one of their own.
    fn by_stratum(&self, strata: &[Vec<usize>]) -> Vec<Self> {
        let mut stratum_of: BTreeMap<usize, usize> = BTreeMap::new();
        for (stratum, members) in strata.iter().enumerate() {
            stratum_of.extend(members.iter().map(|index| (*index, stratum)));
        }
        let mut parts: BTreeMap<Option<usize>, Self> = BTreeMap::new();
        for index in &self.earlier {
            parts.entry(stratum_of.get(index).copied()).or_default().earlier.push(*index);
        }
        for index in &self.later {
            parts.entry(stratum_of.get(index).copied()).or_default().later.push(*index);
        }
        parts.into_values().collect()
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

    /// The statistic of a contrast without its sign, by measure; 0 where no stratum has two values
    /// in each group.
    fn statistics(&self, parts: &[Contrast], places: &[usize]) -> Vec<f64> {
        let mut sums = vec![Weighted::default(); self.measures];
        for part in parts {
            let earlier = self.moments(&part.earlier, places);
            let later = self.moments(&part.later, places);
            for (sum, (one, other)) in sums.iter_mut().zip(earlier.iter().zip(&later)) {
                sum.add(one, other);
            }
        }
        sums.iter().map(Weighted::statistic).collect()
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
}

/// The sum of differences of strata, each by the number of pairs that it is worth, and its variance.
#[derive(Clone, Copy, Debug, Default)]
struct Weighted {
    difference: f64,
    variance: f64,
    weight: f64,
}

impl Weighted {
    fn add(&mut self, one: &Moments, other: &Moments) {
        let (Some((mean, error)), Some((other_mean, other_error))) = (one.mean(), other.mean())
        else {
            return;
        };
        let weight = float(one.n) * float(other.n) / float(one.n + other.n);
        self.difference += weight * (mean - other_mean);
        self.variance += weight * weight * (error + other_error);
        self.weight += weight;
    }

    fn statistic(&self) -> f64 {
        let weight = self.weight.max(f64::MIN_POSITIVE);
        let (distance, error) = (self.difference.abs() / weight, self.variance.sqrt() / weight);
        match distance > SAME {
            // Two groups of equal values each: as clear as can be.
            true => distance / error.max(SAME),
            false => 0.0,
        }
    }
}

/// Counts rearrangements in which the greatest statistic, of those that were not greater than the one
/// found, reaches it.
struct Tally<'a> {
    found: &'a [f64],
    /// Indexes of the statistics, smallest first.
    order: Vec<usize>,
    reached: Vec<usize>,
    count: usize,
}

impl<'a> Tally<'a> {
    fn new(found: &'a [f64]) -> Self {
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by(|one, other| found[*one].total_cmp(&found[*other]));
        Self { found, order, reached: vec![0; found.len()], count: 0 }
    }

    fn count(&mut self, statistics: &[f64]) {
        self.count += 1;
        let mut greatest = 0.0_f64;
        for index in &self.order {
            greatest = greatest.max(statistics[*index]);
            self.reached[*index] += usize::from(greatest >= self.found[*index] * (1.0 - SAME));
        }
    }

    fn is_enough(&self) -> bool {
        self.reached.iter().all(|reached| *reached >= ENOUGH)
    }

    /// No p-value is less than that of a clearer difference.
    fn p_values(&self) -> Vec<f64> {
        let mut p_values = vec![0.0; self.found.len()];
        let mut greatest = 0.0_f64;
        for index in self.order.iter().rev() {
            greatest = greatest.max(float(self.reached[*index]) / float(self.count.max(1)));
            p_values[*index] = greatest;
        }
        p_values
    }
}

#[cfg(test)]
mod tests;
