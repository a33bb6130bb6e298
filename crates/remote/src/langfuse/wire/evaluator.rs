//! Evaluators say how to score. Two families of routes show them, an older flat one and a newer
//! one with versions; both speak of the same evaluators.

use ratchet_core::catalog::evaluator::variables;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;

/// What runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvaluatorKind {
    /// A model that judges.
    #[default]
    LlmAsJudge,
    /// A program.
    Code,
}

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CodeLanguage {
    /// Python.
    Python,
    /// TypeScript.
    Typescript,
}

/// Whether it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EvaluationStatus {
    /// It runs.
    Active,
    /// It is switched off.
    Inactive,
    /// It is switched on, but does not run.
    Paused,
}

/// A prompt: one text of the user, or messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum JudgePrompt {
    /// One text.
    Text(String),
    /// Messages in order.
    Messages(Vec<JudgeMessage>),
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgeMessage {
    /// Who speaks.
    pub role: JudgeRole,
    /// What is said; variables stand in double braces.
    pub content: String,
}

/// Who speaks in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JudgeRole {
    /// Whoever set it up.
    System,
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

/// Which model judges. The project must have an LLM connection that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgeModel {
    /// The provider of one of the project's LLM connections.
    pub provider: String,
    /// A model there. It is checked only if the connection has no models but its custom ones:
    /// which others there are, only the provider knows.
    pub model: String,
}

/// What fills a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariableMapping {
    /// The variable, without braces.
    pub variable: String,
    /// What fills it.
    pub source: MappingSource,
    /// Which part of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub json_path: Option<String>,
}

/// What can fill a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MappingSource {
    /// What went in.
    Input,
    /// What came out.
    Output,
    /// Metadata.
    Metadata,
    /// The tools that were called.
    ToolCalls,
    /// What should have come out.
    ExpectedOutput,
    /// Metadata of the experiment's item.
    ExperimentItemMetadata,
}

/// What a judge answers, in the newer family's flat form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgeOutput {
    /// What kind of score it gives.
    pub data_type: JudgeScoreType,
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub min_value: Option<f64>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max_value: Option<f64>,
    /// The labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub categories: Option<Vec<String>>,
    /// Whether it may give several labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub should_allow_multiple_matches: Option<bool>,
    /// How to reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub score_reasoning_instructions: Option<String>,
    /// How to score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub score_value_instructions: Option<String>,
}

/// What kind of score a judge gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum JudgeScoreType {
    /// A number.
    Numeric,
    /// Yes or no.
    Boolean,
    /// Labels.
    Categorical,
}

/// What a judge answers, in the older family's nested form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NestedOutput {
    /// What kind of score it gives.
    pub data_type: JudgeScoreType,
    /// How to reason.
    pub reasoning: OutputPart,
    /// How to score.
    pub score: OutputScore,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutputPart {
    /// What to write there.
    pub description: String,
}

/// The score in an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputScore {
    /// What to write there.
    pub description: String,
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub min_value: Option<f64>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max_value: Option<f64>,
    /// The labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub categories: Option<Vec<String>>,
    /// Whether it may give several labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub should_allow_multiple_matches: Option<bool>,
}

/// How to score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorDefinition {
    /// What runs.
    #[serde(rename = "type")]
    pub kind: EvaluatorKind,
    /// A judge's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub prompt: Option<Vec<JudgeMessage>>,
    /// The variables in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub variables: Option<Vec<String>>,
    /// Which model judges; the project's usual one when null.
    pub model_config: Option<JudgeModel>,
    /// What usually fills the variables.
    pub variable_mapping: Option<Vec<VariableMapping>>,
    /// What the judge answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub output_definition: Option<JudgeOutput>,
    /// A program's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code: Option<String>,
    /// What it is written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code_language: Option<CodeLanguage>,
}

/// How to score: what one version of an evaluator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorVersionView {
    /// Its id.
    pub id: String,
    /// Its number, from 1.
    pub version: u32,
    /// Since when.
    pub created_at: Time,
    /// How to score.
    #[serde(flatten)]
    pub definition: EvaluatorDefinition,
}

impl EvaluatorDefinition {
    /// The variables that must be filled.
    pub fn variables(&self) -> Vec<String> {
        let messages = self.prompt.iter().flatten();
        variables(messages.map(|message| message.content.as_str()))
    }

    /// A judge's prompt as one text.
    pub fn prompt_text(&self) -> Option<String> {
        let texts = self.prompt.iter().flatten().map(|message| message.content.as_str());
        self.prompt.is_some().then(|| texts.collect::<Vec<_>>().join("\n\n"))
    }
}

/// An evaluator with all its versions, oldest first, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptEvaluator {
    /// Its id, the same for all versions.
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub created_at: Time,
    pub updated_at: Time,
    /// How to score; never empty.
    pub versions: Vec<EvaluatorVersionView>,
}

/// An evaluator, its latest version before all, in the newer family's form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorView {
    /// Its id, the same for all versions.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it runs.
    pub status: EvaluationStatus,
    /// Since when it does not.
    pub paused_at: Option<Time>,
    /// Why not, in a word.
    pub paused_reason: Option<String>,
    /// Why not, in a sentence.
    pub paused_message: Option<String>,
    /// The rules that use it.
    pub evaluation_rule_assignments: Vec<RuleAssignment>,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// The latest version's id.
    pub version_id: String,
    /// The latest version's number.
    pub version: u32,
    /// Since when that one.
    pub version_created_at: Time,
    /// How to score.
    #[serde(flatten)]
    pub definition: EvaluatorDefinition,
}

/// A rule that uses an evaluator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleAssignment {
    /// The rule.
    pub evaluation_rule_id: String,
    /// What fills the variables there, if not what usually does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub variable_mapping_override: Option<Vec<VariableMapping>>,
}

/// An evaluator in the older family's form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlatEvaluatorView {
    /// Its id, the same for all versions.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The latest version's number.
    pub version: u32,
    /// What runs.
    #[serde(rename = "type")]
    pub kind: EvaluatorKind,
    /// The variables that must be filled.
    pub variables: Vec<String>,
    /// What usually fills them.
    pub mapping: Option<Vec<VariableMapping>>,
    /// How many rules use it.
    pub evaluation_rule_count: usize,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// A judge's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub prompt: Option<String>,
    /// What the judge answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub output_definition: Option<NestedOutput>,
    /// Which model judges; the project's usual one when null.
    pub model_config: Option<JudgeModel>,
    /// A program's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code: Option<String>,
    /// What it is written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source_code_language: Option<CodeLanguage>,
}
