use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::allocation::{Counts, ReviewPlan, planned_half_width};
use super::category::Category;
use super::guide;
use super::sampler::Sampler;
use crate::stats::interval::share;
use crate::stats::prediction_powered::Moments;

/// Combinations of category, environment and release that a draw counts apart. Beyond, figures cannot
/// be cut by them.
const MAX_CELLS: usize = 5_000;

/// A trace that can be drawn, with its signals.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceCandidate {
    pub trace: String,
    /// The latest thumb.
    pub thumb: Option<bool>,
    /// The judge's score.
    pub quality: Option<f64>,
    pub environment: String,
    pub release: Option<String>,
}

impl TraceCandidate {
    /// Returns its category in the signal matrix.
    pub fn category(&self) -> Category {
        Category::of(self.thumb, self.quality)
    }
}

/// How an item came into the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// At random, with a known probability: it stands for others.
    Drawn,
    /// By a person or as a spot check: it stands for itself.
    Chosen,
}

impl Selection {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Drawn => "drawn",
            Self::Chosen => "chosen",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Drawn, Self::Chosen].into_iter().find(|selection| selection.as_str() == name)
    }
}

/// A trace of a week's sample, with the facts of its draw. They are stored with it and never
/// computed again: signals change later.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnTrace {
    pub trace: String,
    pub selection: Selection,
    /// At draw time.
    pub category: Category,
    /// Traces of the category in the week.
    pub population: u64,
    /// Traces of the category that were drawn.
    pub taken: u64,
    /// The judge's score at draw time.
    pub quality: Option<f64>,
    pub environment: String,
    pub release: Option<String>,
    /// Why it is in the sample, in words.
    pub reason: String,
}

impl DrawnTrace {
    /// Returns the inclusion probability; `None` where the trace was not drawn at random.
    pub fn probability(&self) -> Option<f64> {
        let is_drawn = self.selection == Selection::Drawn;
        share(self.taken, self.population).filter(|_| is_drawn).map(|share| share.value)
    }
}

/// Traces of a week that have the same category, environment and release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawCell {
    pub category: Category,
    pub environment: String,
    pub release: Option<String>,
    pub population: u64,
    /// Sum of the judge's scores.
    pub quality_sum: f64,
    /// Sum of their squares.
    pub quality_squares: f64,
}

/// A week's sample with the population it was drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct WeekDraw {
    pub seed: String,
    pub cells: Vec<DrawCell>,
    /// Whether cells are by environment and release.
    pub is_cut: bool,
    /// In random order, spot checks last.
    pub traces: Vec<DrawnTrace>,
    /// The half-width that the sample is expected to give for agent accuracy; `None` if a category
    /// got no place.
    pub half_width: Option<f64>,
}

impl WeekDraw {
    /// Returns the population of each category.
    pub fn populations(&self) -> Counts {
        let mut populations = Counts::new();
        for cell in &self.cells {
            *populations.entry(cell.category).or_default() += cell.population;
        }
        populations
    }
}

type CellKey = (Category, String, Option<String>);

/// Classifies the traces of a week and draws from them, in one pass and bounded memory.
#[derive(Clone, Debug)]
pub struct WeekSampler<'a> {
    seed: &'a str,
    plan: ReviewPlan,
    sampler: Sampler<'a, Category, TraceCandidate>,
    spots: Sampler<'a, (), TraceCandidate>,
    cells: BTreeMap<CellKey, Moments>,
    /// Traces per cell: unlike the moments, it counts unjudged ones.
    counts: BTreeMap<CellKey, u64>,
    is_cut: bool,
}

