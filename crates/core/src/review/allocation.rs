use std::collections::BTreeMap;

use super::category::Category;
use super::guide;
use crate::stats::interval::{Z_95, float};

/// The default number of traces that people review in a week.
pub const CAPACITY: usize = 50;
/// The default half-width of the interval of agent accuracy that a sample is planned for.
pub const HALF_WIDTH: f64 = 0.1;
/// The default share of tier 2 for traces that the judge flagged.
pub const FLAGGED_SHARE: f64 = 0.8;
/// Fewer reviews of a category say nothing about its spread.
const FLOOR: u64 = 2;
/// Planned shares of correct answers stay away from 0 and 1: no category is certain.
const CERTAIN: f64 = 0.02;

/// Categories with feedback in the order they are filled up: disagreements of user and judge come
/// first.
const TIER_1: [Category; 6] =
    [Category::W2, Category::W3, Category::U1, Category::W1, Category::W4, Category::U2];
/// Traffic without feedback that no judge flagged: most of it, so it decides the precision.
const QUIET: [Category; 2] = [Category::W6, Category::U3];

/// Number of traces by category.
pub type Counts = BTreeMap<Category, u64>;

/// Settings of a week's sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplePlan {
    /// Traces to review.
    pub capacity: usize,
    /// The wanted half-width of the interval, which reserves places for quiet traffic; `None`
    /// reserves none.
    pub half_width: Option<f64>,
    /// Share of tier 2 for traces that the judge flagged.
    pub flagged_share: f64,
    /// Share of the capacity for spot checks, which have no inclusion probability.
    pub spot_share: f64,
}

impl Default for SamplePlan {
    fn default() -> Self {
        Self {
            capacity: CAPACITY,
            half_width: Some(HALF_WIDTH),
            flagged_share: FLAGGED_SHARE,
            spot_share: 0.0,
        }
    }
}

impl SamplePlan {
    /// Returns the number of spot checks.
    pub fn spot_checks(&self) -> usize {
        let spots = round(self.spot_share.clamp(0.0, 1.0) * float(self.capacity as u64));
        usize::try_from(spots).unwrap_or(0).min(self.capacity)
    }

    /// Returns how many traces of each category are drawn.
    ///
    /// In this order: two (or all) of every category; quiet traffic for the wanted half-width;
    /// feedback in full where it fits, disagreements first; the rest to flagged and quiet traffic
    /// by the split.
    pub fn allocate(&self, populations: &Counts) -> Counts {
        let capacity = (self.capacity - self.spot_checks()) as u64;
        let mut places = Places { populations, taken: Counts::new(), left: capacity };
        places.give_floors();
        let floor = self.half_width.map_or(0, |wanted| quiet_floor(populations, wanted));
        places.give_quiet(floor);
        for category in TIER_1 {
            places.give(category, u64::MAX);
        }
        self.split(&mut places);
        places.taken.retain(|_, taken| *taken > 0);
        places.taken
    }

    /// Splits what is left, counting the floors as part of tier 2.
    fn split(&self, places: &mut Places<'_>) {
        let quiet: u64 = QUIET.iter().map(|category| places.taken_of(*category)).sum();
        let flagged = places.taken_of(Category::W5);
        let tier_2 = places.left + quiet + flagged;
        let wanted = round(self.flagged_share.clamp(0.0, 1.0) * float(tier_2));
        places.give(Category::W5, wanted.saturating_sub(flagged));
        places.give_quiet(u64::MAX);
        places.give(Category::W5, u64::MAX);
    }
}

/// Places of a sample while they are given away.
struct Places<'a> {
    populations: &'a Counts,
    taken: Counts,
    left: u64,
}

