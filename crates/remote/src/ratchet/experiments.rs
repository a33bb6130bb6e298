//! Requests and responses of `/api/v1/projects/{project}/experiments`.

use std::collections::BTreeMap;

use ratchet_core::experiment::run_summary::RunSummary;
use ratchet_core::experiment::score_comparison::ScoreComparison;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A run to create, or to continue if there is one of that name with the same plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExperimentRequest {
    /// Name of the dataset.
    pub dataset: String,
    /// Name of the run, unique in its dataset.
    pub run: String,
    /// What is run.
    pub target: ExperimentTarget,
    /// Evaluators in their short form, such as `exact` or `numeric:0.01`.
    #[serde(default)]
    pub evaluators: Vec<String>,
    /// Versions of evaluators that ask a judge, by their short form: a hash of the judge's model and
    /// prompts. Gates compare scores of one version only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evaluator_versions: BTreeMap<String, String>,
    /// Trials per item, from 1 to 100.
    #[serde(default = "once")]
    pub repeats: u32,
    /// Which items, such as `metadata.split=test`; all by default.
    pub filter: Option<String>,
    /// At most so many items, the first ones.
    pub limit: Option<u64>,
    /// No further call is made once this was spent, in US dollars.
    pub max_cost: Option<f64>,
    /// Whether answers of earlier runs of the same target version are used. Only for targets with a
    /// named version.
    #[serde(default)]
    pub cache: bool,
    /// What the run is for.
    pub description: Option<String>,
}

const fn once() -> u32 {
    1
}

/// The target of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExperimentTarget {
    /// Its name. With nothing but a name, and perhaps an environment, the server runs its own target
    /// of that name by itself.
    pub name: String,
    /// `command`, `http`, `agentcore`, `agentcore-arn`, `claude` or `prompt`.
    #[serde(default)]
    pub kind: String,
    /// A hash of its definition, environment and version.
    #[serde(default)]
    pub fingerprint: String,
    /// Its version, if it names one.
    pub version: Option<String>,
    /// Its environment, such as `beta`.
    pub environment: Option<String>,
    /// Whether the server runs it by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_server: bool,
}

/// A target that the server can run by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerTargetView {
    /// Unique in its project.
    pub name: String,
    /// `command`, `http`, `agentcore`, `agentcore-arn`, `claude` or `prompt`.
    pub kind: String,
    /// `operator` for entries of `ratchet.toml`, which are in all projects; else `project`.
    pub source: String,
    /// Names of its environments.
    pub environments: Vec<String>,
    /// Its definition in TOML, without secrets; null for those of the operator.
    pub definition: Option<String>,
    /// Names of its secrets.
    pub secrets: Vec<String>,
    /// RFC 3339; null for those of the operator.
    pub updated_at: Option<String>,
}

/// Targets by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerTargetsView {
    pub targets: Vec<ServerTargetView>,
}

/// A target to store.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerTargetRequest {
    /// A target file in TOML, of the kind `http`, `agentcore`, `agentcore-arn` or `prompt`.
    pub definition: String,
    /// Secrets by the names that references `{ env = "NAME" }` of the definition have. Those that are
    /// stored already may be left out.
    #[serde(default)]
    pub secrets: std::collections::BTreeMap<String, String>,
}

/// A run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentRunView {
    /// Unique id, the same as that of the dataset run.
    pub id: String,
    /// Name, unique in its dataset.
    pub name: String,
    /// Name of the dataset.
    pub dataset: String,
    /// `running`, `done` or `cancelled`; `recorded` for runs of other clients.
    pub state: String,
    /// What was run; null for runs of other clients.
    pub target: Option<ExperimentTarget>,
    /// Evaluators of its trials.
    pub evaluators: Vec<String>,
    /// Trials per item.
    pub repeats: u32,
    /// Trials in all.
    pub trials: u64,
    /// Finished trials, with those that failed.
    pub done: u64,
    /// Trials whose last call failed: incorrect answers that are listed apart.
    pub faults: u64,
    /// Trials that were answered from the cache.
    pub cached: u64,
    /// Calls that were sent; each was counted before.
    pub calls: u64,
    /// Trials without a known cost.
    pub unpriced: u64,
    /// Known cost in US dollars.
    pub cost: f64,
    /// The cost cap in US dollars.
    pub max_cost: Option<f64>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub finished_at: Option<String>,
}

/// Runs of experiments, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentsView {
    pub experiments: Vec<ExperimentRunView>,
}

/// Further repeats of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtendRequest {
    /// Trials per item that the run has afterwards, from 1 to 100. Those that it has are kept.
    pub repeats: u32,
    /// Ids of the items that are run again; all items of the run by default.
    #[serde(default)]
    pub items: Vec<String>,
}

/// A request for trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimRequest {
    /// Id of the runner.
    pub runner: String,
    /// At most so many, from 1 to 256.
    pub limit: u64,
    /// How long they are held without renewal, from 5 to 3600.
    pub lease_seconds: u64,
    /// Runners that are known to have ended.
    #[serde(default)]
    pub ended_runners: Vec<String>,
}