impl<'a> WeekSampler<'a> {
    /// `spot_seed` orders spot checks; it must differ from the seed.
    pub fn new(plan: ReviewPlan, seed: &'a str, spot_seed: &'a str) -> Self {
        let spots = plan.spot_checks();
        // Those that are drawn anyway are no spot checks: enough others must be left.
        let spots = if spots == 0 { 0 } else { plan.capacity };
        Self {
            seed,
            plan,
            sampler: Sampler::new(seed, plan.capacity),
            spots: Sampler::new(spot_seed, spots),
            cells: BTreeMap::new(),
            counts: BTreeMap::new(),
            is_cut: true,
        }
    }

    /// Counts a trace. Each must be added once.
    pub fn add(&mut self, candidate: TraceCandidate) {
        let category = candidate.category();
        self.count(category, &candidate);
        let trace = candidate.trace.clone();
        if self.plan.spot_checks() > 0 {
            self.spots.add((), &trace, candidate.clone());
        }
        self.sampler.add(category, &trace, candidate);
    }

    fn count(&mut self, category: Category, candidate: &TraceCandidate) {
        let mut key = (category, candidate.environment.clone(), candidate.release.clone());
        if !self.counts.contains_key(&key) && self.counts.len() >= MAX_CELLS {
            key = (category, String::new(), None);
            self.is_cut = false;
        }
        *self.counts.entry(key.clone()).or_default() += 1;
        let quality = candidate.quality.filter(|quality| quality.is_finite());
        let moments = self.cells.entry(key).or_default();
        quality.into_iter().for_each(|quality| moments.add(quality));
    }

    /// Draws.
    pub fn finish(self) -> WeekDraw {
        let populations = self.sampler.populations();
        let taken = self.plan.allocate(&populations);
        let of = |counts: &Counts, category: Category| counts.get(&category).copied().unwrap_or(0);
        let half_width = planned_half_width(&populations, &taken, guide::expected);
        let size = |category: &Category| usize::try_from(of(&taken, *category)).unwrap_or(0);
        let mut traces: Vec<DrawnTrace> = Vec::new();
        for (_, category, candidate) in self.sampler.take(size) {
            let counts = (of(&taken, category), of(&populations, category));
            traces.push(drawn(candidate, category, counts));
        }
        let known: BTreeSet<String> = traces.iter().map(|drawn| drawn.trace.clone()).collect();
        let spots = self.spots.take(|()| usize::MAX).into_iter().map(|(_, (), spot)| spot);
        let spots = spots.filter(|spot| !known.contains(&spot.trace));
        traces.extend(spots.take(self.plan.spot_checks()).map(|candidate| {
            let category = candidate.category();
            let population = of(&populations, category);
            let spot = drawn(candidate, category, (0, population));
            DrawnTrace {
                selection: Selection::Chosen,
                reason: format!("spot check ({})", category.signals()),
                ..spot
            }
        }));
        let cells = cells(&self.cells, &self.counts);
        WeekDraw { seed: self.seed.to_owned(), cells, is_cut: self.is_cut, traces, half_width }
    }
}

fn drawn(
    candidate: TraceCandidate,
    category: Category,
    (taken, population): (u64, u64),
) -> DrawnTrace {
    let signals = category.signals();
    let reason = if taken == population {
        format!("{signals}: all {population} are reviewed")
    } else {
        format!("{signals}: {taken} of {population} drawn at random")
    };
    DrawnTrace {
        trace: candidate.trace,
        selection: Selection::Drawn,
        category,
        population,
        taken,
        quality: candidate.quality,
        environment: candidate.environment,
        release: candidate.release,
        reason,
    }
}

fn cells(moments: &BTreeMap<CellKey, Moments>, counts: &BTreeMap<CellKey, u64>) -> Vec<DrawCell> {
    let cell = |(key, population): (&CellKey, &u64)| {
        let (category, environment, release) = key.clone();
        let moments = moments.get(key).copied().unwrap_or_default();
        DrawCell {
            category,
            environment,
            release,
            population: *population,
            quality_sum: moments.sum,
            quality_squares: moments.squares,
        }
    };
    counts.iter().map(cell).collect()
}

#[cfg(test)]
mod tests;
