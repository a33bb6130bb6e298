use ratchet_core::judge::code_evaluator::{CodeEvaluator, EvaluatedCase};
use ratchet_core::payload::Payload;
use ratchet_remote::ratchet::experiments::ExperimentRequest;
use ratchet_store::experiment::{Experiment, Outcome, StoredExperimentItem};
use serde_json::Value;

use super::{GateContext, GateError};

/// The evaluator behind a score of a run that Ratchet drove.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunEvaluator {
    /// Its short form, such as `numeric:0.01`.
    pub(super) text: String,
    code: CodeEvaluator,
}

/// The evaluators of a run that Ratchet drove, in their short form; none for runs of others.
#[derive(Clone, Debug, Default)]
pub(super) struct RunEvaluators(Vec<String>);

impl RunEvaluators {
    pub(super) async fn of(context: GateContext<'_>, run: &Experiment) -> Result<Self, GateError> {
        let catalog = &context.store.catalog;
        let found = catalog.experiment_run(context.project.clone(), run.id.clone()).await?;
        let plan: Option<ExperimentRequest> =
            found.and_then(|run| serde_json::from_str(run.plan.as_str()).ok());
        Ok(Self(plan.map(|plan| plan.evaluators).unwrap_or_default()))
    }

    /// Returns the evaluator of a score, if it is one of Ratchet's.
    pub(super) fn of_score(&self, score: &str) -> Option<RunEvaluator> {
        self.0.iter().find_map(|text| {
            let code: CodeEvaluator = text.parse().ok()?;
            (code.score_name() == score).then(|| RunEvaluator { text: text.clone(), code })
        })
    }

    /// Returns their names.
    pub(super) fn text(&self) -> String {
        if self.0.is_empty() { "not named".to_owned() } else { self.0.join(", ") }
    }
}

impl RunEvaluator {
    /// Whether the answer and what was expected are all that it needs.
    pub(super) const fn is_pure(&self) -> bool {
        match self.code {
            CodeEvaluator::Exact
            | CodeEvaluator::Contains { .. }
            | CodeEvaluator::Regex { .. }
            | CodeEvaluator::JsonMatch { .. }
            | CodeEvaluator::Numeric { .. } => true,
            CodeEvaluator::Trajectory { .. }
            | CodeEvaluator::Routing { .. }
            | CodeEvaluator::Command { .. } => false,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.code == other.code
    }

    /// Judges the recorded answer of a trial; `None` without one, and without what was expected.
    pub(super) fn judge(&self, trial: &StoredExperimentItem) -> Option<f64> {
        let content = match trial.outcome.as_ref()? {
            Outcome::Run(trace) => trace.content.as_ref(),
            Outcome::Step(step) => step.content.as_ref(),
        };
        let answer = text_of(content?.output.as_ref()?);
        let expected: Option<Value> = trial
            .expected_output
            .as_ref()
            .and_then(|json| serde_json::from_str(json.as_str()).ok());
        let case = EvaluatedCase::new(&Value::Null, &answer);
        let case = match &expected {
            Some(expected) => case.expecting(expected),
            None => case,
        };
        self.code.evaluate(&case).verdict().map(|verdict| verdict.score)
    }
}

/// The text of an answer: a JSON string without its quotes.
fn text_of(output: &Payload) -> String {
    match serde_json::from_str(output.as_str()) {
        Ok(Value::String(text)) => text,
        _ => output.as_str().to_owned(),
    }
}
