use std::collections::BTreeMap;

use crate::id::SessionId;
use crate::quality::label::LabelOrigin;
use crate::stats::agreement::RatingPair;
use crate::stats::stratified::{self, Stratum, WeightedValue};

use super::{Statistic, distance, well};
use crate::review::session_sample::Band;

/// The labels that a stratum needs to show how much they vary.
const MIN_PER_STRATUM: usize = 2;

/// Agreement on overall scores, weighted by sampling probability.
///
/// The stratified sample contains as many rare sessions as common ones, so that unweighted numbers
/// describe the sample and not the population: they overstate the correlation and the error rate.
/// Only sampled sessions are included; hand-picked ones have no known probability. The samples of
/// all weeks are pooled: ten labels a week are too few for a stratum of one week.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedAgreement {
    /// Sampled and labelled sessions.
    pub sessions: u64,
    /// The sessions of all strata with a label: what the figures stand for.
    pub stands_for: u64,
    /// The sessions of all strata that were drawn from.
    pub population: u64,
    /// The strata, worst band first.
    pub strata: Vec<StratumCoverage>,
    pub pearson: Statistic,
    /// Mean absolute error.
    pub error: Statistic,
    /// Mean difference, judge minus people.
    pub bias: Statistic,
    /// The share of sessions whose difference is within the threshold.
    pub within: Statistic,
    /// The share of human-labelled problems that the judge finds.
    pub sensitivity: Statistic,
    /// The share of sessions without problems that the judge recognises.
    pub specificity: Statistic,
}

/// How far a stratum is labelled, over all weeks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StratumCoverage {
    pub band: Band,
    /// `None` where strata ignore agents.
    pub agent: Option<String>,
    /// Its sessions.
    pub population: u64,
    /// Those drawn for labelling.
    pub drawn: u64,
    pub labelled: u64,
}

/// A stratum of one week.
type WeekStratum<'a> = (&'a str, Band, Option<&'a str>);
/// A stratum of all weeks.
type PooledStratum<'a> = (Band, Option<&'a str>);

/// A stratum with its labelled sessions.
#[derive(Default)]
struct Pool {
    population: u64,
    rated: Vec<RatingPair>,
}

impl WeightedAgreement {
    /// Computes weighted agreement; `None` where no labelled session was sampled.
    pub(super) fn of(
        pairs: &[(SessionId, RatingPair)],
        (draws, asked): (&BTreeMap<&SessionId, &LabelOrigin>, &[LabelOrigin]),
        threshold: f64,
    ) -> Option<Self> {
        let strata = coverage(pairs, draws, asked);
        let mut pools: BTreeMap<PooledStratum<'_>, Pool> = BTreeMap::new();
        for stratum in strata.iter().filter(|stratum| stratum.labelled > 0) {
            let population = stratum.population.max(stratum.labelled);
            let pool = Pool { population, rated: Vec::new() };
            pools.insert((stratum.band, stratum.agent.as_deref()), pool);
        }
        for (session, pair) in pairs {
            let Some(draw) = draws.get(session) else { continue };
            let pool = pools.entry((draw.band, draw.agent.as_deref())).or_default();
            pool.rated.push(*pair);
        }
        if pools.is_empty() {
            return None;
        }
        let pools = joined(pools);
        let strata_of = |of: &dyn Fn(RatingPair) -> f64| -> Vec<Stratum> {
            let stratum = |pool: &Pool| Stratum {
                population: pool.population,
                values: pool.rated.iter().map(|pair| of(*pair)).collect(),
            };
            pools.iter().map(stratum).collect()
        };
        let weighed: Vec<WeightedValue<RatingPair>> = pools.iter().flat_map(weighed).collect();
        let hits = |is_wanted: fn(RatingPair) -> bool| {
            let wanted = weighed.iter().filter(|one| is_wanted(one.found));
            let hit = |one: &WeightedValue<RatingPair>| WeightedValue {
                weight: one.weight,
                found: well(one.found.human) == well(one.found.judge),
            };
            stratified::hits(&wanted.map(hit).collect::<Vec<_>>())
        };
        let is_within = |pair| f64::from(u8::from(distance(pair) <= threshold));
        Some(Self {
            sessions: weighed.len() as u64,
            stands_for: pools.iter().map(|pool| pool.population).sum(),
            population: strata.iter().map(|it| it.population.max(it.labelled)).sum(),
            pearson: stratified::pearson(&weighed),
            error: stratified::mean(&strata_of(&distance), 0.0..=1.0),
            bias: stratified::mean(&strata_of(&|pair| pair.judge - pair.human), -1.0..=1.0),
            within: stratified::share(&strata_of(&is_within)),
            sensitivity: hits(|pair| well(pair.human) == 0),
            specificity: hits(|pair| well(pair.human) == 1),
            strata,
        })
    }

