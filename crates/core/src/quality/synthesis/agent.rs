//! Statistics by agent and environment, and by their releases and prompt versions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::comparison::{Basis, CellKey, Family, Succession, Variant, first_seen, key, variants};
use super::days::{DayStats, days};
use super::facts::prompt_words;
use super::standing::{Change, Marks};
use super::{OVERALL, SessionMarks};
use crate::money::Money;
use crate::stats::float;

/// The maximum number of agents and environments in a report; those of the most sessions.
const MAX_CELLS: usize = 50;

/// The statistics of an agent in an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentStats {
    /// `None` for traces that name no agent and have no name.
    pub agent: Option<String>,
    pub environment: String,
    /// Scored sessions of the week.
    pub sessions: usize,
    /// Known users of these sessions.
    pub users: usize,
    pub overall: MeasureStats,
    /// In the rubric's order; those without a score are left out.
    pub dimensions: Vec<MeasureStats>,
    /// Of this and the previous week, first seen first.
    pub releases: Vec<VariantStats>,
    /// Versions of prompts, likewise.
    pub prompts: Vec<VariantStats>,
    pub cost: Option<CostStats>,
    /// This and the previous week.
    pub days: Vec<DayStats>,
}

/// The statistics of a score of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureStats {
    pub name: String,
    /// Scored sessions of the week.
    pub n: usize,
    /// `None` without a session.
    pub marks: Option<Marks>,
    /// Against the previous week.
    pub change: Change,
}

/// The overall scores of a release or prompt version, in this and the previous week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantStats {
    pub name: String,
    /// The day of its first session in these weeks.
    pub first_day: String,
    pub n: usize,
    pub marks: Option<Marks>,
    /// The one before it that it is compared with.
    pub against: Option<String>,
    /// The change against that.
    pub change: Change,
}

/// What the scored sessions of an agent cost in a week.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostStats {
    /// In US dollars, of sessions with a known cost.
    pub total: f64,
    pub per_session: f64,
    /// Sessions with a known cost.
    pub n: usize,
    /// The part of the cost of all agents, from 0 to 1.
    pub share: f64,
}

/// Computes the statistics of each agent and environment of this week, largest significant drop
/// first, then lowest mean first.
pub(super) fn agents(
    dimensions: &[&str],
    family: &Family<'_>,
    before: usize,
    has_others: bool,
) -> Vec<AgentStats> {
    let mut cells: BTreeMap<CellKey, Vec<usize>> = BTreeMap::new();
    for (index, session) in family.sessions.iter().enumerate() {
        cells.entry(key(session)).or_default().push(index);
    }
    let this_week = |members: &Vec<usize>| members.iter().filter(|at| **at >= before).count();
    let mut cells: Vec<(CellKey, Vec<usize>)> =
        cells.into_iter().filter(|(_, members)| this_week(members) > 0).collect();
    cells.sort_by_key(|(_, members)| std::cmp::Reverse(this_week(members)));
    cells.truncate(MAX_CELLS);
    let all: Vec<&SessionMarks> = family.sessions.iter().skip(before).copied().collect();
    let total = cost(&all);
    let of = |(key, members): &(CellKey, Vec<usize>)| {
        Cell { key, members, before, family, has_others }.stats(dimensions, total)
    };
    let mut agents: Vec<AgentStats> = cells.iter().map(of).collect();
    agents.sort_by(|one, other| {
        let (drop, mean) =
            (one.drop().total_cmp(&other.drop()), one.mean().total_cmp(&other.mean()));
        drop.then(mean)
    });
    agents
}

/// The sessions of an agent in an environment.
struct Cell<'a> {
    key: &'a CellKey,
    members: &'a [usize],
    before: usize,
    family: &'a Family<'a>,
    /// Whether the previous week was also scored by another judge.
    has_others: bool,
}