/// Trials that a runner holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimView {
    /// In their order.
    pub trials: Vec<TrialView>,
    /// The run after the claim.
    pub experiment: ExperimentRunView,
}

/// One call of a target, with the input of a dataset item. Its call is counted already, unless it
/// has a cached answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrialView {
    /// Unique id.
    pub id: String,
    /// Number of the lease.
    pub lease: u64,
    /// Id of the dataset item.
    pub item: String,
    /// Which repeat of the item it is, from 1.
    pub repeat: u32,
    /// The item's input.
    #[schema(value_type = Object)]
    pub input: Value,
    /// What the answer should be; null if unknown.
    #[schema(value_type = Object)]
    pub expected_output: Value,
    /// Metadata of the item.
    #[schema(value_type = Object)]
    pub metadata: Value,
    /// An answer of the same target version to the same input.
    pub cached: Option<CachedAnswerView>,
}

/// An answer of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CachedAnswer)]
#[serde(rename_all = "camelCase")]
pub struct CachedAnswerView {
    pub answer: String,
    /// The trace of the call that it came from.
    pub trace: String,
}

/// Leases to extend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenewRequest {
    pub leases: Vec<LeaseRequest>,
    /// As for claims.
    pub lease_seconds: u64,
}

/// A lease to extend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LeaseRequest {
    pub id: String,
    pub lease: u64,
    /// Whether another call is about to be sent, which is counted.
    #[serde(default)]
    pub new_call: bool,
}

/// Results of trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishRequest {
    pub results: Vec<TrialResultForm>,
}

/// Scores of a run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunScoresRequest {
    /// Those of its evaluators `run:…`; the same names again replace them.
    pub scores: Vec<TrialScoreView>,
}

/// The result of one trial. Its trace, run item and scores are recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TrialResult)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrialResultForm {
    pub id: String,
    pub lease: u64,
    /// Which call of the lease had the answer, from 1.
    pub call: u32,
    /// The answer; null after a fault.
    pub answer: Option<String>,
    /// Why there is no answer.
    pub fault: Option<String>,
    /// Whether the answer is the cached one.
    #[serde(default)]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ReportedCallForm>,
    /// Verdicts of the evaluators.
    #[serde(default)]
    pub scores: Vec<TrialScoreView>,
    /// Evaluators that failed: there is an answer, and no verdict on it.
    #[serde(default)]
    pub not_judged: Vec<MissingVerdictView>,
    /// Model calls of judges that were answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judge_calls: Vec<JudgeCallView>,
}

/// A call of a tool that a target reports with its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReportedCall)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportedCallForm {
    pub id: String,
    /// Id of the call that started the sub-agent that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    pub name: String,
    #[serde(default)]
    pub input: Value,
    /// What the tool returned; null if it did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default)]
    pub failed: bool,
    /// Milliseconds since the start of the call.
    pub started_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
}

/// A model call of a judge, which becomes a trace of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JudgeCall)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgeCallView {
    /// Name of the score that it was for.
    pub score: String,
    pub model: String,
    /// What the judge was sent: messages with `role` and `content`.
    pub messages: Value,
    /// What it answered.
    pub output: String,
    /// Tokens by kind.
    #[serde(default)]
    pub usage: BTreeMap<String, u64>,
    /// In US dollars; null if it is unknown.
    pub cost: Option<f64>,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub ended_at: String,
}

/// An evaluator that failed to judge an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = MissingVerdict)]
#[serde(deny_unknown_fields)]
pub struct MissingVerdictView {
    /// Name of the score that is missing.
    pub name: String,
    /// Why there is none.
    pub reason: String,
    /// What the judge cost all the same, in US dollars; null without a judge, or if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// The verdict of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TrialScore)]
#[serde(deny_unknown_fields)]
pub struct TrialScoreView {
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

/// What became of leases or results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    /// Trials whose lease is lost: another runner has them.
    pub lost: Vec<String>,
    /// The run afterwards.
    pub experiment: ExperimentRunView,
}

/// Trials of a run in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialsView {
    pub trials: Vec<TrialSummaryView>,
    /// Where to go on; null at the end.
    pub cursor: Option<String>,
}

/// A run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunSummaryView {
    /// Items, trials and faults; `scores` with mean, 95% interval, verdicts and missing ones;
    /// latency and cost.
    #[schema(value_type = Object)]
    pub summary: RunSummary,
}

/// Two runs by each of their scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunComparisonView {
    /// `scores` with the paired difference of each over unchanged items, its 95% interval, and how
    /// many items people corrected; `items` with both means; `unpaired`.
    #[schema(value_type = Object)]
    pub comparison: ScoreComparison,
}

/// What is known of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TrialSummary)]
#[serde(rename_all = "camelCase")]
pub struct TrialSummaryView {
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
    pub scores: Vec<TrialScoreView>,
    /// Evaluators that failed to judge the answer.
    #[serde(default)]
    pub not_judged: Vec<MissingVerdictView>,
    /// The runner that has it, while it is running.
    pub runner: Option<String>,
}
