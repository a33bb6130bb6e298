//! Evaluation rules: what to score and with which evaluators. Like evaluators, they have an older
//! and a newer API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::dashboard::WidgetFilter;
use super::evaluator::{EvaluationStatus, EvaluatorKind, VariableMapping};
use super::time::Time;

/// The records that a rule evaluates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleTarget {
    /// Incoming observations.
    #[default]
    Observation,
    /// Experiment runs.
    Experiment,
    /// Traces, once they are quiet. Ratchet's own.
    Trace,
    /// Whole sessions, once they are quiet. Ratchet's own.
    Session,
}

/// An evaluation rule in its stored form: the newer API's fields and its target.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationRuleView {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Sampling rate, from 0 to 1.
    pub sampling: f64,
    /// Filters.
    pub filter: Vec<WidgetFilter>,
    /// Evaluator assignments.
    pub evaluator_assignments: Vec<EvaluatorAssignment>,
    /// Target records.
    pub target: RuleTarget,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// When a person last started it; a rule without was stored by a server that ran none, and is
    /// paused. Ratchet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub started_at: Option<Time>,
    /// How long a record must have been still before it is evaluated, in seconds. Ratchet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub delay_seconds: Option<u64>,
}

/// An evaluator assigned to a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorAssignment {
    /// Evaluator id; always its latest version.
    pub evaluator_id: String,
    /// Variable mapping; the evaluator's default when null.
    pub variable_mapping: Option<Vec<VariableMapping>>,
}

/// A request to create a rule (newer API).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationRuleRequest {
    /// Display name.
    pub name: String,
    /// Whether it is enabled; requires an evaluator.
    pub enabled: bool,
    /// Sampling rate, from 0 to 1; 1 when omitted.
    pub sampling: Option<f64>,
    /// Filters; none when omitted.
    pub filter: Option<Vec<WidgetFilter>>,
    /// Evaluator assignments.
    pub evaluator_assignments: Vec<EvaluatorAssignment>,
    /// Target records; observations when omitted. Ratchet's own.
    pub target: Option<RuleTarget>,
    /// How long a record must have been still before it is evaluated, in seconds. Ratchet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub delay_seconds: Option<u64>,
}

/// An update of a rule (newer API); omitted fields are unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationRuleChange {
    /// Display name.
    pub name: Option<String>,
    /// Whether it is enabled.
    pub enabled: Option<bool>,
    /// Sampling rate, from 0 to 1.
    pub sampling: Option<f64>,
    /// Filters.
    pub filter: Option<Vec<WidgetFilter>>,
    /// Evaluator assignments; an empty list disables the rule.
    pub evaluator_assignments: Option<Vec<EvaluatorAssignment>>,
    /// Target records. Ratchet's own.
    pub target: Option<RuleTarget>,
    /// How long a record must have been still before it is evaluated, in seconds. Ratchet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub delay_seconds: Option<u64>,
}

/// A rule (older API).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlatRuleView {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// First evaluator.
    pub evaluator: Option<NamedEvaluator>,
    /// Evaluators.
    pub evaluators: Vec<NamedAssignment>,
    /// Target records.
    pub target: RuleTarget,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Status.
    pub status: EvaluationStatus,
    /// Reason code when paused.
    pub paused_reason: Option<String>,
    /// Reason when paused, as text.
    pub paused_message: Option<String>,
    /// Sampling rate, from 0 to 1.
    pub sampling: f64,
    /// Filters.
    pub filter: Vec<WidgetFilter>,
    /// Variable mapping of the first evaluator.
    pub mapping: Vec<VariableMapping>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// An evaluator with id and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedEvaluator {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Type of evaluator.
    #[serde(rename = "type")]
    pub kind: EvaluatorKind,
}

/// An evaluator of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedAssignment {
    /// Evaluator.
    pub evaluator: NamedEvaluator,
    /// Variable mapping; the evaluator's default when null.
    pub mapping: Option<Vec<VariableMapping>>,
}

/// A reference to an evaluator by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvaluatorReference {
    /// Display name.
    pub name: String,
    /// Type of evaluator.
    #[serde(rename = "type")]
    pub kind: Option<EvaluatorKind>,
}

/// An evaluator of a rule in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignmentReference {
    /// Evaluator.
    pub evaluator: EvaluatorReference,
    /// Variable mapping; the evaluator's default when omitted.
    pub mapping: Option<Vec<VariableMapping>>,
}

/// A request to create a rule (older API).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FlatRuleRequest {
    /// Display name.
    pub name: String,
    /// Single evaluator.
    pub evaluator: Option<EvaluatorReference>,
    /// Variable mapping of the single evaluator.
    pub mapping: Option<Vec<VariableMapping>>,
    /// Evaluators; replaces the two fields above.
    pub evaluators: Option<Vec<AssignmentReference>>,
    /// Target records.
    pub target: RuleTarget,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Sampling rate, from 0 to 1; 1 when omitted.
    pub sampling: Option<f64>,
    /// Filters; none when omitted.
    pub filter: Option<Vec<WidgetFilter>>,
    /// How long a record must have been still before it is evaluated, in seconds. Ratchet's own.
    #[serde(rename = "delaySeconds", default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub delay_seconds: Option<u64>,
}

/// An update of a rule (older API); omitted fields are unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FlatRuleChange {
    /// Display name.
    pub name: Option<String>,
    /// First evaluator.
    pub evaluator: Option<EvaluatorReference>,
    /// Variable mapping of the first evaluator.
    pub mapping: Option<Vec<VariableMapping>>,
    /// All evaluators; replaces the two fields above.
    pub evaluators: Option<Vec<AssignmentReference>>,
    /// Target records.
    pub target: Option<RuleTarget>,
    /// Whether it is enabled.
    pub enabled: Option<bool>,
    /// Sampling rate, from 0 to 1.
    pub sampling: Option<f64>,
    /// Filters.
    pub filter: Option<Vec<WidgetFilter>>,
    /// How long a record must have been still before it is evaluated, in seconds. Ratchet's own.
    #[serde(rename = "delaySeconds", default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub delay_seconds: Option<u64>,
}
