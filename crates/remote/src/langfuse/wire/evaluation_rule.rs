//! Rules say what to score and with which evaluators. Two families of routes show them, as they do
//! evaluators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::dashboard::WidgetFilter;
use super::evaluator::{EvaluationStatus, EvaluatorKind, VariableMapping};
use super::time::Time;

/// What a rule looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleTarget {
    /// Observations as they come in.
    #[default]
    Observation,
    /// Runs of experiments.
    Experiment,
}

/// A rule as it is kept, which is the newer family's form and its target.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationRuleView {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// The share of what matches that is scored.
    pub sampling: f64,
    /// Under which conditions.
    pub filter: Vec<WidgetFilter>,
    /// With which evaluators.
    pub evaluator_assignments: Vec<EvaluatorAssignment>,
    /// What it looks at.
    pub target: RuleTarget,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// An evaluator that a rule uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorAssignment {
    /// The evaluator; always its latest version.
    pub evaluator_id: String,
    /// What fills its variables; what usually does when null.
    pub variable_mapping: Option<Vec<VariableMapping>>,
}

/// A rule to be made, in the newer family's form.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationRuleRequest {
    /// What people will call it.
    pub name: String,
    /// Whether it is switched on; it then needs an evaluator.
    pub enabled: bool,
    /// The share of what matches that is scored; all when left out.
    pub sampling: Option<f64>,
    /// Under which conditions; always when left out.
    pub filter: Option<Vec<WidgetFilter>>,
    /// With which evaluators.
    pub evaluator_assignments: Vec<EvaluatorAssignment>,
}

/// What is to change about a rule, in the newer family's form; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationRuleChange {
    /// What people will call it.
    pub name: Option<String>,
    /// Whether it is switched on.
    pub enabled: Option<bool>,
    /// The share of what matches that is scored.
    pub sampling: Option<f64>,
    /// Under which conditions.
    pub filter: Option<Vec<WidgetFilter>>,
    /// With which evaluators; without any it is switched off.
    pub evaluator_assignments: Option<Vec<EvaluatorAssignment>>,
}

/// A rule in the older family's form.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlatRuleView {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The first of its evaluators.
    pub evaluator: Option<NamedEvaluator>,
    /// Its evaluators.
    pub evaluators: Vec<NamedAssignment>,
    /// What it looks at.
    pub target: RuleTarget,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Whether it runs.
    pub status: EvaluationStatus,
    /// Why not, in a word.
    pub paused_reason: Option<String>,
    /// Why not, in a sentence.
    pub paused_message: Option<String>,
    /// The share of what matches that is scored.
    pub sampling: f64,
    /// Under which conditions.
    pub filter: Vec<WidgetFilter>,
    /// What fills the variables of the first evaluator.
    pub mapping: Vec<VariableMapping>,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// An evaluator by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedEvaluator {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What runs.
    #[serde(rename = "type")]
    pub kind: EvaluatorKind,
}

/// An evaluator of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedAssignment {
    /// The evaluator.
    pub evaluator: NamedEvaluator,
    /// What fills its variables; what usually does when null.
    pub mapping: Option<Vec<VariableMapping>>,
}

/// An evaluator as a request names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvaluatorReference {
    /// What people call it.
    pub name: String,
    /// What runs.
    #[serde(rename = "type")]
    pub kind: Option<EvaluatorKind>,
}

/// An evaluator of a rule, as a request names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignmentReference {
    /// The evaluator.
    pub evaluator: EvaluatorReference,
    /// What fills its variables; what usually does when left out.
    pub mapping: Option<Vec<VariableMapping>>,
}

/// A rule to be made, in the older family's form.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FlatRuleRequest {
    /// What people will call it.
    pub name: String,
    /// Its only evaluator.
    pub evaluator: Option<EvaluatorReference>,
    /// What fills the variables of its only evaluator.
    pub mapping: Option<Vec<VariableMapping>>,
    /// Its evaluators, instead of the two above.
    pub evaluators: Option<Vec<AssignmentReference>>,
    /// What it looks at.
    pub target: RuleTarget,
    /// Whether it is switched on.
    pub enabled: bool,
    /// The share of what matches that is scored; all when left out.
    pub sampling: Option<f64>,
    /// Under which conditions; always when left out.
    pub filter: Option<Vec<WidgetFilter>>,
}

/// What is to change about a rule, in the older family's form; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FlatRuleChange {
    /// What people will call it.
    pub name: Option<String>,
    /// Its first evaluator.
    pub evaluator: Option<EvaluatorReference>,
    /// What fills the variables of its first evaluator.
    pub mapping: Option<Vec<VariableMapping>>,
    /// All its evaluators, instead of the two above.
    pub evaluators: Option<Vec<AssignmentReference>>,
    /// What it looks at.
    pub target: Option<RuleTarget>,
    /// Whether it is switched on.
    pub enabled: Option<bool>,
    /// The share of what matches that is scored.
    pub sampling: Option<f64>,
    /// Under which conditions.
    pub filter: Option<Vec<WidgetFilter>>,
}
