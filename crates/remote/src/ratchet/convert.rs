//! Conversions of requests and responses from and to the types of `core`.

mod trials;

use ratchet_core::experiment::plan::{
    AddedRepeats, ExperimentPlan, ExperimentProgress, PlannedTarget, ServerTarget, TargetDefinition,
};
use ratchet_core::gate::stored_answer::{AnswerVerdict, StoredAnswer, StoredAnswers};

use super::experiments::{
    ExperimentRequest, ExperimentRunView, ExperimentTarget, ExperimentsView, ExtendRequest,
    ServerTargetRequest, ServerTargetView, ServerTargetsView,
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

impl From<StoredAnswersView> for StoredAnswers {
    fn from(from: StoredAnswersView) -> Self {
        let StoredAnswersView { score, evaluator, evaluator_version, answers, more } = from;
        Self { score, evaluator, evaluator_version, answers: converted(answers), more }
    }
}

impl From<StoredAnswers> for StoredAnswersView {
    fn from(from: StoredAnswers) -> Self {
        let StoredAnswers { score, evaluator, evaluator_version, answers, more } = from;
        Self { score, evaluator, evaluator_version, answers: converted(answers), more }
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
