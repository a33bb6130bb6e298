use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ProposalHistory;
use crate::improve::agent_week::AgentWeek;
use crate::improve::backlog::ProposalState;
use crate::improve::diagnosis::Component;
use crate::stats::float;
use crate::stats::interval::student_95;
use crate::time::Timestamp;

/// Weeks before and after a promotion that are compared.
const WEEKS: usize = 4;
/// Untouched groups that a comparison needs.
const MIN_CONTROLS: usize = 3;
/// Failures before by which a group is a control: those that a proposal needs.
const MIN_FAILURES: usize = 3;
const WEEK: i64 = 7 * 86_400 * 1_000_000_000;

/// What a promoted proposal changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposalLift {
    pub id: String,
    pub title: String,
    pub component: Component,
    /// When users got the change, RFC 3339.
    pub promoted_at: String,
    /// Share of the agent's traffic that failed for this reason, before and after.
    pub before: Option<f64>,
    pub after: Option<f64>,
    /// Groups of failures of the same weeks without a change.
    pub controls: usize,
    /// What the share would have become without the change, by how the untouched groups developed:
    /// proposals are about groups that were just large, and many of these shrink by themselves.
    pub expected: Option<f64>,
    /// Expected minus after: the share of traffic that was gained.
    pub lift: Option<f64>,
    /// 95% confidence interval.
    pub interval: Option<[f64; 2]>,
    /// The share of the expected failures that went away, from 0 to 1.
    pub fixed: Option<f64>,
    /// Why there is no lift yet.
    pub why: Option<String>,
}

/// Weeks on both sides of a moment.
struct LiftSides<'a> {
    before: Vec<&'a AgentWeek>,
    after: Vec<&'a AgentWeek>,
}

impl<'a> LiftSides<'a> {
    /// The nearest whole weeks of an agent that somebody reviewed.
    fn of(agent: &str, at: Timestamp, weeks: &'a [(String, AgentWeek)]) -> Self {
        let is_known = |week: &AgentWeek| week.reviewed > 0 && week.traffic > 0;
        let own = weeks.iter().filter(|(_, week)| week.agent == agent && is_known(week));
        let mut own: Vec<(Timestamp, &AgentWeek)> =
            own.filter_map(|(first, week)| Some((start(first)?, week))).collect();
        own.sort_by_key(|(first, _)| *first);
        let before = own.iter().rev().filter(|(first, _)| first.plus_nanos(WEEK) <= at);
        let after = own.iter().filter(|(first, _)| *first >= at);
        Self {
            before: before.take(WEEKS).map(|(_, week)| *week).collect(),
            after: after.take(WEEKS).map(|(_, week)| *week).collect(),
        }
    }
}

fn start(first_day: &str) -> Option<Timestamp> {
    Timestamp::parse(&format!("{first_day}T00:00:00Z")).ok()
}

/// Share of traffic of a group, its variance and its failures.
#[derive(Clone, Copy, Debug, Default)]
struct GroupShare {
    value: f64,
    variance: f64,
    failures: usize,
}

fn share_of(id: &str, weeks: &[&AgentWeek]) -> Option<GroupShare> {
    let traffic: usize = weeks.iter().map(|week| week.traffic).sum();
    if traffic == 0 {
        return None;
    }
    let groups = weeks.iter().flat_map(|week| week.groups.iter().filter(|group| group.id == id));
    let (mut weighted, mut squares, mut failures) = (0.0, 0.0, 0);
    for group in groups {
        weighted += group.weighted;
        squares += group.squares;
        failures += group.failures;
    }
    let traffic = float(traffic);
    // No failure at all is not certain either: it counts like one.
    let variance = f64::max(squares, 1.0) / (traffic * traffic);
    Some(GroupShare { value: weighted / traffic, variance, failures })
}

/// Returns the lift of a promoted proposal; `None` for others.
pub(super) fn of(
    one: &ProposalHistory,
    all: &[ProposalHistory],
    weeks: &[(String, AgentWeek)],
) -> Option<ProposalLift> {
    let at = one.promoted_at.filter(|_| one.status.state == ProposalState::Promoted)?;
    let agent = one.agent.as_deref()?;
    let sides = LiftSides::of(agent, at, weeks);
    let (before, after) = (share_of(&one.key, &sides.before), share_of(&one.key, &sides.after));
    let mut lift = ProposalLift {
        id: one.id.clone(),
        title: one.title.clone(),
        component: one.component,
        promoted_at: at.to_string(),
        before: before.map(|share| share.value),
        after: after.map(|share| share.value),
        controls: 0,
        expected: None,
        lift: None,
        interval: None,
        fixed: None,
        why: None,
    };
    let (Some(before), Some(after)) = (before, after) else {
        let side = if before.is_none() { "before" } else { "after" };
        lift.why = Some(format!("no whole week with reviews {side} the promotion"));
        return Some(lift);
    };
    let controls = controls(all, at, weeks);
    lift.controls = controls.len();
    if controls.len() < MIN_CONTROLS {
        let count = controls.len();
        lift.why = Some(format!(
            "{count} untouched groups of failures to compare with, {MIN_CONTROLS} needed"
        ));
        return Some(lift);
    }
    compare(&mut lift, (before, after), &controls);
    Some(lift)
}

/// Groups that no accepted proposal is about, as large before as a proposal needs: before and after.
fn controls(
    all: &[ProposalHistory],
    at: Timestamp,
    weeks: &[(String, AgentWeek)],
) -> Vec<(GroupShare, GroupShare)> {
    let touched = all.iter().filter(|one| one.status.state.is_acted_on());
    let touched: BTreeSet<&str> = touched.map(|one| one.key.as_str()).collect();
    let agents: BTreeSet<&str> = weeks.iter().map(|(_, week)| week.agent.as_str()).collect();
    let mut found = Vec::new();
    for agent in agents {
        let sides = LiftSides::of(agent, at, weeks);
        let groups = sides.before.iter().flat_map(|week| &week.groups);
        let ids: BTreeSet<&str> = groups.map(|group| group.id.as_str()).collect();
        for id in ids.difference(&touched) {
            let pair = share_of(id, &sides.before).zip(share_of(id, &sides.after));
            found.extend(pair.filter(|(before, _)| before.failures >= MIN_FAILURES));
        }
    }
    found
}

/// The ratio by which untouched groups changed, applied to the group. Its interval covers how much
/// single untouched groups differ from their common ratio, and is no narrower than the counts allow.
fn compare(
    lift: &mut ProposalLift,
    (before, after): (GroupShare, GroupShare),
    controls: &[(GroupShare, GroupShare)],
) {
    let sum = |pick: &dyn Fn(&(GroupShare, GroupShare)) -> f64| -> f64 {
        controls.iter().map(pick).sum()
    };
    let (whole_before, whole_after) = (sum(&|pair| pair.0.value), sum(&|pair| pair.1.value));
    let ratio = whole_after / whole_before;
    let freedom = float(controls.len()) - 1.0;
    let spread = sum(&|(before, after)| {
        let rest = after.value - ratio * before.value;
        rest * rest / before.value
    }) / freedom;
    let ratio_variance = spread / whole_before;
    let chance = after.variance + ratio * ratio * before.variance;
    let variance =
        f64::max(spread * before.value, chance) + before.value * before.value * ratio_variance;
    let half = student_95(freedom) * variance.sqrt();
    let expected = ratio * before.value;
    let gained = expected - after.value;
    lift.expected = Some(expected);
    lift.lift = Some(gained);
    lift.interval = Some([gained - half, gained + half]);
    lift.fixed = (expected > 0.0).then(|| (gained / expected).clamp(0.0, 1.0));
}
