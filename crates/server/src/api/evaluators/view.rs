use ratchet_core::catalog::evaluator::document::{
    DEFAULT_DAILY_COST_CAP, EvaluationRule, EvaluationTarget, EvaluatorState,
};
use ratchet_stages::score::evaluators::manage::EvaluatorOverview;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An evaluator and what it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorStatusView {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// `active`, `inactive` without an enabled rule, or `paused`.
    pub state: String,
    /// Why it is paused.
    pub reason: Option<String>,
    /// The version that runs.
    pub version: u32,
    /// The judge; null if it names none.
    pub judge: Option<String>,
    /// Name of its scores.
    pub score_name: String,
    /// Rules that use it.
    pub rules: Vec<RuleStatusView>,
    /// The last 24 hours.
    pub last_day: ActivityView,
    /// Records of the last 30 days that were not judged when they arrived: the evaluator was paused
    /// or at its cost cap, or they had ended more than an hour before. A backfill judges them.
    pub skipped_last_30_days: u64,
    /// Cost since midnight (UTC) in US dollars, with what calls without an answer may have cost.
    pub cost_today: f64,
    /// Cost cap of a day in US dollars.
    pub daily_cost_cap: f64,
    /// Records that wait for a verdict.
    pub waiting: u64,
    /// When the one that waits longest was enqueued, RFC 3339.
    pub waiting_since: Option<String>,
    /// Records whose evaluation was given up; `ratchet jobs list --kind evaluation` has the reasons.
    pub dead_letters: u64,
    /// How often the verdicts of this version say what people say of the same records; null if no
    /// person has scored any.
    pub agreement: Option<AgreementView>,
    /// Verdicts of the last 24 hours about the agent of the query; null without one.
    pub judged_of_agent: Option<u64>,
}

/// A rule that uses an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleStatusView {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Whether it evaluates what arrives.
    pub is_running: bool,
    /// `trace`, `observation`, `session` or `experiment`.
    pub target: String,
    /// Share of the matching records, from 0 to 1.
    pub sampling: f64,
    /// How long a record must have been still, in seconds.
    pub delay_seconds: u64,
}

/// What an evaluator did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityView {
    /// Verdicts.
    pub judged: u64,
    /// Records without a verdict: paused, at the cost cap, ended long before they arrived, or nothing
    /// to judge.
    pub skipped: u64,
    /// Failed attempts.
    pub failed: u64,
    /// Model calls that were sent.
    pub calls: u64,
    /// Calls whose cost is unknown.
    pub unpriced_calls: u64,
    /// Known cost in US dollars.
    pub cost: f64,
    /// Verdicts per hour.
    pub judged_per_hour: f64,
    /// Mean time from a record's last change to its verdict; null without verdicts.
    pub mean_lag_seconds: Option<f64>,
}

/// Agreement with people, at a threshold of 0.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgreementView {
    /// Share of equal verdicts.
    pub value: f64,
    /// Traces that both judged.
    pub n: u64,
    /// 95% confidence interval.
    pub interval: Option<[f64; 2]>,
}

impl From<EvaluatorOverview> for EvaluatorStatusView {
    fn from(overview: EvaluatorOverview) -> Self {
        let reason = match &overview.state {
            EvaluatorState::Paused(_, reason) => Some(reason.clone()),
            EvaluatorState::Active | EvaluatorState::Inactive => None,
        };
        let activity = &overview.last_day;
        let last_day = ActivityView {
            judged: activity.judged,
            skipped: activity.skipped,
            failed: activity.failed,
            calls: activity.calls,
            unpriced_calls: activity.unpriced,
            cost: activity.cost.dollars(),
            judged_per_hour: overview.judged_per_hour(),
            mean_lag_seconds: overview.mean_lag_seconds(),
        };
        let agreement = overview.agreement.map(|estimate| AgreementView {
            value: estimate.value,
            n: estimate.n,
            interval: estimate.interval.map(|interval| [interval.lower, interval.upper]),
        });
        Self {
            state: overview.state.as_str().to_owned(),
            reason,
            version: overview.evaluator.latest().map_or(0, |latest| latest.version),
            judge: overview.judge(),
            score_name: overview.score_name().to_owned(),
            rules: overview.rules.iter().map(RuleStatusView::of).collect(),
            last_day,
            skipped_last_30_days: overview.skipped_last_30_days,
            cost_today: (overview.today.cost + overview.today.reserved).dollars(),
            daily_cost_cap: overview.evaluator.daily_cost_cap.unwrap_or(DEFAULT_DAILY_COST_CAP),
            waiting: overview.queue.waiting,
            waiting_since: overview.queue.oldest.map(|oldest| oldest.to_string()),
            dead_letters: overview.queue.dead,
            agreement,
            judged_of_agent: overview.judged_of_agent,
            id: overview.evaluator.id,
            name: overview.evaluator.name,
        }
    }
}

impl RuleStatusView {
    fn of(rule: &EvaluationRule) -> Self {
        Self {
            id: rule.id.clone(),
            name: rule.name.clone(),
            is_running: rule.is_running(),
            target: target(rule.target).to_owned(),
            sampling: rule.sampling,
            delay_seconds: rule.delay().as_secs(),
        }
    }
}

pub(super) const fn target(target: EvaluationTarget) -> &'static str {
    match target {
        EvaluationTarget::Trace => "trace",
        EvaluationTarget::Observation => "observation",
        EvaluationTarget::Session => "session",
        EvaluationTarget::Experiment => "experiment",
    }
}
