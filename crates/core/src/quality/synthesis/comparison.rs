//! Comparisons between groups of sessions: this week and the previous one, and successive releases
//! and prompt versions of an agent. All of them are one family of tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::standing::row;
use super::{MIN_TO_ALARM, SessionMarks};
use crate::environment::Environment;
use crate::stats::permutation::{self, Contrast, Row};

/// The maximum number of comparisons, of the largest groups.
const MAX_COMPARISONS: usize = 40;
/// Any fixed number: the same scores give the same report.
const SEED: u64 = 0;

/// An agent in an environment.
pub(super) type CellKey = (Option<String>, Environment);

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// This week and the previous one.
    Week,
    /// Sessions of a release and of the one before it, in both weeks.
    Release(Succession),
    /// Sessions of a prompt's version and of the one before it, in both weeks.
    Prompt(Succession),
}

/// A release or prompt version and the one it is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Succession {
    /// `2.4.1`, or `support v7` for a prompt.
    pub name: String,
    pub against: String,
    /// Whether it replaced the other one and is the newest: what differs, differs since then.
    pub is_since: bool,
}

/// A comparison of two groups of sessions of an agent in an environment.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    /// `None`: of all sessions.
    pub(super) cell: Option<CellKey>,
    pub(super) basis: Basis,
    pub(super) groups: Contrast,
    /// p-values of the overall score and of the dimensions, corrected for the whole family.
    pub(super) p_values: Vec<f64>,
}

/// All comparisons of a report.
#[derive(Debug, Default)]
pub(super) struct Family<'a> {
    /// The sessions of the previous week, then those of this week.
    pub(super) sessions: Vec<&'a SessionMarks>,
    pub(super) rows: Vec<Row>,
    pub(super) comparisons: Vec<Comparison>,
}

