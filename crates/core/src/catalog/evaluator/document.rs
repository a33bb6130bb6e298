//! Evaluators and rules as they are stored. The Langfuse API writes the same documents; fields that
//! are not needed to run them are carried along unread.

/// The score that a judge gives.
mod output;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalog::filter::{FilterCondition, Operator};
use crate::judge::code_evaluator::CODE_JUDGE;
use crate::money::Money;

pub use output::{OutputDefinition, OutputType};

/// How long a trace or observation must have been still before it is judged.
pub const DEFAULT_DELAY: Duration = Duration::from_secs(10);
/// How long a session must have been still before it is judged.
pub const DEFAULT_SESSION_DELAY: Duration = Duration::from_secs(30 * 60);
/// The daily cost cap of an evaluator that names none, in US dollars.
pub const DEFAULT_DAILY_COST_CAP: f64 = 10.0;

/// An evaluator with all its versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluator {
    /// The same for all versions.
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    /// Oldest first; never empty.
    pub versions: Vec<EvaluatorVersion>,
    /// Why and since when it does not run; `None` while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<EvaluatorPause>,
    /// In US dollars; [`DEFAULT_DAILY_COST_CAP`] if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cost_cap: Option<f64>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Why an evaluator does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorPause {
    /// RFC 3339.
    pub since: String,
    pub reason: String,
}

/// A version of an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorVersion {
    /// From 1.
    pub version: u32,
    #[serde(rename = "type")]
    pub kind: EvaluatorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Vec<PromptMessage>>,
    #[serde(default)]
    pub model_config: Option<ConnectionModel>,
    /// A judge by its name, such as `offline`; takes precedence over the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// The name of its scores; the evaluator's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_name: Option<String>,
    #[serde(default)]
    pub variable_mapping: Option<Vec<MappedVariable>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_definition: Option<OutputDefinition>,
    /// Of an evaluator of type code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_code_language: Option<CodeLanguage>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Who or what gives the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluatorKind {
    LlmAsJudge,
    Code,
}

/// The language of an evaluator of type code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CodeLanguage {
    Python,
    Typescript,
}

impl CodeLanguage {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Typescript => "typescript",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Python, Self::Typescript].into_iter().find(|language| language.as_str() == name)
    }

    /// Returns why an evaluator in this language does not run where the operator names no
    /// interpreter, and what to do.
    pub const fn without_interpreter(self) -> &'static str {
        match self {
            Self::Python => {
                "this server runs no Python code: its operator must add `python = [\"/usr/bin/python3\", \
                 \"-I\"]` below `[evaluators.code]` in ratchet.toml and restart it; then resume"
            }
            Self::Typescript => {
                "this server runs no TypeScript code: its operator must add `typescript = \
                 [\"/usr/bin/node\"]` below `[evaluators.code]` in ratchet.toml and restart it; then resume"
            }
        }
    }
}

/// Why an evaluator without a model does not run, and what to do.
pub const NO_MODEL: &str = "modelConfig is null, which means the project's default model, and Ratchet \
     has none: set modelConfig to the provider of an LLM connection (Settings, LLM connections) and a \
     model, or judge to a judge such as offline";

/// A message of a judge prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// With variables in double braces.
    pub content: String,
}

/// A model behind one of the project's LLM connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionModel {
    pub provider: String,
    pub model: String,
}

/// What fills a variable of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MappedVariable {
    pub variable: String,
    pub source: MappingSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_path: Option<String>,
}

/// A part of a trace, observation or session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MappingSource {
    Input,
    Output,
    Metadata,
    ToolCalls,
    ExpectedOutput,
    ExperimentItemMetadata,
}

impl MappingSource {
    pub const ALL: [Self; 6] = [
        Self::Input,
        Self::Output,
        Self::Metadata,
        Self::ToolCalls,
        Self::ExpectedOutput,
        Self::ExperimentItemMetadata,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Metadata => "metadata",
            Self::ToolCalls => "tool_calls",
            Self::ExpectedOutput => "expected_output",
            Self::ExperimentItemMetadata => "experiment_item_metadata",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == name)
    }
}

/// Which records are evaluated, and by which evaluators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationRule {
    pub id: String,
    pub name: String,
    pub enabled: bool,
    /// Share of the matching records, from 0 to 1.
    pub sampling: f64,
    pub filter: Vec<FilterCondition>,
    pub evaluator_assignments: Vec<AssignedEvaluator>,
    pub target: EvaluationTarget,
    /// When a person last started it, RFC 3339. A rule without was stored by a server that ran
    /// none, and does not run until a person resumes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_seconds: Option<u64>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An evaluator of a rule, always in its latest version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssignedEvaluator {
    pub evaluator_id: String,
    /// The evaluator's own if absent.
    pub variable_mapping: Option<Vec<MappedVariable>>,
}

