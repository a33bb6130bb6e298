//! Conversions of the requests and responses from and to the types of `core`.

use ratchet_core::experiment::plan::{
    AddedRepeats, ExperimentPlan, ExperimentProgress, PlannedTarget, ServerTarget, TargetDefinition,
};
use ratchet_core::experiment::runner::{
    CachedAnswer, ClaimOrder, ClaimedTrials, LeaseOutcome, LeaseRenewal, LeaseRenewals,
    MissingVerdict, TrialCall, TrialResult, TrialScore, TrialSummary, TrialsPage,
};
use ratchet_core::gate::stored_answer::{AnswerVerdict, StoredAnswer, StoredAnswers};

use super::experiments::{
    CachedAnswerView, ClaimRequest, ClaimView, ExperimentRequest, ExperimentRunView,
    ExperimentTarget, ExperimentsView, ExtendRequest, FinishRequest, LeaseRequest, LeaseView,
    MissingVerdictView, RenewRequest, ServerTargetRequest, ServerTargetView, ServerTargetsView,
    TrialResultForm, TrialScoreView, TrialSummaryView, TrialView, TrialsView,
};
use super::gates::{AnswerVerdictForm, StoredAnswerView, StoredAnswersView};

/// Converts each of a list.
pub(super) fn converted<A: Into<B>, B>(all: Vec<A>) -> Vec<B> {
    all.into_iter().map(Into::into).collect()
}

impl From<ExperimentRequest> for ExperimentPlan {
    fn from(from: ExperimentRequest) -> Self {
        let ExperimentRequest {
            dataset,
            run,
            target,
            evaluators,
            evaluator_versions,
            repeats,
            filter,
            limit,
            max_cost,
            cache,
            description,
        } = from;
        Self {
            dataset,
            run,
            target: target.into(),
            evaluators,
            evaluator_versions,
            repeats,
            filter,
            limit,
            max_cost,
            cache,
            description,
        }
    }
}

impl From<ExperimentPlan> for ExperimentRequest {
    fn from(from: ExperimentPlan) -> Self {
        let ExperimentPlan {
            dataset,
            run,
            target,
            evaluators,
            evaluator_versions,
            repeats,
            filter,
            limit,
            max_cost,
            cache,
            description,
        } = from;
        Self {
            dataset,
            run,
            target: target.into(),
            evaluators,
            evaluator_versions,
            repeats,
            filter,
            limit,
            max_cost,
            cache,
            description,
        }
    }
}

impl From<ExperimentTarget> for PlannedTarget {
    fn from(from: ExperimentTarget) -> Self {
        let ExperimentTarget { name, kind, fingerprint, version, environment, on_server } = from;
        Self { name, kind, fingerprint, version, environment, on_server }
    }
}

impl From<PlannedTarget> for ExperimentTarget {
    fn from(from: PlannedTarget) -> Self {
        let PlannedTarget { name, kind, fingerprint, version, environment, on_server } = from;
        Self { name, kind, fingerprint, version, environment, on_server }
    }
}

impl From<ServerTarget> for ServerTargetView {
    fn from(from: ServerTarget) -> Self {
        let ServerTarget { name, kind, source, environments, definition, secrets, updated_at } =
            from;
        Self { name, kind, source, environments, definition, secrets, updated_at }
    }
}

impl From<ServerTargetRequest> for TargetDefinition {
    fn from(from: ServerTargetRequest) -> Self {
        let ServerTargetRequest { definition, secrets } = from;
        Self { definition, secrets }
    }
}

impl From<ExperimentRunView> for ExperimentProgress {
    fn from(from: ExperimentRunView) -> Self {
        let ExperimentRunView {
            id,
            name,
            dataset,
            state,
            target,
            evaluators,
            repeats,
            trials,
            done,
            faults,
            cached,
            calls,
            unpriced,
            cost,
            max_cost,
            created_at,
            finished_at,
        } = from;
        Self {
            id,
            name,
            dataset,
            state,
            target: target.map(Into::into),
            evaluators,
            repeats,
            trials,
            done,
            faults,
            cached,
            calls,
            unpriced,
            cost,
            max_cost,
            created_at,
            finished_at,
        }
    }
}

impl From<ExperimentProgress> for ExperimentRunView {
    fn from(from: ExperimentProgress) -> Self {
        let ExperimentProgress {
            id,
            name,
            dataset,
            state,
            target,
            evaluators,
            repeats,
            trials,
            done,
            faults,
            cached,
            calls,
            unpriced,
            cost,
            max_cost,
            created_at,
            finished_at,
        } = from;
        Self {
            id,
            name,
            dataset,
            state,
            target: target.map(Into::into),
            evaluators,
            repeats,
            trials,
            done,
            faults,
            cached,
            calls,
            unpriced,
            cost,
            max_cost,
            created_at,
            finished_at,
        }
    }
}

impl From<ExtendRequest> for AddedRepeats {
    fn from(from: ExtendRequest) -> Self {
        let ExtendRequest { repeats, items } = from;
        Self { repeats, items }
    }
}

impl From<AddedRepeats> for ExtendRequest {
    fn from(from: AddedRepeats) -> Self {
        let AddedRepeats { repeats, items } = from;
        Self { repeats, items }
    }
}

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
            scores,
            not_judged,
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
            scores: converted(scores),
            not_judged: converted(not_judged),
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
            scores,
            not_judged,
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
            scores: converted(scores),
            not_judged: converted(not_judged),
        }
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

impl From<StoredAnswersView> for StoredAnswers {
    fn from(from: StoredAnswersView) -> Self {
        let StoredAnswersView { score, evaluator, evaluator_version, answers } = from;
        Self { score, evaluator, evaluator_version, answers: converted(answers) }
    }
}

impl From<StoredAnswers> for StoredAnswersView {
    fn from(from: StoredAnswers) -> Self {
        let StoredAnswers { score, evaluator, evaluator_version, answers } = from;
        Self { score, evaluator, evaluator_version, answers: converted(answers) }
    }
}

impl From<StoredAnswerView> for StoredAnswer {
    fn from(from: StoredAnswerView) -> Self {
        let StoredAnswerView { run, trace, item, input, expected_output, output } = from;
        Self { run, trace, item, input, expected_output, output }
    }
}

impl From<StoredAnswer> for StoredAnswerView {
    fn from(from: StoredAnswer) -> Self {
        let StoredAnswer { run, trace, item, input, expected_output, output } = from;
        Self { run, trace, item, input, expected_output, output }
    }
}

impl From<AnswerVerdictForm> for AnswerVerdict {
    fn from(from: AnswerVerdictForm) -> Self {
        let AnswerVerdictForm { trace, value, comment, cost } = from;
        Self { trace, value, comment, cost }
    }
}

impl From<AnswerVerdict> for AnswerVerdictForm {
    fn from(from: AnswerVerdict) -> Self {
        let AnswerVerdict { trace, value, comment, cost } = from;
        Self { trace, value, comment, cost }
    }
}

impl From<Vec<ExperimentProgress>> for ExperimentsView {
    fn from(runs: Vec<ExperimentProgress>) -> Self {
        Self { experiments: converted(runs) }
    }
}

impl From<Vec<ServerTarget>> for ServerTargetsView {
    fn from(targets: Vec<ServerTarget>) -> Self {
        Self { targets: converted(targets) }
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
