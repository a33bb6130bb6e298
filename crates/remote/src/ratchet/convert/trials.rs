use ratchet_core::experiment::runner::{
    CachedAnswer, ClaimOrder, ClaimedTrials, JudgeCall, LeaseOutcome, LeaseRenewal, LeaseRenewals,
    MissingVerdict, ReportedCall, TrialCall, TrialResult, TrialScore, TrialSummary, TrialsPage,
};

use super::converted;
use crate::ratchet::experiments::{
    CachedAnswerView, ClaimRequest, ClaimView, FinishRequest, JudgeCallView, LeaseRequest,
    LeaseView, MissingVerdictView, RenewRequest, ReportedCallForm, TrialResultForm, TrialScoreView,
    TrialSummaryView, TrialView, TrialsView,
};

impl From<ClaimRequest> for ClaimOrder {
    fn from(from: ClaimRequest) -> Self {
        let ClaimRequest { runner, limit, lease_seconds, ended_runners } = from;
        Self { runner, limit, lease_seconds, ended_runners }
    }
}

impl From<ClaimOrder> for ClaimRequest {
    fn from(from: ClaimOrder) -> Self {
        let ClaimOrder { runner, limit, lease_seconds, ended_runners } = from;
        Self { runner, limit, lease_seconds, ended_runners }
    }
}

impl From<ClaimView> for ClaimedTrials {
    fn from(from: ClaimView) -> Self {
        let ClaimView { trials, experiment } = from;
        Self { trials: converted(trials), experiment: experiment.into() }
    }
}

impl From<ClaimedTrials> for ClaimView {
    fn from(from: ClaimedTrials) -> Self {
        let ClaimedTrials { trials, experiment } = from;
        Self { trials: converted(trials), experiment: experiment.into() }
    }
}

impl From<TrialView> for TrialCall {
    fn from(from: TrialView) -> Self {
        let TrialView { id, lease, item, repeat, input, expected_output, metadata, cached } = from;
        Self {
            id,
            lease,
            item,
            repeat,
            input,
            expected_output,
            metadata,
            cached: cached.map(Into::into),
        }
    }
}

impl From<TrialCall> for TrialView {
    fn from(from: TrialCall) -> Self {
        let TrialCall { id, lease, item, repeat, input, expected_output, metadata, cached } = from;
        Self {
            id,
            lease,
            item,
            repeat,
            input,
            expected_output,
            metadata,
            cached: cached.map(Into::into),
        }
    }
}

impl From<CachedAnswerView> for CachedAnswer {
    fn from(from: CachedAnswerView) -> Self {
        let CachedAnswerView { answer, trace } = from;
        Self { answer, trace }
    }
}

impl From<CachedAnswer> for CachedAnswerView {
    fn from(from: CachedAnswer) -> Self {
        let CachedAnswer { answer, trace } = from;
        Self { answer, trace }
    }
}

impl From<RenewRequest> for LeaseRenewals {
    fn from(from: RenewRequest) -> Self {
        let RenewRequest { leases, lease_seconds } = from;
        Self { leases: converted(leases), lease_seconds }
    }
}

impl From<LeaseRenewals> for RenewRequest {
    fn from(from: LeaseRenewals) -> Self {
        let LeaseRenewals { leases, lease_seconds } = from;
        Self { leases: converted(leases), lease_seconds }
    }
}

impl From<LeaseRequest> for LeaseRenewal {
    fn from(from: LeaseRequest) -> Self {
        let LeaseRequest { id, lease, new_call } = from;
        Self { id, lease, new_call }
    }
}

impl From<LeaseRenewal> for LeaseRequest {
    fn from(from: LeaseRenewal) -> Self {
        let LeaseRenewal { id, lease, new_call } = from;
        Self { id, lease, new_call }
    }
}

impl From<TrialResultForm> for TrialResult {
    fn from(from: TrialResultForm) -> Self {
        let TrialResultForm {
            id,
            lease,
            call,
            answer,
            fault,
            cached,
            started_at,
            ended_at,
            model,
            input_tokens,
            output_tokens,
            cost,
            calls,
            scores,
            not_judged,
            judge_calls,
        } = from;
        Self {
            id,
            lease,
            call,
            answer,
            fault,
            cached,
            started_at,
            ended_at,
            model,
            input_tokens,
            output_tokens,
            cost,
            calls: converted(calls),
            scores: converted(scores),
            not_judged: converted(not_judged),
            judge_calls: converted(judge_calls),
        }
    }
}

