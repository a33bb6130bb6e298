use std::collections::BTreeMap;

use ratchet_core::experiment::evaluator::TrialEvaluator;
use ratchet_core::experiment::plan::ExperimentPlan;
use ratchet_core::judge::code_evaluator::{CodeEvaluator, EvaluatedCase};
use ratchet_core::payload::Payload;
use ratchet_core::record::trace::Content;
use ratchet_store::catalog::ExperimentRun;
use ratchet_store::experiment::{Experiment, Outcome, StoredExperimentItem};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{GateContext, GateError};

/// The evaluator behind a score of a run that Ratchet drove.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunEvaluator {
    /// Its short form, such as `numeric:0.01`.
    pub(super) text: String,
    /// A hash of the model and the prompts of a judge.
    pub(super) version: Option<String>,
    evaluator: TrialEvaluator,
}

/// The evaluators of a run that Ratchet drove, in their short form; none for runs of others.
#[derive(Clone, Debug, Default)]
pub(super) struct RunEvaluators {
    texts: Vec<String>,
    /// Versions of judges, by the short form of their evaluators.
    versions: BTreeMap<String, String>,
}

impl RunEvaluators {
    pub(super) async fn of(context: GateContext<'_>, run: &Experiment) -> Result<Self, GateError> {
        let catalog = &context.store.catalog;
        let found = catalog.experiment_run(context.project.clone(), run.id.clone()).await?;
        Ok(found.as_ref().map(Self::of_run).unwrap_or_default())
    }

    pub(super) fn of_run(run: &ExperimentRun) -> Self {
        let plan: Option<ExperimentPlan> = serde_json::from_str(run.plan.as_str()).ok();
        plan.map(|plan| Self { texts: plan.evaluators, versions: plan.evaluator_versions })
            .unwrap_or_default()
    }

    /// Returns the evaluator of a score, if it is one of Ratchet's.
    pub(super) fn of_score(&self, score: &str) -> Option<RunEvaluator> {
        self.texts.iter().find_map(|text| {
            let evaluator: TrialEvaluator = text.parse().ok()?;
            let is_it = match &evaluator {
                TrialEvaluator::EachAgent(inner) => {
                    score.split_once('@').is_some_and(|(name, _)| name == inner.score_name())
                }
                TrialEvaluator::Run(_) => false,
                other => other.score_name() == score,
            };
            let version = self.versions.get(&evaluator.to_string()).cloned();
            is_it.then(|| RunEvaluator { text: text.clone(), version, evaluator })
        })
    }

    /// Returns their names.
    pub(super) fn text(&self) -> String {
        if self.texts.is_empty() { "not named".to_owned() } else { self.texts.join(", ") }
    }
}

impl RunEvaluator {
    /// Whether the answer and what was expected are all that it needs.
    pub(super) const fn is_pure(&self) -> bool {
        match &self.evaluator {
            TrialEvaluator::Code(code) => match code {
                CodeEvaluator::Exact
                | CodeEvaluator::Contains { .. }
                | CodeEvaluator::Regex { .. }
                | CodeEvaluator::JsonMatch { .. }
                | CodeEvaluator::Numeric { .. } => true,
                CodeEvaluator::Trajectory { .. }
                | CodeEvaluator::Routing { .. }
                | CodeEvaluator::Command { .. } => false,
            },
            TrialEvaluator::Accuracy { .. }
            | TrialEvaluator::EachAgent(_)
            | TrialEvaluator::Run(_) => false,
        }
    }

    /// Whether a command that has it can judge stored answers of whole runs.
    pub(super) const fn judges_stored_answers(&self) -> bool {
        let is_of_answers =
            !matches!(self.evaluator, TrialEvaluator::EachAgent(_) | TrialEvaluator::Run(_));
        !self.is_pure() && is_of_answers
    }

    /// Whether scores of both can be compared. A judge whose version is not known may be another one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.evaluator == other.evaluator && self.version == other.version
    }

    /// Returns its short form, and which version of a judge it is.
    pub(super) fn label(&self) -> String {
        match &self.version {
            Some(version) => format!("{} (version {version})", self.text),
            None => self.text.clone(),
        }
    }

    /// Returns the name of the score of an answer that it judged later. The score that the run has
    /// stays as it is.
    pub(super) fn later_score(&self, score: &str) -> String {
        format!("{score}{LATER}{})", self.fingerprint())
    }

    /// Returns what distinguishes the ids of these scores.
    pub(super) fn later_id(&self, score: &str) -> String {
        format!("{score}-{}", self.fingerprint())
    }

    fn fingerprint(&self) -> String {
        self.version.clone().unwrap_or_else(|| {
            let digest = Sha256::digest(&self.text);
            digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
        })
    }

    /// Judges the recorded answer of a trial; `None` without one, and without what was expected.
    pub(super) fn judge(&self, trial: &StoredExperimentItem) -> Option<f64> {
        let TrialEvaluator::Code(code) = &self.evaluator else { return None };
        let answer = text_of(content(trial)?.output.as_ref()?);
        let expected = expected(trial);
        let case = EvaluatedCase::new(&Value::Null, &answer);
        let case = match &expected {
            Some(expected) => case.expecting(expected),
            None => case,
        };
        code.evaluate(&case).verdict().map(|verdict| verdict.score)
    }
}

/// What separates the name of a score from the version of the evaluator that gave it later.
const LATER: &str = " (judged again by ";

/// Whether a score was given to an answer after its run.
pub(super) fn is_later_score(name: &str) -> bool {
    name.contains(LATER)
}

/// What a trial recorded.
pub(super) fn content(trial: &StoredExperimentItem) -> Option<&Content> {
    match trial.outcome.as_ref()? {
        Outcome::Run(trace) => trace.content.as_ref(),
        Outcome::Step(step) => step.content.as_ref(),
    }
}

/// What the answer should have been.
pub(super) fn expected(trial: &StoredExperimentItem) -> Option<Value> {
    let json = trial.expected_output.as_ref()?;
    serde_json::from_str(json.as_str()).ok()
}

/// The text of an answer: a JSON string without its quotes.
pub(super) fn text_of(output: &Payload) -> String {
    match serde_json::from_str(output.as_str()) {
        Ok(Value::String(text)) => text,
        _ => output.as_str().to_owned(),
    }
}