impl Places<'_> {
    fn population(&self, category: Category) -> u64 {
        self.populations.get(&category).copied().unwrap_or(0)
    }

    fn taken_of(&self, category: Category) -> u64 {
        self.taken.get(&category).copied().unwrap_or(0)
    }

    /// Gives at most so many more places to a category.
    fn give(&mut self, category: Category, more: u64) {
        let open = self.population(category) - self.taken_of(category);
        let given = more.min(open).min(self.left);
        *self.taken.entry(category).or_default() += given;
        self.left -= given;
    }

    /// One place for every category, then the next: a small capacity reaches as many as it can.
    fn give_floors(&mut self) {
        for _ in 0..FLOOR {
            for category in TIER_1.into_iter().chain([Category::W5]).chain(QUIET) {
                self.give(category, 1);
            }
        }
    }

    /// Brings quiet traffic to a total, each category by its share of it.
    fn give_quiet(&mut self, total: u64) {
        let [judged, unjudged] = QUIET;
        let all = self.population(judged) + self.population(unjudged);
        let taken = self.taken_of(judged) + self.taken_of(unjudged);
        let total = total.min(all).min(taken + self.left);
        if total <= taken {
            return;
        }
        let part = float(self.population(judged)) / float(all);
        let want = round(part * float(total));
        self.give(judged, (total - taken).min(want.saturating_sub(self.taken_of(judged))));
        let given = self.taken_of(judged) + self.taken_of(unjudged);
        self.give(unjudged, total - given);
        let given = self.taken_of(judged) + self.taken_of(unjudged);
        self.give(judged, total - given);
    }
}

/// A stratum as it is planned: its share of correct answers is assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedStratum {
    pub population: u64,
    pub taken: u64,
    /// Assumed share of correct answers.
    pub accuracy: f64,
}

impl PlannedStratum {
    /// Returns the variance that the stratum adds to the mean of a population of `all`; `None`
    /// without samples.
    fn variance(&self, all: u64) -> Option<f64> {
        let (population, taken) = (float(self.population), float(self.taken));
        if self.population <= self.taken {
            return Some(0.0);
        }
        if self.taken == 0 {
            return None;
        }
        let spread = self.accuracy * (1.0 - self.accuracy) * population / (population - 1.0);
        let share = population / float(all);
        Some(share * share * (1.0 - taken / population) * spread / taken)
    }
}

/// Returns the half-width of the 95% interval that a plan is expected to give; `None` if a stratum
/// gets no sample.
pub fn half_width(strata: &[PlannedStratum]) -> Option<f64> {
    let all = strata.iter().map(|stratum| stratum.population).sum();
    let variances: Option<Vec<f64>> = strata.iter().map(|stratum| stratum.variance(all)).collect();
    Some(Z_95 * variances?.iter().sum::<f64>().sqrt())
}

/// Returns the half-width that an allocation is expected to give for agent accuracy.
pub fn planned_half_width(
    populations: &Counts,
    taken: &Counts,
    accuracy: impl Fn(Category) -> f64,
) -> Option<f64> {
    let planned = |(category, population): (&Category, &u64)| PlannedStratum {
        population: *population,
        taken: taken.get(category).copied().unwrap_or(0),
        accuracy: accuracy(*category).clamp(CERTAIN, 1.0 - CERTAIN),
    };
    let strata: Vec<_> = populations.iter().filter(|(_, n)| **n > 0).map(planned).collect();
    half_width(&strata)
}

/// Returns the number of samples of a stratum with which the whole, whose other strata are fixed,
/// reaches a half-width. It is the population where nothing less does.
pub fn needed(of: PlannedStratum, others: &[PlannedStratum], wanted: f64) -> u64 {
    let reaches = |taken: u64| {
        let strata: Vec<_> =
            others.iter().copied().chain([PlannedStratum { taken, ..of }]).collect();
        half_width(&strata).is_some_and(|half| half <= wanted)
    };
    let (mut low, mut high) = (0, of.population);
    while low < high {
        let middle = low.midpoint(high);
        if reaches(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Returns how many quiet traces keep their own part of the half-width within the wanted one.
fn quiet_floor(populations: &Counts, wanted: f64) -> u64 {
    let of = |category: &Category| populations.get(category).copied().unwrap_or(0);
    let population: u64 = QUIET.iter().map(of).sum();
    if population == 0 {
        return 0;
    }
    let correct: f64 =
        QUIET.iter().map(|category| float(of(category)) * guide::expected(*category)).sum();
    let quiet = PlannedStratum { population, taken: 0, accuracy: correct / float(population) };
    let others = populations.values().sum::<u64>() - population;
    // Reviewed in full, they add no error: only their size counts here.
    let rest = PlannedStratum { population: others, taken: others, accuracy: 0.5 };
    needed(quiet, &[rest], wanted)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and far below 2^52"
)]
pub(super) fn round(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

#[cfg(test)]
mod tests;
