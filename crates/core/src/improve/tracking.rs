use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::diagnosis::Component;
use super::group::FailureGroup;
use super::observed::ObservedTrace;
use super::proposal::{Proposal, Trend};
use crate::counted::counted;
use crate::stats::float;

/// The share of a known proposal's evidence that a group has to contain to be the same pattern.
const SAME: f64 = 0.5;

/// A pattern of an earlier report that has too few failures left for a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FadedPattern {
    /// The id of its proposal.
    pub id: String,
    pub component: Component,
    pub agent: String,
    pub title: String,
    /// Failures of the week.
    pub failures: usize,
    /// Failures when it was proposed.
    pub before: usize,
    /// Shrinking, or gone.
    pub trend: Trend,
}

impl FadedPattern {
    /// Returns one line for readers.
    pub fn line(&self) -> String {
        let Self { title, failures, before, trend, .. } = self;
        let before = counted(*before, "failure");
        match trend {
            Trend::Gone => format!("{title}: gone, {before} before"),
            _ => format!("{title}: {} this week, {before} before", counted(*failures, "failure")),
        }
    }
}

/// A proposal with the traces of its group, of all weeks that were read.
pub(super) struct TrackedProposal<'a> {
    pub(super) proposal: Proposal,
    pub(super) traces: BTreeSet<&'a str>,
    /// The id that no other group of the report has.
    pub(super) own_id: String,
}

/// Gives groups the ids of the proposals that earlier reports made of the same traces: topics and
/// their labels may change from week to week. Ids stay unique.
pub(super) fn carry_ids(found: &mut [TrackedProposal<'_>], known: &[Proposal]) {
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for (at, one) in found.iter().enumerate() {
        for (before, earlier) in known.iter().enumerate() {
            let Proposal { component, agent, .. } = &one.proposal;
            if (component, agent) == (&earlier.component, &earlier.agent) {
                pairs.push((overlap(&earlier.evidence, &one.traces), at, before));
            }
        }
    }
    pairs.retain(|(share, ..)| *share >= SAME);
    pairs.sort_by(|one, other| {
        other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2)))
    });
    let (mut named, mut used) = (BTreeSet::new(), BTreeSet::new());
    for (_, at, before) in pairs {
        if named.contains(&at) || used.contains(&before) {
            continue;
        }
        if let (Some(one), Some(earlier)) = (found.get_mut(at), known.get(before)) {
            one.proposal.id.clone_from(&earlier.id);
            named.insert(at);
            used.insert(before);
        }
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let is_carried = |at: &usize| named.contains(at);
    let order =
        (0..found.len()).filter(is_carried).chain((0..found.len()).filter(|at| !is_carried(at)));
    for at in order.collect::<Vec<_>>() {
        if let Some(one) = found.get_mut(at)
            && !taken.insert(one.proposal.id.clone())
        {
            one.proposal.id.clone_from(&one.own_id);
            taken.insert(one.own_id.clone());
        }
    }
}

/// Returns the id that a group has in every week: that of its proposal, of the earlier one with the
/// same traces, or else its own.
pub(super) fn tracked_id(
    (group, own): (&FailureGroup, String),
    found: &[TrackedProposal<'_>],
    (traces, known): (&[ObservedTrace], &[Proposal]),
) -> String {
    if let Some(one) = found.iter().find(|one| one.own_id == own) {
        return one.proposal.id.clone();
    }
    let members = group.members.iter().map(|at| traces[*at].id.as_str()).collect();
    let is_free = |earlier: &&Proposal| found.iter().all(|one| one.proposal.id != earlier.id);
    let earlier = known.iter().filter(is_free);
    let same = earlier.map(|earlier| (overlap(&earlier.evidence, &members), earlier));
    let same = same.filter(|(share, _)| *share >= SAME);
    same.max_by(|one, other| one.0.total_cmp(&other.0))
        .map_or(own, |(_, earlier)| earlier.id.clone())
}

/// Returns known proposals that have become groups too small to propose, or no group at all.
pub(super) fn faded(
    found: &[TrackedProposal<'_>],
    (groups, traces): (&[FailureGroup], &[ObservedTrace]),
    known: &[Proposal],
) -> Vec<FadedPattern> {
    let members = |group: &FailureGroup| -> BTreeSet<&str> {
        group.members.iter().map(|at| traces[*at].id.as_str()).collect()
    };
    let all: Vec<(BTreeSet<&str>, usize)> = groups
        .iter()
        .map(|group| {
            let of_week = group.members.iter().filter(|at| traces[**at].weeks_ago == 0);
            (members(group), of_week.count())
        })
        .collect();
    let is_proposed = |earlier: &Proposal| {
        found.iter().any(|one| {
            one.proposal.id == earlier.id || overlap(&earlier.evidence, &one.traces) >= SAME
        })
    };
    let pattern = |earlier: &Proposal| {
        let best = all.iter().map(|(traces, now)| (overlap(&earlier.evidence, traces), *now));
        let best = best.filter(|(share, _)| *share >= SAME);
        let failures = best.max_by(|one, other| one.0.total_cmp(&other.0)).map_or(0, |best| best.1);
        FadedPattern {
            id: earlier.id.clone(),
            component: earlier.component,
            agent: earlier.agent.clone(),
            title: earlier.title.clone(),
            failures,
            before: earlier.failures,
            trend: if failures == 0 { Trend::Gone } else { Trend::Shrinking },
        }
    };
    known.iter().filter(|earlier| !is_proposed(earlier)).map(pattern).collect()
}

/// Returns the traces as a report on the week before saw them.
pub(super) fn week_before(traces: &[ObservedTrace]) -> Vec<ObservedTrace> {
    let earlier = traces.iter().filter(|trace| trace.weeks_ago > 0);
    earlier.map(|trace| ObservedTrace { weeks_ago: trace.weeks_ago - 1, ..trace.clone() }).collect()
}

fn overlap(evidence: &[String], traces: &BTreeSet<&str>) -> f64 {
    let shared = evidence.iter().filter(|id| traces.contains(id.as_str())).count();
    float(shared) / float(evidence.len().max(1))
}
