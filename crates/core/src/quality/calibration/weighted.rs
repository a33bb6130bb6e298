use std::collections::BTreeMap;

use crate::id::SessionId;
use crate::quality::label::LabelOrigin;
use crate::stats::agreement::RatingPair;
use crate::stats::stratified::{self, Stratum, WeightedValue};

use super::sample::Band;
use super::{Statistic, distance, well};

/// Agreement on overall scores, weighted by sampling probability.
///
/// The stratified sample contains as many rare sessions as common ones, so that unweighted numbers
/// describe the sample and not the population: they overstate the correlation and the error rate.
/// Only sampled sessions are included; hand-picked ones have no known probability.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedAgreement {
    /// Sampled and labelled sessions.
    pub sessions: u64,
    /// The size of the population they represent.
    pub stands_for: u64,
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

/// A stratum: week, band and agent.
type DrawnKind<'a> = (&'a str, Band, Option<&'a str>);

impl WeightedAgreement {
    /// Computes weighted agreement; `None` where no session was sampled.
    pub(super) fn of(
        pairs: &[(SessionId, RatingPair)],
        draws: &BTreeMap<&SessionId, &LabelOrigin>,
        threshold: f64,
    ) -> Option<Self> {
        let mut kinds: BTreeMap<DrawnKind<'_>, (u64, Vec<RatingPair>)> = BTreeMap::new();
        for (session, pair) in pairs {
            let Some(draw) = draws.get(session) else { continue };
            let kind = (draw.week.as_str(), draw.band, draw.agent.as_deref());
            let (population, rated) = kinds.entry(kind).or_default();
            // One sampling run stores the same number in all labels, unless one was edited.
            *population = draw.population.max(*population);
            rated.push(*pair);
        }
        if kinds.is_empty() {
            return None;
        }
        let strata = |of: &dyn Fn(RatingPair) -> f64| -> Vec<Stratum> {
            let stratum = |(population, rated): &(u64, Vec<RatingPair>)| Stratum {
                population: *population,
                values: rated.iter().map(|pair| of(*pair)).collect(),
            };
            kinds.values().map(stratum).collect()
        };
        let weighed: Vec<WeightedValue<RatingPair>> = kinds.values().flat_map(weighed).collect();
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
            stands_for: kinds.values().map(|(of, rated)| (*of).max(rated.len() as u64)).sum(),
            pearson: stratified::pearson(&weighed),
            error: stratified::mean(&strata(&distance)),
            bias: stratified::mean(&strata(&|pair| pair.judge - pair.human)),
            within: stratified::share(&strata(&is_within)),
            sensitivity: hits(|pair| well(pair.human) == 0),
            specificity: hits(|pair| well(pair.human) == 1),
        })
    }
}

/// Returns the sessions of a stratum with their weights; the weight of unlabelled ones is
/// distributed.
fn weighed((population, rated): &(u64, Vec<RatingPair>)) -> Vec<WeightedValue<RatingPair>> {
    let n = crate::stats::float(rated.len());
    let weight = (crate::stats::interval::float(*population) / n).max(1.0);
    rated.iter().map(|pair| WeightedValue { weight, found: *pair }).collect()
}
