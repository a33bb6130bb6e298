//! Evaluators: how to score. They have an older, flat API and a newer one with versions; both refer
//! to the same evaluators.

use ratchet_core::catalog::evaluator::variables;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;

/// Type of evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvaluatorKind {
    /// LLM as a judge.
    #[default]
    LlmAsJudge,
    /// Code.
    Code,
}

/// Language of a code evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CodeLanguage {
    /// Python.
    Python,
    /// TypeScript.
    Typescript,
}

/// Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EvaluationStatus {
    /// Running.
    Active,
    /// Disabled.
    Inactive,
    /// Enabled, but not running.
    Paused,
}

/// A judge prompt: one user text, or messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum JudgePrompt {
    /// Single text.
    Text(String),
    /// Messages in order.
    Messages(Vec<JudgeMessage>),
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgeMessage {
    /// Role.
    pub role: JudgeRole,
    /// Text with variables in double braces.
    pub content: String,
}

/// The role of a prompt message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JudgeRole {
    /// System.
    System,
    /// User.
    User,
    /// Model.
    Assistant,
}

/// The judge model. Requires an LLM connection of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgeModel {
    /// The provider of one of the project's LLM connections.
    pub provider: String,
    /// A model of the connection. Only validated if the connection has custom models only, because
    /// others are known to the provider only.
    pub model: String,
}

/// A mapping of a prompt variable to a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariableMapping {
    /// Variable name, without braces.
    pub variable: String,
    /// Source.
    pub source: MappingSource,
    /// JSON path in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub json_path: Option<String>,
}

/// The source of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MappingSource {
    /// Input.
    Input,
    /// Output.
    Output,
    /// Metadata.
    Metadata,
    /// Tool calls.
    ToolCalls,
    /// Expected output.
    ExpectedOutput,
    /// Metadata of the experiment item.
    ExperimentItemMetadata,
}

/// The output of a judge (newer API, flat).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgeOutput {
    /// Data type of the score.
    pub data_type: JudgeScoreType,
    /// Minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub min_value: Option<f64>,
    /// Maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max_value: Option<f64>,
    /// Labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub categories: Option<Vec<String>>,
    /// Whether several labels are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub should_allow_multiple_matches: Option<bool>,
    /// Instructions for the reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub score_reasoning_instructions: Option<String>,
    /// Instructions for the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub score_value_instructions: Option<String>,
}

/// The data type of a judge's score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum JudgeScoreType {
    /// Number.
    Numeric,
    /// Boolean.
    Boolean,
    /// Labels.
    Categorical,
}

/// The output of a judge (older API, nested).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NestedOutput {
    /// Data type of the score.
    pub data_type: JudgeScoreType,
    /// Instructions for the reasoning.
    pub reasoning: OutputPart,
    /// Score field.
    pub score: OutputScore,
}

/// A field of a judge's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutputPart {
    /// Instructions for the field.
    pub description: String,
}

/// The score field of a judge's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputScore {
    /// Instructions for the field.
    pub description: String,
    /// Minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub min_value: Option<f64>,
    /// Maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max_value: Option<f64>,
    /// Labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub categories: Option<Vec<String>>,
    /// Whether several labels are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub should_allow_multiple_matches: Option<bool>,
}

/// Scoring definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorDefinition {
    /// Type of evaluator.
    #[serde(rename = "type")]
    pub kind: EvaluatorKind,
    /// Judge prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub prompt: Option<Vec<JudgeMessage>>,
    /// Variables of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub variables: Option<Vec<String>>,
    /// Judge model; the project's default when null.
    pub model_config: Option<JudgeModel>,
    /// Default variable mapping.
    pub variable_mapping: Option<Vec<VariableMapping>>,
    /// Output of the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub output_definition: Option<JudgeOutput>,
    /// Source code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code: Option<String>,
    /// Source language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code_language: Option<CodeLanguage>,
    /// Judge by name, such as `offline` or `anthropic:claude-sonnet-5`; takes precedence over the
    /// model. Ratchet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub judge: Option<String>,
    /// Name of the scores; the evaluator's when absent. Ratchet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub score_name: Option<String>,
}

/// A version of an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorVersionView {
    /// Unique id.
    pub id: String,
    /// Version number, from 1.
    pub version: u32,
    /// Creation time.
    pub created_at: Time,
    /// Scoring definition.
    #[serde(flatten)]
    pub definition: EvaluatorDefinition,
}

impl EvaluatorDefinition {
    /// Returns the required variables.
    pub fn variables(&self) -> Vec<String> {
        let messages = self.prompt.iter().flatten();
        variables(messages.map(|message| message.content.as_str()))
    }

    /// Returns the judge prompt as one text.
    pub fn prompt_text(&self) -> Option<String> {
        let texts = self.prompt.iter().flatten().map(|message| message.content.as_str());
        self.prompt.is_some().then(|| texts.collect::<Vec<_>>().join("\n\n"))
    }
}

/// An evaluator in its stored form, with all versions, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredEvaluator {
    /// Unique id, the same for all versions.
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub created_at: Time,
    pub updated_at: Time,
    /// Versions, oldest first; never empty.
    pub versions: Vec<EvaluatorVersionView>,
    /// Why and since when a person paused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<StoredPause>,
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cost_cap: Option<f64>,
}

/// The pause of an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPause {
    pub since: Time,
    pub reason: String,
}

/// An evaluator with its latest version (newer API).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorView {
    /// Unique id, the same for all versions.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Status.
    pub status: EvaluationStatus,
    /// Time since when it is paused.
    pub paused_at: Option<Time>,
    /// Reason code when paused.
    pub paused_reason: Option<String>,
    /// Reason when paused, as text.
    pub paused_message: Option<String>,
    /// Rules that use it.
    pub evaluation_rule_assignments: Vec<RuleAssignment>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Id of the latest version.
    pub version_id: String,
    /// Number of the latest version.
    pub version: u32,
    /// Cost cap of a day (UTC) in US dollars; 10 when absent. Ratchet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub daily_cost_cap: Option<f64>,
    /// Creation time of the latest version.
    pub version_created_at: Time,
    /// Scoring definition.
    #[serde(flatten)]
    pub definition: EvaluatorDefinition,
}

/// A rule that uses an evaluator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleAssignment {
    /// Rule id.
    pub evaluation_rule_id: String,
    /// Variable mapping that overrides the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub variable_mapping_override: Option<Vec<VariableMapping>>,
}

/// An evaluator (older API).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlatEvaluatorView {
    /// Unique id, the same for all versions.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Number of the latest version.
    pub version: u32,
    /// Type of evaluator.
    #[serde(rename = "type")]
    pub kind: EvaluatorKind,
    /// Required variables.
    pub variables: Vec<String>,
    /// Default variable mapping.
    pub mapping: Option<Vec<VariableMapping>>,
    /// Number of rules that use it.
    pub evaluation_rule_count: usize,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Judge prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub prompt: Option<String>,
    /// Output of the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub output_definition: Option<NestedOutput>,
    /// Judge model; the project's default when null.
    pub model_config: Option<JudgeModel>,
    /// Source code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code: Option<String>,
    /// Source language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code_language: Option<CodeLanguage>,
}