/// The records that a rule evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvaluationTarget {
    Trace,
    Observation,
    Session,
    Experiment,
}

/// Whether an evaluator runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluatorState {
    Active,
    /// No rule that is switched on uses it.
    Inactive,
    /// A reason code and, as text, the reason.
    Paused(&'static str, String),
}

impl EvaluatorState {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Paused(..) => "paused",
        }
    }
}

impl Evaluator {
    /// Returns the version that runs.
    pub fn latest(&self) -> Option<&EvaluatorVersion> {
        self.versions.last()
    }

    /// Returns the cost cap of a day.
    pub fn cost_cap(&self) -> Option<Money> {
        Money::from_dollars(self.daily_cost_cap.unwrap_or(DEFAULT_DAILY_COST_CAP))
    }

    /// Returns whether it runs, given all rules of its project.
    pub fn state(&self, rules: &[EvaluationRule]) -> EvaluatorState {
        let enabled = || rules.iter().filter(|rule| rule.enabled && rule.uses(&self.id));
        if enabled().next().is_none() {
            return EvaluatorState::Inactive;
        }
        if let Some(pause) = &self.paused {
            return EvaluatorState::Paused("paused", pause.reason.clone());
        }
        if let Some(why) = self.latest().and_then(EvaluatorVersion::obstacle) {
            return EvaluatorState::Paused("not_runnable", why);
        }
        if enabled().all(|rule| rule.started_at.is_none()) {
            let why = "stored before this server could run it; resume it to start";
            return EvaluatorState::Paused("not_started", why.to_owned());
        }
        EvaluatorState::Active
    }
}

impl EvaluatorVersion {
    /// Returns the variables of its prompt, each once.
    pub fn variables(&self) -> Vec<String> {
        let messages = self.prompt.iter().flatten();
        super::variables(messages.map(|message| message.content.as_str()))
    }

    /// Returns its source, if it is code.
    pub fn code(&self) -> Option<(CodeLanguage, &str)> {
        let is_code = self.kind == EvaluatorKind::Code;
        let source = self.source_code.as_deref().filter(|_| is_code)?;
        Some((self.source_code_language?, source))
    }

    /// Returns whether a verdict costs nothing: no model is called.
    pub fn is_free(&self) -> bool {
        self.kind == EvaluatorKind::Code
            || self.judge.as_deref() == Some(crate::judge::offline::NAME)
    }

    /// Returns the name of the judge; `None` if it names none.
    pub fn judge_name(&self) -> Option<String> {
        if self.kind == EvaluatorKind::Code {
            return self.code().map(|(language, _)| format!("{CODE_JUDGE}{}", language.as_str()));
        }
        let connection = || {
            let ConnectionModel { provider, model } = self.model_config.as_ref()?;
            Some(format!("connection:{provider}:{model}"))
        };
        self.judge.clone().or_else(connection)
    }

    /// Returns why it cannot run.
    fn obstacle(&self) -> Option<String> {
        if self.kind == EvaluatorKind::Code {
            let has_code = self.code().is_some();
            return (!has_code).then(|| "it has no sourceCode or no sourceCodeLanguage".to_owned());
        }
        match self.judge_name() {
            None => Some(NO_MODEL.to_owned()),
            Some(judge) if judge == crate::judge::offline::NAME && !self.is_share() => {
                Some("the offline judge gives numbers from 0 to 1 only".to_owned())
            }
            Some(_) => None,
        }
    }

    /// Whether its scores are numbers from 0 to 1.
    fn is_share(&self) -> bool {
        self.output_definition.as_ref().is_some_and(|output| {
            let bounds = (output.min_value.unwrap_or(0.0), output.max_value.unwrap_or(1.0));
            output.data_type == OutputType::Numeric && bounds == (0.0, 1.0)
        })
    }
}

impl EvaluationRule {
    /// Returns whether an evaluator, by its id, is one of its own.
    pub fn uses(&self, evaluator: &str) -> bool {
        self.evaluator_assignments.iter().any(|one| one.evaluator_id == evaluator)
    }

    /// Returns whether it evaluates records that arrive.
    pub const fn is_running(&self) -> bool {
        self.enabled && self.started_at.is_some()
    }

    /// Returns whether a rule for experiments evaluates runs over a dataset, by its id.
    pub fn accepts_dataset(&self, dataset: Option<&str>) -> bool {
        let of_dataset = self.filter.iter().filter(|one| is_of_dataset(one));
        of_dataset.into_iter().all(|condition| {
            let named = dataset.is_some_and(|id| match &condition.value {
                Value::Array(list) => list.iter().any(|one| one == id),
                value => value == id,
            });
            match condition.operator {
                Operator::NoneOf | Operator::NotEqual => !named,
                _ => named,
            }
        })
    }