impl<'a> Family<'a> {
    /// Compares the sessions of two weeks.
    pub(super) fn new(
        dimensions: &[&str],
        before: &[&'a SessionMarks],
        this: &[&'a SessionMarks],
    ) -> Self {
        let sessions: Vec<&SessionMarks> = before.iter().chain(this).copied().collect();
        let rows: Vec<Row> = sessions.iter().map(|session| row(dimensions, session)).collect();
        let mut cells: BTreeMap<CellKey, Vec<usize>> = BTreeMap::new();
        for (index, session) in sessions.iter().enumerate() {
            cells.entry(key(session)).or_default().push(index);
        }
        let all = week((0..sessions.len()).collect(), before.len()).map(|groups| (None, groups));
        let mut comparisons: Vec<Comparison> =
            all.map(|(cell, groups)| comparison(cell, Basis::Week, groups)).into_iter().collect();
        let mut of_cells: Vec<Comparison> = Vec::new();
        for (key, members) in &cells {
            let weeks = week(members.clone(), before.len());
            of_cells.extend(weeks.map(|groups| comparison(Some(key.clone()), Basis::Week, groups)));
            of_cells.extend(successions(&sessions, members).into_iter().filter_map(
                |(basis, groups)| {
                    is_enough(&groups).then(|| comparison(Some(key.clone()), basis, groups))
                },
            ));
        }
        of_cells.sort_by_key(|comparison| {
            let Contrast { earlier, later } = &comparison.groups;
            std::cmp::Reverse(earlier.len().min(later.len()))
        });
        of_cells.truncate(MAX_COMPARISONS);
        comparisons.extend(of_cells);
        test(&rows, &cells, &mut comparisons);
        Self { sessions, rows, comparisons }
    }

    /// The number of tests.
    pub(super) fn size(&self) -> usize {
        let measures = self.rows.first().map_or(0, Vec::len);
        measures * self.comparisons.len()
    }

    /// The p-values of a comparison, if it was made.
    pub(super) fn p_values(&self, cell: Option<&CellKey>, basis: &Basis) -> Option<&[f64]> {
        let is_it = |one: &&Comparison| one.cell.as_ref() == cell && one.basis == *basis;
        self.comparisons.iter().find(is_it).map(|found| found.p_values.as_slice())
    }

    /// The values of a group by measure, sorted so that sums do not depend on the order of sessions.
    pub(super) fn values(&self, group: &[usize], measure: usize) -> Vec<f64> {
        let rows = group.iter().filter_map(|index| self.rows.get(*index));
        let mut values: Vec<f64> =
            rows.filter_map(|row| row.get(measure).copied().flatten()).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// The agent and environment of a session.
pub(super) fn key(session: &SessionMarks) -> CellKey {
    (session.facts.agent.clone(), session.facts.environment.clone())
}

fn comparison(cell: Option<CellKey>, basis: Basis, groups: Contrast) -> Comparison {
    Comparison { cell, basis, groups, p_values: Vec::new() }
}

/// The sessions of the previous week and of this one, if both have enough.
fn week(members: Vec<usize>, before: usize) -> Option<Contrast> {
    let (earlier, later) = members.into_iter().partition(|index| *index < before);
    Some(Contrast { earlier, later }).filter(is_enough)
}

fn is_enough(groups: &Contrast) -> bool {
    groups.earlier.len().min(groups.later.len()) >= MIN_TO_ALARM
}

/// The p-values of all comparisons together.
///
/// Sessions change places only with those of the same agent and environment, so that another mix of
/// agents is not taken for a change. Agents of too few sessions to be compared are one stratum.
fn test(rows: &[Row], cells: &BTreeMap<CellKey, Vec<usize>>, comparisons: &mut [Comparison]) {
    if comparisons.is_empty() {
        return;
    }
    let is_compared = |key: &CellKey| comparisons.iter().any(|one| one.cell.as_ref() == Some(key));
    let (large, small): (Vec<_>, Vec<_>) = cells.iter().partition(|(key, _)| is_compared(key));
    let mut strata: Vec<Vec<usize>> =
        large.into_iter().map(|(_, members)| members.clone()).collect();
    strata.push(small.into_iter().flat_map(|(_, members)| members.iter().copied()).collect());
    let groups: Vec<Contrast> = comparisons.iter().map(|one| one.groups.clone()).collect();
    let p_values = permutation::contrasts(rows, &strata, &groups, SEED);
    for (comparison, p_values) in comparisons.iter_mut().zip(p_values) {
        comparison.p_values = p_values;
    }
}

/// The releases and prompt versions of a cell, each with the one before it.
pub(super) fn successions(sessions: &[&SessionMarks], members: &[usize]) -> Vec<(Basis, Contrast)> {
    let of = |index: &usize| sessions.get(*index).copied();
    let facts = || members.iter().filter_map(of).map(|session| &session.facts);
    let releases =
        variants(sessions, members, |session| session.facts.release().map(str::to_owned));
    let mut found: Vec<(Basis, Contrast)> = pairs(sessions, &releases)
        .map(|(succession, groups)| (Basis::Release(succession), groups))
        .collect();
    let prompts: std::collections::BTreeSet<&String> =
        facts().flat_map(|facts| facts.prompts.keys()).collect();
    for prompt in prompts {
        let versions = variants(sessions, members, |session| {
            let version = session.facts.prompt_version(prompt)?;
            Some(format!("{prompt} v{version}"))
        });
        let pairs = pairs(sessions, &versions);
        found.extend(pairs.map(|(succession, groups)| (Basis::Prompt(succession), groups)));
    }
    found
}

/// The sessions of a release or prompt version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) members: Vec<usize>,
}

/// Groups sessions by release or prompt version, first seen first.
pub(super) fn variants(
    sessions: &[&SessionMarks],
    members: &[usize],
    name: impl Fn(&SessionMarks) -> Option<String>,
) -> Vec<Variant> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for index in members {
        let named = sessions.get(*index).and_then(|session| name(session));
        if let Some(named) = named {
            groups.entry(named).or_default().push(*index);
        }
    }
    let mut variants: Vec<Variant> =
        groups.into_iter().map(|(name, members)| Variant { name, members }).collect();
    variants.sort_by_key(|variant| first_seen(sessions, variant));
    variants
}

pub(super) fn first_seen(sessions: &[&SessionMarks], variant: &Variant) -> crate::time::Timestamp {
    let of = |index: &usize| sessions.get(*index).map(|session| session.facts.last_at);
    variant.members.iter().filter_map(of).min().unwrap_or_default()
}

/// Each variant with enough sessions, and the one before it with enough sessions.
fn pairs(
    sessions: &[&SessionMarks],
    variants: &[Variant],
) -> impl Iterator<Item = (Succession, Contrast)> {
    let newest = variants.last().map(|variant| variant.name.clone());
    let enough: Vec<&Variant> =
        variants.iter().filter(|variant| variant.members.len() >= MIN_TO_ALARM).collect();
    let pairs: Vec<(Succession, Contrast)> = enough
        .windows(2)
        .filter_map(|pair| {
            let [earlier, later] = pair else { return None };
            let succession = Succession {
                name: later.name.clone(),
                against: earlier.name.clone(),
                is_since: newest.as_ref() == Some(&later.name)
                    && has_replaced(sessions, earlier, later),
            };
            let (earlier, later) = (earlier.members.clone(), later.members.clone());
            Some((succession, Contrast { earlier, later }))
        })
        .collect();
    pairs.into_iter()
}

/// Whether a variant came after most sessions of another one. Two that run side by side did not
/// replace each other.
fn has_replaced(sessions: &[&SessionMarks], earlier: &Variant, later: &Variant) -> bool {
    let begun = first_seen(sessions, later);
    let is_before =
        |index: &&usize| sessions.get(**index).is_some_and(|session| session.facts.last_at < begun);
    2 * earlier.members.iter().filter(is_before).count() > earlier.members.len()
}
