use std::collections::BTreeMap;

use super::sampler::Sampler;
use crate::id::SessionId;

/// The default weekly sample size.
pub const SIZE: usize = 10;
/// The default size of the first sample of a dataset: enough to calibrate a judge.
pub const FIRST_SIZE: usize = 50;
/// The minimum sample per stratum, where the size allows.
const MIN_PER_STRATUM: usize = 2;

/// A session that can be sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub session: SessionId,
    /// Where known.
    pub agent: Option<String>,
    /// The judge's overall score; `None` where there is none.
    pub overall: Option<f64>,
}

/// Score band of a session, by the judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// Under 0.5.
    Poor,
    /// From 0.5, under 0.7.
    Fair,
    /// From 0.7 to 0.85.
    Good,
    /// Over 0.85.
    Excellent,
    /// No score.
    Unscored,
}

impl Band {
    pub const ALL: [Self; 5] =
        [Self::Poor, Self::Fair, Self::Good, Self::Excellent, Self::Unscored];

    /// Returns the band of a score.
    pub fn of(overall: Option<f64>) -> Self {
        match overall {
            None => Self::Unscored,
            Some(mark) if mark < 0.5 => Self::Poor,
            Some(mark) if mark < 0.7 => Self::Fair,
            Some(mark) if mark <= 0.85 => Self::Good,
            Some(_) => Self::Excellent,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::Excellent => "excellent",
            Self::Unscored => "unscored",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|band| band.as_str() == name)
    }
}

/// A sampled session with its sampling probability.
///
/// The counts are as of the time of sampling and must be stored with the label: they cannot be
/// reconstructed later.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledSession {
    pub session: SessionId,
    pub band: Band,
    /// `None` where strata ignore agents.
    pub agent: Option<String>,
    /// Size of the stratum.
    pub population: u64,
    /// Sample size of the stratum.
    pub taken: u64,
}

impl SampledSession {
    /// Returns the sampling probability.
    pub fn probability(&self) -> f64 {
        crate::stats::interval::share(self.taken, self.population).map_or(0.0, |share| share.value)
    }
}

/// Draws a stratified sample, spread evenly over bands and agents. Deterministic for a seed and a
/// set of sessions.
///
/// Every stratum gets at least two samples, or else strata ignore agents. The order within a
/// stratum depends on the seed and the ids only.
pub fn draw(candidates: &[Candidate], size: usize, seed: &str) -> Vec<SampledSession> {
    let by_agent = strata(candidates, |candidate| candidate.agent.clone());
    let strata = if by_agent.len() * MIN_PER_STRATUM <= size {
        by_agent
    } else {
        strata(candidates, |_| None)
    };
    let mut sampler = Sampler::new(seed, size);
    for (stratum, sessions) in strata {
        for session in sessions {
            sampler.add(stratum.clone(), &session.to_string(), session.clone());
        }
    }
    let populations = sampler.populations();
    let taken = allocate(&populations, size);
    let drawn = sampler.take(|stratum| taken.get(stratum).copied().unwrap_or(0));
    let of = |(_, stratum, session): (_, Stratum, SessionId)| SampledSession {
        session,
        population: populations.get(&stratum).copied().unwrap_or(0),
        taken: taken.get(&stratum).copied().unwrap_or(0) as u64,
        band: stratum.0,
        agent: stratum.1,
    };
    drawn.into_iter().map(of).collect()
}

type Stratum = (Band, Option<String>);

fn strata(
    candidates: &[Candidate],
    agent: impl Fn(&Candidate) -> Option<String>,
) -> BTreeMap<Stratum, Vec<&SessionId>> {
    let mut strata: BTreeMap<Stratum, Vec<&SessionId>> = BTreeMap::new();
    for candidate in candidates {
        let stratum = (Band::of(candidate.overall), agent(candidate));
        strata.entry(stratum).or_default().push(&candidate.session);
    }
    for sessions in strata.values_mut() {
        sessions.sort();
        sessions.dedup();
    }
    strata
}

