use std::collections::BTreeMap;

use crate::id::SessionId;
use crate::quality::label::LabelOrigin;
use crate::stats::agreement::RatingPair;
use crate::stats::stratified::{self, Stratum, WeightedValue};

use super::sample::Band;
use super::{Statistic, distance, well};

/// How far a judge and people agree on whole sessions, where each session counts for all those it
/// was drawn for.
///
/// The draw takes as many of the rare sessions as of the common ones, so that plain numbers speak
/// of the sample and not of the work: they overstate how closely a judge follows people, and how
/// often it errs. Only sessions that were drawn by rule are in it; of those that somebody chose,
/// nobody can say what they stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedAgreement {
    /// How many sessions were drawn and labelled.
    pub sessions: u64,
    /// How many sessions they stand for.
    pub stands_for: u64,
    /// How closely both follow one line.
    pub pearson: Statistic,
    /// How far apart they are on average.
    pub error: Statistic,
    /// How much more than people the judge gives.
    pub bias: Statistic,
    /// In how many sessions they lie apart by no more than the threshold.
    pub within: Statistic,
    /// How many of the problems that people see the judge finds.
    pub sensitivity: Statistic,
    /// How many of the sessions that people find well the judge does, too.
    pub specificity: Statistic,
}

/// A kind of sessions that were drawn together.
type DrawnKind<'a> = (&'a str, Band, Option<&'a str>);

impl WeightedAgreement {
    /// Weighs what both said by how each session came to be labelled; `None` where none was drawn.
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
            // The same draw wrote the same number everywhere, unless somebody changed it.
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

/// The sessions of a kind, each with how many it stands for: those nobody labelled are shared out.
fn weighed((population, rated): &(u64, Vec<RatingPair>)) -> Vec<WeightedValue<RatingPair>> {
    let n = crate::stats::float(rated.len());
    let weight = (crate::stats::interval::float(*population) / n).max(1.0);
    rated.iter().map(|pair| WeightedValue { weight, found: *pair }).collect()
}
