//! What proposals were worth: how many were accepted, how soon, how many were wrong, and what the
//! promoted ones changed.

/// Before and after a promotion, against groups of failures without a change.
mod lift;

use serde::{Deserialize, Serialize};

use super::agent_week::AgentWeek;
use super::backlog::{ProposalSource, ProposalStatus};
use super::diagnosis::Component;
use super::proposal::Impact;
use crate::stats::bounded;
use crate::stats::float;
use crate::stats::interval::{Estimate, share};
use crate::time::Timestamp;

pub use lift::ProposalLift;

/// Acceptance below which the diagnoses need to be looked at.
pub const ENOUGH_ACCEPTED: f64 = 0.5;
/// Decisions, and closed proposals with a lift, from which on there are rates.
pub const MIN_CLOSED: usize = 5;
/// Rejections that are listed for a component.
const MAX_MISSES: usize = 5;
const DAY: f64 = 86_400.0 * 1e9;

/// A proposal and when what happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposalHistory {
    pub id: String,
    /// Key of its group of failures.
    pub key: String,
    pub title: String,
    pub component: Component,
    pub source: ProposalSource,
    pub agent: Option<String>,
    pub status: ProposalStatus,
    pub created_at: Timestamp,
    /// Time of the first decision: accepted or rejected.
    pub decided_at: Option<Timestamp>,
    /// When its experiment began, or the change was made elsewhere.
    pub tried_at: Option<Timestamp>,
    /// When users got the change.
    pub promoted_at: Option<Timestamp>,
}

/// A share, or a mean of days, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueFigure {
    pub value: f64,
    /// 95% confidence interval; `None` if there are too few.
    pub interval: Option<[f64; 2]>,
    pub n: usize,
}

/// Decisions about proposals that change a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosisValue {
    pub component: Component,
    pub accepted: usize,
    pub rejected: usize,
    pub false_positives: usize,
    /// Titles of the last rejected ones, with the reasons.
    pub misses: Vec<String>,
}

/// Which share of what it addresses a change fixes: from closed proposals.
pub type FixRate = ValueFigure;

/// What the proposals of a project were worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposalValue {
    pub made: usize,
    /// Accepted or rejected.
    pub decided: usize,
    /// Of those that were decided.
    pub acceptance: Option<ValueFigure>,
    /// Wrong or unhelpful, of those that were decided; also those that were promoted and changed
    /// nothing.
    pub false_positives: Option<ValueFigure>,
    /// Mean days from proposal to decision.
    pub days_to_decision: Option<ValueFigure>,
    /// Mean days from proposal to experiment.
    pub days_to_experiment: Option<ValueFigure>,
    /// Promoted proposals, newest first.
    pub lifts: Vec<ProposalLift>,
    /// `None` before five closed proposals with a measured lift.
    pub fix_rate: Option<FixRate>,
    /// Whether fewer than half were accepted.
    pub needs_recalibration: bool,
    /// By component, those that miss most first.
    pub diagnoses: Vec<DiagnosisValue>,
}

/// Computes the value from all proposals and the stored weeks of all agents, by first day.
pub fn value(histories: &[ProposalHistory], weeks: &[(String, AgentWeek)]) -> ProposalValue {
    let decided: Vec<&ProposalHistory> =
        histories.iter().filter(|one| one.decided_at.is_some() && is_decided(one)).collect();
    let accepted = decided.iter().filter(|one| one.status.state.is_acted_on()).count();
    let mut lifts: Vec<ProposalLift> =
        histories.iter().filter_map(|one| lift::of(one, histories, weeks)).collect();
    lifts.sort_by(|one, other| other.promoted_at.cmp(&one.promoted_at));
    let is_false = |one: &&&ProposalHistory| is_false_positive(one, &lifts);
    let acceptance = of_share(accepted, decided.len());
    let needs_recalibration = decided.len() >= MIN_CLOSED
        && acceptance.is_some_and(|share| share.value < ENOUGH_ACCEPTED);
    ProposalValue {
        made: histories.len(),
        decided: decided.len(),
        acceptance,
        false_positives: of_share(decided.iter().filter(is_false).count(), decided.len()),
        days_to_decision: days(histories, |one| one.decided_at),
        days_to_experiment: days(histories, |one| one.tried_at),
        fix_rate: fix_rate(&lifts),
        needs_recalibration,
        diagnoses: diagnoses(&decided, &lifts),
        lifts,
    }
}

