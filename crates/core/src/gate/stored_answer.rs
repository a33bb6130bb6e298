use serde_json::Value;

/// Answers of earlier runs that the evaluator of the run at the gate has not judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredAnswers {
    /// The score that counts.
    pub score: String,
    /// The evaluator in its short form; null if nothing is to be judged.
    pub evaluator: Option<String>,
    /// Version of a judge: a hash of its model and prompts.
    pub evaluator_version: Option<String>,
    pub answers: Vec<StoredAnswer>,
    /// Whether there are more, which do not fit.
    pub more: bool,
}

/// An answer of an earlier run to an item that has not changed since.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredAnswer {
    /// Name of the run.
    pub run: String,
    pub trace: String,
    /// Id of the dataset item.
    pub item: String,
    pub input: Value,
    /// What the answer should be; null if unknown.
    pub expected_output: Value,
    pub output: String,
}

/// The verdict on an answer of an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerVerdict {
    /// Trace of the answer.
    pub trace: String,
    /// From 0 to 1.
    pub value: f64,
    pub comment: Option<String>,
    /// What the judge cost, in US dollars; null without a judge, or if it is unknown.
    pub cost: Option<f64>,
}