impl Cell<'_> {
    fn stats(&self, dimensions: &[&str], total: Option<(Money, usize)>) -> AgentStats {
        let names = std::iter::once(OVERALL).chain(dimensions.iter().copied());
        let mut measures = names.enumerate().map(|(at, name)| self.measure(at, name));
        let overall = measures.next().unwrap_or_else(|| self.measure(0, OVERALL));
        let dimensions = measures.filter(|measure| measure.n > 0).collect();
        let this: Vec<&SessionMarks> =
            self.sessions().filter(|(at, _)| *at >= self.before).map(|(_, one)| one).collect();
        let users: BTreeSet<&String> =
            this.iter().filter_map(|one| one.facts.user.as_ref()).collect();
        let all: Vec<&SessionMarks> = self.sessions().map(|(_, session)| session).collect();
        AgentStats {
            agent: self.key.0.clone(),
            environment: self.key.1.to_string(),
            sessions: this.len(),
            users: users.len(),
            overall,
            dimensions,
            releases: self.releases(),
            prompts: self.prompts(),
            cost: cost(&this).zip(total).map(|((cost, n), (total, _))| CostStats {
                total: cost.dollars(),
                per_session: cost.dollars() / float(n.max(1)),
                n,
                share: if total > Money::ZERO { cost.dollars() / total.dollars() } else { 0.0 },
            }),
            days: days(&all),
        }
    }

    fn sessions(&self) -> impl Iterator<Item = (usize, &SessionMarks)> {
        self.members.iter().filter_map(|at| Some((*at, *self.family.sessions.get(*at)?)))
    }

    fn measure(&self, measure: usize, name: &str) -> MeasureStats {
        let (before, this): (Vec<usize>, Vec<usize>) =
            self.members.iter().partition(|at| **at < self.before);
        let p_values = self.family.p_values(Some(self.key), &Basis::Week);
        let [earlier, later] = [before, this].map(|group| self.family.values(&group, measure));
        let p = p_values.and_then(|values| values.get(measure)).copied();
        MeasureStats {
            name: name.to_owned(),
            n: later.len(),
            marks: Marks::of(&later),
            change: Change::between(&earlier, &later, (p, self.family.size()), self.has_others),
        }
    }

    fn releases(&self) -> Vec<VariantStats> {
        let name = |session: &SessionMarks| session.facts.release().map(str::to_owned);
        let variants = variants(&self.family.sessions, self.members, name);
        self.variants(&variants, Basis::Release)
    }

    fn prompts(&self) -> Vec<VariantStats> {
        let named: BTreeSet<&String> =
            self.sessions().flat_map(|(_, session)| session.facts.prompts.keys()).collect();
        let of = |prompt: &String| {
            let name = |session: &SessionMarks| {
                let version = session.facts.prompt_version(prompt)?;
                Some(prompt_words(prompt, version))
            };
            let variants = variants(&self.family.sessions, self.members, name);
            self.variants(&variants, Basis::Prompt)
        };
        named.into_iter().flat_map(of).collect()
    }

    fn variants(&self, variants: &[Variant], basis: fn(Succession) -> Basis) -> Vec<VariantStats> {
        let of = |variant: &Variant| {
            let values = self.family.values(&variant.members, 0);
            let made = self.family.comparisons.iter().find_map(|one| {
                let succession = one.basis.succession()?;
                let is_it = one.cell.as_ref() == Some(self.key)
                    && succession.name == variant.name
                    && one.basis == basis(succession.clone());
                is_it.then_some((one, succession))
            });
            let change = match made {
                Some((one, _)) => {
                    let earlier = self.family.values(&one.groups.earlier, 0);
                    let p = one.p_values.first().copied();
                    Change::between(&earlier, &values, (p, self.family.size()), false)
                }
                None => Change::Unknown(super::TOO_FEW.to_owned()),
            };
            let first = first_seen(&self.family.sessions, variant);
            let day = self.sessions().find(|(_, session)| session.facts.last_at == first);
            VariantStats {
                name: variant.name.clone(),
                first_day: day.map(|(_, session)| session.facts.day.clone()).unwrap_or_default(),
                n: values.len(),
                marks: Marks::of(&values),
                against: made.map(|(_, succession)| succession.against.clone()),
                change,
            }
        };
        variants.iter().map(of).collect()
    }
}

/// The known cost of sessions, and of how many it is.
fn cost(sessions: &[&SessionMarks]) -> Option<(Money, usize)> {
    let known: Vec<Money> = sessions.iter().filter_map(|session| session.facts.cost).collect();
    let sum = known.iter().copied().reduce(|sum, cost| sum + cost)?;
    Some((sum, known.len()))
}

impl AgentStats {
    /// The significant drop, negative, against the previous week or of its newest release; 0 if
    /// there is none.
    fn drop(&self) -> f64 {
        let newest = self.releases.iter().chain(&self.prompts).map(|variant| &variant.change);
        let changes = std::iter::once(&self.overall.change).chain(newest);
        changes.filter_map(Change::clear_drop).fold(0.0, f64::min)
    }

    fn mean(&self) -> f64 {
        self.overall.marks.map_or(f64::INFINITY, |marks| marks.mean)
    }
}