impl From<TrialResult> for TrialResultForm {
    fn from(from: TrialResult) -> Self {
        let TrialResult {
            id,
            lease,
            call,
            answer,
            fault,
            cached,
            started_at,
            ended_at,
            model,
            input_tokens,
            output_tokens,
            cost,
            calls,
            scores,
            not_judged,
            judge_calls,
        } = from;
        Self {
            id,
            lease,
            call,
            answer,
            fault,
            cached,
            started_at,
            ended_at,
            model,
            input_tokens,
            output_tokens,
            cost,
            calls: converted(calls),
            scores: converted(scores),
            not_judged: converted(not_judged),
            judge_calls: converted(judge_calls),
        }
    }
}

impl From<JudgeCallView> for JudgeCall {
    fn from(from: JudgeCallView) -> Self {
        let JudgeCallView { score, model, messages, output, usage, cost, started_at, ended_at } =
            from;
        Self { score, model, messages, output, usage, cost, started_at, ended_at }
    }
}

impl From<JudgeCall> for JudgeCallView {
    fn from(from: JudgeCall) -> Self {
        let JudgeCall { score, model, messages, output, usage, cost, started_at, ended_at } = from;
        Self { score, model, messages, output, usage, cost, started_at, ended_at }
    }
}

impl From<MissingVerdictView> for MissingVerdict {
    fn from(from: MissingVerdictView) -> Self {
        let MissingVerdictView { name, reason, cost } = from;
        Self { name, reason, cost }
    }
}

impl From<MissingVerdict> for MissingVerdictView {
    fn from(from: MissingVerdict) -> Self {
        let MissingVerdict { name, reason, cost } = from;
        Self { name, reason, cost }
    }
}

impl From<TrialScoreView> for TrialScore {
    fn from(from: TrialScoreView) -> Self {
        let TrialScoreView { name, value, comment, observation, cost } = from;
        Self { name, value, comment, observation, cost }
    }
}

impl From<TrialScore> for TrialScoreView {
    fn from(from: TrialScore) -> Self {
        let TrialScore { name, value, comment, observation, cost } = from;
        Self { name, value, comment, observation, cost }
    }
}

impl From<LeaseView> for LeaseOutcome {
    fn from(from: LeaseView) -> Self {
        let LeaseView { lost, experiment } = from;
        Self { lost, experiment: experiment.into() }
    }
}

impl From<LeaseOutcome> for LeaseView {
    fn from(from: LeaseOutcome) -> Self {
        let LeaseOutcome { lost, experiment } = from;
        Self { lost, experiment: experiment.into() }
    }
}

impl From<TrialsView> for TrialsPage {
    fn from(from: TrialsView) -> Self {
        let TrialsView { trials, cursor } = from;
        Self { trials: converted(trials), cursor }
    }
}

impl From<TrialsPage> for TrialsView {
    fn from(from: TrialsPage) -> Self {
        let TrialsPage { trials, cursor } = from;
        Self { trials: converted(trials), cursor }
    }
}

impl From<TrialSummaryView> for TrialSummary {
    fn from(from: TrialSummaryView) -> Self {
        let TrialSummaryView {
            id,
            item,
            version,
            repeat,
            state,
            calls,
            cached,
            fault,
            trace,
            latency_ms,
            cost,
            scores,
            not_judged,
            runner,
        } = from;
        Self {
            id,
            item,
            version,
            repeat,
            state,
            calls,
            cached,
            fault,
            trace,
            latency_ms,
            cost,
            scores: converted(scores),
            not_judged: converted(not_judged),
            runner,
        }
    }
}

impl From<TrialSummary> for TrialSummaryView {
    fn from(from: TrialSummary) -> Self {
        let TrialSummary {
            id,
            item,
            version,
            repeat,
            state,
            calls,
            cached,
            fault,
            trace,
            latency_ms,
            cost,
            scores,
            not_judged,
            runner,
        } = from;
        Self {
            id,
            item,
            version,
            repeat,
            state,
            calls,
            cached,
            fault,
            trace,
            latency_ms,
            cost,
            scores: converted(scores),
            not_judged: converted(not_judged),
            runner,
        }
    }
}

impl FinishRequest {
    /// Returns the results that are reported.
    pub fn results(self) -> Vec<TrialResult> {
        converted(self.results)
    }
}

impl From<&[TrialResult]> for FinishRequest {
    fn from(results: &[TrialResult]) -> Self {
        Self { results: converted(results.to_vec()) }
    }
}

impl From<ReportedCallForm> for ReportedCall {
    fn from(from: ReportedCallForm) -> Self {
        let ReportedCallForm { id, parent, name, input, output, failed, started_ms, ended_ms } =
            from;
        Self { id, parent, name, input, output, failed, started_ms, ended_ms }
    }
}

impl From<ReportedCall> for ReportedCallForm {
    fn from(from: ReportedCall) -> Self {
        let ReportedCall { id, parent, name, input, output, failed, started_ms, ended_ms } = from;
        Self { id, parent, name, input, output, failed, started_ms, ended_ms }
    }
}
