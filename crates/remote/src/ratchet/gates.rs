//! Answers of earlier runs, which the evaluator of a gate judges again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Answers of earlier runs that the evaluator of the run at the gate has not judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredAnswersView {
    /// The score that counts.
    pub score: String,
    /// The evaluator in its short form; null if nothing is to be judged.
    pub evaluator: Option<String>,
    /// Version of a judge: a hash of its model and prompts.
    pub evaluator_version: Option<String>,
    pub answers: Vec<StoredAnswerView>,
    /// Whether there are more, which do not fit: the same request with verdicts on these in
    /// `judgedAgain` returns them.
    #[serde(default)]
    pub more: bool,
}

/// An answer of an earlier run to an item that has not changed since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoredAnswer)]
#[serde(rename_all = "camelCase")]
pub struct StoredAnswerView {
    /// Name of the run.
    pub run: String,
    pub trace: String,
    /// Id of the dataset item.
    pub item: String,
    #[schema(value_type = Object)]
    pub input: Value,
    /// What the answer should be; null if unknown.
    #[schema(value_type = Object)]
    pub expected_output: Value,
    pub output: String,
}

/// The verdict on an answer of an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = AnswerVerdict)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerVerdictForm {
    /// Trace of the answer.
    pub trace: String,
    /// From 0 to 1.
    pub value: f64,
    pub comment: Option<String>,
    /// What the judge cost, in US dollars; null without a judge, or if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}
