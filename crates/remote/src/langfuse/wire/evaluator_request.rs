use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::evaluator::{
    CodeLanguage, EvaluatorKind, JudgeModel, JudgeOutput, JudgePrompt, NestedOutput, OutputPart,
    OutputScore, VariableMapping,
};
use super::maybe::Maybe;

/// An evaluator to be made, in the newer family's form.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorRequest {
    /// What people will call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What runs.
    #[serde(rename = "type", default)]
    pub kind: EvaluatorKind,
    /// A judge's prompt.
    pub prompt: Option<JudgePrompt>,
    /// Which model judges; the project's usual one when left out.
    pub model_config: Option<JudgeModel>,
    /// What usually fills the variables.
    pub variable_mapping: Option<Vec<VariableMapping>>,
    /// What the judge answers.
    pub output_definition: Option<JudgeOutput>,
    /// A program's text.
    pub source_code: Option<String>,
    /// What it is written in.
    pub source_code_language: Option<CodeLanguage>,
}

/// What is to change about an evaluator; a new definition becomes a new version.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorChange {
    /// What people will call it.
    pub name: Option<String>,
    /// What it is for; null for nothing.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub description: Maybe<String>,
    /// What runs, which cannot change. Needed with a new definition.
    #[serde(rename = "type")]
    pub kind: Option<EvaluatorKind>,
    /// A judge's prompt.
    pub prompt: Option<JudgePrompt>,
    /// Which model judges; the project's usual one when left out.
    pub model_config: Option<JudgeModel>,
    /// What usually fills the variables.
    pub variable_mapping: Option<Vec<VariableMapping>>,
    /// What the judge answers.
    pub output_definition: Option<JudgeOutput>,
    /// A program's text.
    pub source_code: Option<String>,
    /// What it is written in.
    pub source_code_language: Option<CodeLanguage>,
}

/// An evaluator to be made, or a new version of it, in the older family's form.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlatEvaluatorRequest {
    /// What people call it; one that is there gets a new version.
    pub name: String,
    /// What runs.
    #[serde(rename = "type", default)]
    pub kind: EvaluatorKind,
    /// A judge's prompt.
    pub prompt: Option<String>,
    /// What the judge answers.
    pub output_definition: Option<NestedOutput>,
    /// Which model judges; the project's usual one when left out.
    pub model_config: Option<JudgeModel>,
    /// What usually fills the variables.
    pub mapping: Option<Vec<VariableMapping>>,
    /// A program's text.
    pub source_code: Option<String>,
    /// What it is written in.
    pub source_code_language: Option<CodeLanguage>,
}

impl From<NestedOutput> for JudgeOutput {
    fn from(nested: NestedOutput) -> Self {
        Self {
            data_type: nested.data_type,
            min_value: nested.score.min_value,
            max_value: nested.score.max_value,
            categories: nested.score.categories,
            should_allow_multiple_matches: nested.score.should_allow_multiple_matches,
            score_reasoning_instructions: Some(nested.reasoning.description),
            score_value_instructions: Some(nested.score.description),
        }
    }
}

impl From<JudgeOutput> for NestedOutput {
    fn from(flat: JudgeOutput) -> Self {
        let said = Option::unwrap_or_default;
        Self {
            data_type: flat.data_type,
            reasoning: OutputPart { description: said(flat.score_reasoning_instructions) },
            score: OutputScore {
                description: said(flat.score_value_instructions),
                min_value: flat.min_value,
                max_value: flat.max_value,
                categories: flat.categories,
                should_allow_multiple_matches: flat.should_allow_multiple_matches,
            },
        }
    }
}

impl From<FlatEvaluatorRequest> for EvaluatorRequest {
    fn from(flat: FlatEvaluatorRequest) -> Self {
        Self {
            name: flat.name,
            description: None,
            kind: flat.kind,
            prompt: flat.prompt.map(JudgePrompt::Text),
            model_config: flat.model_config,
            variable_mapping: flat.mapping,
            output_definition: flat.output_definition.map(JudgeOutput::from),
            source_code: flat.source_code,
            source_code_language: flat.source_code_language,
        }
    }
}
