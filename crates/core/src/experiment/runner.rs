use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::ExperimentProgress;
use super::run_summary::TrialFacts;

/// A request for trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOrder {
    /// Id of the runner.
    pub runner: String,
    /// At most so many, from 1 to 256.
    pub limit: u64,
    /// How long they are held without renewal, from 5 to 3600.
    pub lease_seconds: u64,
    /// Runners that are known to have ended.
    pub ended_runners: Vec<String>,
}

/// Trials that a runner holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedTrials {
    /// In their order.
    pub trials: Vec<TrialCall>,
    /// The run after the claim.
    pub experiment: ExperimentProgress,
}

/// One call of a target, with the input of a dataset item. Its call is counted already, unless it
/// has a cached answer.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialCall {
    /// Unique id.
    pub id: String,
    /// Number of the lease.
    pub lease: u64,
    /// Id of the dataset item.
    pub item: String,
    /// Which repeat of the item it is, from 1.
    pub repeat: u32,
    /// The item's input.
    pub input: Value,
    /// What the answer should be; null if unknown.
    pub expected_output: Value,
    /// Metadata of the item.
    pub metadata: Value,
    /// An answer of the same target version to the same input.
    pub cached: Option<CachedAnswer>,
}

/// An answer of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedAnswer {
    pub answer: String,
    /// The trace of the call that it came from.
    pub trace: String,
}

/// Leases to extend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRenewals {
    pub leases: Vec<LeaseRenewal>,
    /// As for claims.
    pub lease_seconds: u64,
}

/// A lease to extend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRenewal {
    pub id: String,
    pub lease: u64,
    /// Whether another call is about to be sent, which is counted.
    pub new_call: bool,
}

/// The result of one trial. Its trace, run item and scores are recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    pub id: String,
    pub lease: u64,
    /// Which call of the lease had the answer, from 1.
    pub call: u32,
    /// The answer; null after a fault.
    pub answer: Option<String>,
    /// Why there is no answer.
    pub fault: Option<String>,
    /// Whether the answer is the cached one.
    pub cached: bool,
    /// Start and end of the call, RFC 3339.
    pub started_at: String,
    pub ended_at: String,
    /// The model, if the target reports it.
    pub model: Option<String>,
    /// Tokens, if the target reports them.
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// In US dollars, if the target reports it.
    pub cost: Option<f64>,
    /// Calls of tools, if the target reports them itself.
    pub calls: Vec<ReportedCall>,
    /// Verdicts of the evaluators.
    pub scores: Vec<TrialScore>,
    /// Evaluators that failed: there is an answer, and no verdict on it.
    pub not_judged: Vec<MissingVerdict>,
    /// Model calls of judges that were answered.
    pub judge_calls: Vec<JudgeCall>,
}

/// A model call of a judge, which becomes a trace of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgeCall {
    /// Name of the score that it was for.
    pub score: String,
    pub model: String,
    /// What the judge was sent: messages with `role` and `content`.
    pub messages: Value,
    /// What it answered.
    pub output: String,
    /// Tokens by kind.
    pub usage: BTreeMap<String, u64>,
    /// In US dollars; `None` if it is unknown.
    pub cost: Option<f64>,
    /// RFC 3339.
    pub started_at: String,
    pub ended_at: String,
}

/// A call of a tool that a target reports with its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedCall {
    pub id: String,
    /// Id of the call that started the sub-agent that it belongs to.
    pub parent: Option<String>,
    pub name: String,
    pub input: Value,
    /// What the tool returned; `None` if it did not end.
    pub output: Option<String>,
    pub failed: bool,
    /// Since the start of the target's call.
    pub started_ms: u64,
    pub ended_ms: Option<u64>,
}

/// An evaluator that failed to judge an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissingVerdict {
    /// Name of the score that is missing.
    pub name: String,
    /// Why there is none.
    pub reason: String,
    /// What the judge cost all the same, in US dollars; null without a judge, or if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// The verdict of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialScore {
    /// Name of the score.
    pub name: String,
    /// From 0 to 1.
    pub value: f64,
    pub comment: Option<String>,
    /// The observation that it is about, for the verdict on a sub-agent; else the whole trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<String>,
    /// What the judge cost, in US dollars; null without a judge, or if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// An answer of a run with what was asked and expected.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAnswer {
    pub trace: String,
    pub input: Value,
    pub output: Value,
    pub expected_output: Value,
    /// Bytes of these texts.
    pub bytes: usize,
}

/// Answers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAnswers {
    pub answers: Vec<RunAnswer>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

/// What became of leases or results.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseOutcome {
    /// Trials whose lease is lost: another runner has them.
    pub lost: Vec<String>,
    /// The run afterwards.
    pub experiment: ExperimentProgress,
}

/// Trials of a run in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialsPage {
    pub trials: Vec<TrialSummary>,
    /// Where to go on; null at the end.
    pub cursor: Option<String>,
}

/// What is known of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialSummary {
    pub id: String,
    /// Id of the dataset item.
    pub item: String,
    /// Version of the item, RFC 3339.
    pub version: String,
    pub repeat: u32,
    /// `waiting`, `running`, `answered` or `fault`.
    pub state: String,
    /// Calls that were sent.
    pub calls: u64,
    pub cached: bool,
    pub fault: Option<String>,
    /// Trace of the call that counts.
    pub trace: Option<String>,
    pub latency_ms: Option<u64>,
    pub cost: Option<f64>,
    pub scores: Vec<TrialScore>,
    /// Evaluators that failed to judge the answer.
    pub not_judged: Vec<MissingVerdict>,
    /// The runner that has it, while it is running.
    pub runner: Option<String>,
}

impl TrialSummary {
    /// Returns what the summary of its run counts.
    pub fn facts(&self) -> TrialFacts {
        TrialFacts {
            item: self.item.clone(),
            is_fault: self.state == "fault",
            latency_ms: self.latency_ms.filter(|_| !self.cached),
            cost: self.cost,
            scores: self.scores.iter().map(|one| (one.name.clone(), one.value)).collect(),
            not_judged: self.not_judged.iter().map(|one| one.name.clone()).collect(),
        }
    }
}