impl Impact {
    /// Multiplies the share of traffic by the share of it that changes fix.
    #[must_use]
    pub fn with_fix_rate(self, rate: &FixRate) -> Self {
        let [lower, upper] = rate.interval.unwrap_or([0.0, 1.0]);
        Self {
            value: self.value * rate.value,
            interval: [self.interval[0] * lower, self.interval[1] * upper],
            at_most: false,
        }
    }
}

fn is_decided(one: &ProposalHistory) -> bool {
    one.status.state.is_acted_on() || one.status.rejection.is_some()
}

fn is_false_positive(one: &ProposalHistory, lifts: &[ProposalLift]) -> bool {
    let is_rejected =
        one.status.rejection.as_ref().is_some_and(|rejection| rejection.kind.is_false_positive());
    let lift = lifts.iter().find(|lift| lift.id == one.id);
    let has_no_lift = lift.and_then(|lift| lift.interval).is_some_and(|[_, upper]| upper <= 0.0);
    is_rejected || has_no_lift
}

fn of_share(count: usize, of: usize) -> Option<ValueFigure> {
    share(count as u64, of as u64).map(figure)
}

fn figure(estimate: Estimate) -> ValueFigure {
    ValueFigure {
        value: estimate.value,
        interval: estimate.interval.map(|interval| [interval.lower, interval.upper]),
        n: usize::try_from(estimate.n).unwrap_or(usize::MAX),
    }
}

fn days(
    histories: &[ProposalHistory],
    end: impl Fn(&ProposalHistory) -> Option<Timestamp>,
) -> Option<ValueFigure> {
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    let passed = |one: &ProposalHistory| Some(end(one)?.since(one.created_at) as f64 / DAY);
    let values: Vec<f64> = histories.iter().filter_map(passed).map(|days| days.max(0.0)).collect();
    crate::stats::interval::mean(&values).ok().map(figure)
}

/// The mean over proposals of what share of the expected failures went away.
fn fix_rate(lifts: &[ProposalLift]) -> Option<FixRate> {
    let fixed: Vec<f64> = lifts.iter().filter_map(|lift| lift.fixed).collect();
    let rate = (fixed.len() >= MIN_CLOSED).then(|| bounded::mean_of_scores(&fixed).ok())?;
    rate.map(figure)
}

fn diagnoses(decided: &[&ProposalHistory], lifts: &[ProposalLift]) -> Vec<DiagnosisValue> {
    let of = |component: Component| {
        let own: Vec<_> = decided.iter().filter(|one| one.component == component).collect();
        let accepted = own.iter().filter(|one| one.status.state.is_acted_on()).count();
        let rejected = own.iter().filter_map(|one| {
            Some(format!("{}: {}", one.title, one.status.rejection.as_ref()?.reason))
        });
        DiagnosisValue {
            component,
            accepted,
            rejected: own.len() - accepted,
            false_positives: own.iter().filter(|one| is_false_positive(one, lifts)).count(),
            misses: rejected.take(MAX_MISSES).collect(),
        }
    };
    let mut found: Vec<DiagnosisValue> = Component::ALL.into_iter().map(of).collect();
    found.retain(|one| one.accepted + one.rejected > 0);
    let rate = |one: &DiagnosisValue| float(one.rejected) / float(one.accepted + one.rejected);
    found.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    found
}

#[cfg(test)]
mod tests;