    /// Returns its filter without conditions on the dataset of an experiment.
    pub fn record_filter(&self) -> Vec<FilterCondition> {
        let is_kept = |one: &&FilterCondition| {
            self.target != EvaluationTarget::Experiment || !is_of_dataset(one)
        };
        self.filter.iter().filter(is_kept).cloned().collect()
    }

    /// Returns how long a record must have been still.
    pub fn delay(&self) -> Duration {
        let usual = match self.target {
            EvaluationTarget::Session => DEFAULT_SESSION_DELAY,
            _ => DEFAULT_DELAY,
        };
        self.delay_seconds.map_or(usual, Duration::from_secs)
    }
}

/// Whether a condition is on the dataset of an experiment; Langfuse has had all these names.
fn is_of_dataset(condition: &FilterCondition) -> bool {
    let names = ["datasetId", "experimentDatasetId", "dataset", "Dataset"];
    names.contains(&condition.column.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(value: &Value) -> EvaluationRule {
        let mut body = json!({
            "id": "r", "name": "r", "enabled": true, "sampling": 1.0, "filter": [],
            "evaluatorAssignments": [{ "evaluatorId": "e", "variableMapping": null }],
            "target": "trace", "createdAt": "2026-01-01T00:00:00Z"
        });
        let changes = value.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(changes);
        serde_json::from_value(body).unwrap()
    }

    fn evaluator(version: &Value) -> Evaluator {
        let mut first = json!({ "id": "v", "version": 1, "type": "llm_as_judge",
            "modelConfig": null, "variableMapping": null,
            "outputDefinition": { "dataType": "NUMERIC" } });
        first.as_object_mut().unwrap().extend(version.as_object().unwrap().clone());
        let body = json!({ "id": "e", "name": "e", "versions": [first], "createdAt": "x" });
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn rules_from_before_do_not_run_until_a_person_resumes_them() {
        let offline = evaluator(&json!({ "judge": "offline" }));
        let old = rule(&json!({}));
        assert!(!old.is_running());
        assert!(matches!(offline.state(&[old]), EvaluatorState::Paused("not_started", _)));
        let started = rule(&json!({ "startedAt": "2026-01-01T00:00:00Z" }));
        assert!(started.is_running());
        assert_eq!(offline.state(&[started]), EvaluatorState::Active);
        assert_eq!(offline.state(&[]), EvaluatorState::Inactive);
    }

    #[test]
    fn an_evaluator_without_a_judge_says_so() {
        let started = || rule(&json!({ "startedAt": "2026-01-01T00:00:00Z" }));
        for (version, why) in [
            (json!({}), "the project's default model"),
            (json!({ "type": "code" }), "sourceCode"),
            (
                json!({ "judge": "offline", "outputDefinition": { "dataType": "BOOLEAN" } }),
                "0 to 1",
            ),
        ] {
            let EvaluatorState::Paused(_, said) = evaluator(&version).state(&[started()]) else {
                panic!("{version} runs");
            };
            assert!(said.contains(why), "{said}");
        }
        let model = json!({ "modelConfig": { "provider": "p", "model": "m" } });
        let model = evaluator(&model);
        assert_eq!(model.latest().unwrap().judge_name().unwrap(), "connection:p:m");
        assert_eq!(model.state(&[started()]), EvaluatorState::Active);
    }

    #[test]
    fn a_rule_for_experiments_may_be_for_some_datasets_only() {
        let condition = |operator: &str| {
            json!({ "target": "experiment", "filter": [
                { "column": "datasetId", "type": "stringOptions", "operator": operator, "value": ["d"] },
                { "column": "name", "type": "string", "operator": "=", "value": "x" },
            ] })
        };
        let only = rule(&condition("any of"));
        assert!(only.accepts_dataset(Some("d")) && !only.accepts_dataset(Some("e")));
        assert!(!only.accepts_dataset(None) && only.record_filter().len() == 1);
        let not = rule(&condition("none of"));
        assert!(!not.accepts_dataset(Some("d")) && not.accepts_dataset(None));
        assert!(rule(&json!({ "target": "experiment" })).accepts_dataset(None));
    }

    #[test]
    fn unread_fields_survive() {
        let written = serde_json::to_value(rule(&json!({ "later": 1 }))).unwrap();
        assert_eq!(
            (&written["later"], &written["createdAt"]),
            (&json!(1), &json!("2026-01-01T00:00:00Z"))
        );
    }
}