/// Allocates samples one by one to the stratum with the fewest that is not exhausted.
fn allocate(populations: &BTreeMap<Stratum, u64>, size: usize) -> BTreeMap<Stratum, usize> {
    let mut taken: BTreeMap<Stratum, usize> =
        populations.keys().map(|stratum| (stratum.clone(), 0)).collect();
    for _ in 0..size {
        let open =
            taken.iter_mut().filter(|(stratum, taken)| (**taken as u64) < populations[*stratum]);
        let Some((_, least)) = open.min_by_key(|(_, taken)| **taken) else { break };
        *least += 1;
    }
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidates(kinds: &[(usize, f64, &str)]) -> Vec<Candidate> {
        let of = |(count, overall, agent): &(usize, f64, &str)| {
            let (overall, agent) = (*overall, (*agent).to_owned());
            (0..*count).map(move |n| Candidate {
                session: SessionId::parse(&format!("{agent}-{overall}-{n}")).unwrap(),
                agent: Some(agent.clone()),
                overall: Some(overall),
            })
        };
        kinds.iter().flat_map(of).collect()
    }

    #[test]
    fn every_band_and_agent_gets_its_share() {
        let candidates = candidates(&[(90, 0.9, "bot"), (40, 0.6, "bot"), (3, 0.2, "helper")]);
        let drawn = draw(&candidates, 10, "2026-W46");
        let of = |band: Band| drawn.iter().filter(|drawn| drawn.band == band).collect::<Vec<_>>();
        let counts = [Band::Poor, Band::Fair, Band::Excellent].map(|band| of(band).len());
        assert_eq!(counts.iter().sum::<usize>(), 10);
        assert!(counts.iter().all(|count| (3..=4).contains(count)), "{counts:?}");
        let poor = of(Band::Poor)[0];
        assert_eq!((poor.population, poor.probability()), (3, 1.0));
        assert_eq!(poor.agent.as_deref(), Some("helper"));
        assert_eq!(draw(&candidates, 10, "2026-W46"), drawn, "the same seed draws the same");
        assert_ne!(draw(&candidates, 10, "2026-W47"), drawn, "another seed draws others");
    }

    #[test]
    fn too_many_agents_share_strata() {
        let agents: Vec<String> = (0..30).map(|n| format!("agent {n}")).collect();
        let kinds: Vec<_> = agents.iter().map(|agent| (2, 0.9, agent.as_str())).collect();
        let drawn = draw(&candidates(&kinds), 10, "seed");
        assert_eq!(drawn.len(), 10);
        assert!(drawn.iter().all(|drawn| drawn.agent.is_none() && drawn.population == 60));
    }

    #[test]
    fn bands_meet_where_the_report_says() {
        let bands = [0.49, 0.5, 0.69, 0.7, 0.85, 0.86].map(|mark| Band::of(Some(mark)).as_str());
        assert_eq!(bands, ["poor", "fair", "fair", "good", "good", "excellent"]);
        assert!(Band::ALL.into_iter().all(|band| Band::parse(band.as_str()) == Some(band)));
    }

    proptest! {
        #[test]
        fn no_place_is_wasted_and_probabilities_add_up(
            marks in prop::collection::vec((prop::option::of(0.0..=1.0_f64), 0..4_u8), 0..60),
            size in 0..30_usize,
        ) {
            let candidate = |(n, (overall, agent)): (usize, &(Option<f64>, u8))| Candidate {
                session: SessionId::parse(&format!("s{n}")).unwrap(),
                agent: Some(agent.to_string()),
                overall: *overall,
            };
            let candidates: Vec<_> = marks.iter().enumerate().map(candidate).collect();
            let drawn = draw(&candidates, size, "seed");
            prop_assert_eq!(drawn.len(), size.min(candidates.len()));
            let mut sessions: Vec<_> = drawn.iter().map(|drawn| &drawn.session).collect();
            sessions.sort();
            sessions.dedup();
            prop_assert_eq!(sessions.len(), drawn.len(), "nobody is drawn twice");
            // The weights of the sample add up to the population.
            let stands_for: f64 = drawn.iter().map(|drawn| 1.0 / drawn.probability()).sum();
            let strata: std::collections::BTreeMap<_, u64> = drawn
                .iter()
                .map(|drawn| ((drawn.band, drawn.agent.clone()), drawn.population))
                .collect();
            #[expect(clippy::cast_precision_loss, reason = "a handful of sessions")]
            let all = strata.values().sum::<u64>() as f64;
            prop_assert!((stands_for - all).abs() < 1e-6);
        }
    }
}
