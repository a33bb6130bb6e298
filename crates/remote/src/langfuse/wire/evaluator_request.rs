use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::evaluator::{
    CodeLanguage, EvaluatorKind, JudgeModel, JudgeOutput, JudgePrompt, NestedOutput, OutputPart,
    OutputScore, VariableMapping,
};
use super::maybe::Maybe;

/// A request to create an evaluator (newer API).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorRequest {
    /// Display name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Type of evaluator.
    #[serde(rename = "type", default)]
    pub kind: EvaluatorKind,
    /// Judge prompt.
    pub prompt: Option<JudgePrompt>,
    /// Judge model; the project's default when omitted.
    pub model_config: Option<JudgeModel>,
    /// Default variable mapping.
    pub variable_mapping: Option<Vec<VariableMapping>>,
    /// Output of the judge.
    pub output_definition: Option<JudgeOutput>,
    /// Source code.
    pub source_code: Option<String>,
    /// Source language.
    pub source_code_language: Option<CodeLanguage>,
    /// Judge by name, such as `offline`; takes precedence over the model. Ratchet's own.
    pub judge: Option<String>,
    /// Name of the scores; the evaluator's when omitted. Ratchet's own.
    pub score_name: Option<String>,
    /// Cost cap of a day (UTC) in US dollars. Ratchet's own.
    pub daily_cost_cap: Option<f64>,
}

/// An update of an evaluator; a new definition creates a new version.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorChange {
    /// Display name.
    pub name: Option<String>,
    /// Description; null clears it.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub description: Maybe<String>,
    /// Type, which cannot change. Required with a new definition.
    #[serde(rename = "type")]
    pub kind: Option<EvaluatorKind>,
    /// Judge prompt.
    pub prompt: Option<JudgePrompt>,
    /// Judge model; the project's default when omitted.
    pub model_config: Option<JudgeModel>,
    /// Default variable mapping.
    pub variable_mapping: Option<Vec<VariableMapping>>,
    /// Output of the judge.
    pub output_definition: Option<JudgeOutput>,
    /// Source code.
    pub source_code: Option<String>,
    /// Source language.
    pub source_code_language: Option<CodeLanguage>,
    /// Judge by name, such as `offline`; takes precedence over the model. Ratchet's own.
    pub judge: Option<String>,
    /// Name of the scores; the evaluator's when omitted. Ratchet's own.
    pub score_name: Option<String>,
    /// Cost cap of a day (UTC) in US dollars. Ratchet's own.
    pub daily_cost_cap: Option<f64>,
}

/// A request to create an evaluator or a new version of it (older API).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlatEvaluatorRequest {
    /// Name; an existing evaluator gets a new version.
    pub name: String,
    /// Type of evaluator.
    #[serde(rename = "type", default)]
    pub kind: EvaluatorKind,
    /// Judge prompt.
    pub prompt: Option<String>,
    /// Output of the judge.
    pub output_definition: Option<NestedOutput>,
    /// Judge model; the project's default when omitted.
    pub model_config: Option<JudgeModel>,
    /// Default variable mapping.
    pub mapping: Option<Vec<VariableMapping>>,
    /// Source code.
    pub source_code: Option<String>,
    /// Source language.
    pub source_code_language: Option<CodeLanguage>,
    /// Judge by name, such as `offline`; takes precedence over the model. Ratchet's own.
    pub judge: Option<String>,
    /// Name of the scores; the evaluator's when omitted. Ratchet's own.
    pub score_name: Option<String>,
    /// Cost cap of a day (UTC) in US dollars. Ratchet's own.
    pub daily_cost_cap: Option<f64>,
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
        let text_or_empty = Option::unwrap_or_default;
        Self {
            data_type: flat.data_type,
            reasoning: OutputPart { description: text_or_empty(flat.score_reasoning_instructions) },
            score: OutputScore {
                description: text_or_empty(flat.score_value_instructions),
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
            judge: flat.judge,
            score_name: flat.score_name,
            daily_cost_cap: flat.daily_cost_cap,
        }
    }
}