    /// Returns the share of the population that the figures stand for.
    pub fn covered(&self) -> f64 {
        crate::stats::interval::share(self.stands_for.min(self.population), self.population)
            .map_or(1.0, |share| share.value)
    }
}

/// Returns the strata of all weeks, with and without labels.
fn coverage(
    pairs: &[(SessionId, RatingPair)],
    draws: &BTreeMap<&SessionId, &LabelOrigin>,
    asked: &[LabelOrigin],
) -> Vec<StratumCoverage> {
    let mut weeks: BTreeMap<WeekStratum<'_>, (u64, u64)> = BTreeMap::new();
    let labelled = || pairs.iter().filter_map(|(session, _)| draws.get(session).copied());
    for draw in labelled().chain(asked) {
        let kind = (draw.week.as_str(), draw.band, draw.agent.as_deref());
        let (population, taken) = weeks.entry(kind).or_default();
        // One sampling run stores the same numbers in all labels, unless one was edited.
        *population = draw.population.max(*population);
        *taken = draw.taken.max(*taken);
    }
    let mut strata: BTreeMap<PooledStratum<'_>, StratumCoverage> = BTreeMap::new();
    for ((_, band, agent), (population, taken)) in weeks {
        let stratum = strata.entry((band, agent)).or_insert_with(|| StratumCoverage {
            band,
            agent: agent.map(str::to_owned),
            population: 0,
            drawn: 0,
            labelled: 0,
        });
        stratum.population += population;
        stratum.drawn += taken;
    }
    for draw in labelled() {
        if let Some(stratum) = strata.get_mut(&(draw.band, draw.agent.as_deref())) {
            stratum.labelled += 1;
        }
    }
    strata.into_values().collect()
}

/// Joins strata with too few labels to the others of their band.
fn joined(pools: BTreeMap<PooledStratum<'_>, Pool>) -> Vec<Pool> {
    let mut bands: BTreeMap<Band, Vec<Pool>> = BTreeMap::new();
    for ((band, _), pool) in pools {
        bands.entry(band).or_default().push(pool);
    }
    let join = |mut pools: Vec<Pool>| {
        pools.sort_by_key(|pool| pool.rated.len());
        while let [few, next, ..] = pools.as_mut_slice() {
            if few.rated.len() >= MIN_PER_STRATUM {
                break;
            }
            next.population += few.population;
            next.rated.append(&mut few.rated);
            pools.remove(0);
        }
        pools
    };
    bands.into_values().flat_map(join).collect()
}

/// Returns the sessions of a stratum with their weights; the weight of unlabelled ones is
/// distributed.
fn weighed(pool: &Pool) -> Vec<WeightedValue<RatingPair>> {
    let n = crate::stats::float(pool.rated.len());
    let weight = (crate::stats::interval::float(pool.population) / n).max(1.0);
    pool.rated.iter().map(|pair| WeightedValue { weight, found: *pair }).collect()
}
