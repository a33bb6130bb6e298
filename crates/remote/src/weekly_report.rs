//! Weekly reports as Ratchet servers tell them, below `/api/v1`.

use ratchet_core::quality::suggestion::{Progress, Suggestion};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The weeks that have a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WeekListView {
    /// Each week's first day, such as `2026-11-08`; the newest week first.
    pub weeks: Vec<String>,
}

/// The report of a week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WeekReportView {
    /// The week's first day.
    pub week: String,
    /// What it says.
    #[schema(value_type = Object)]
    pub report: Value,
    /// Since when there is one, RFC 3339.
    pub created_at: String,
    /// When it last changed, RFC 3339.
    pub updated_at: String,
}

/// What keeping a report changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptWeekView {
    /// What became of the report.
    pub effect: KeptEffect,
    /// Its suggestions as they are tracked.
    pub suggestions: Vec<TrackedView>,
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeptEffect {
    /// It is new.
    Made,
    /// It says something else than before.
    Changed,
    /// It says what it said before.
    Same,
}

/// The suggestions of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrackedListView {
    /// Those of the last weeks first.
    pub suggestions: Vec<TrackedView>,
}

/// A suggestion, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackedView {
    /// Names it within the project.
    pub id: String,
    /// What is suggested, and why.
    #[schema(value_type = Object)]
    pub suggestion: Suggestion,
    /// The week that asked for it first.
    pub first_week: String,
    /// The last that did.
    pub last_week: String,
    /// `open`, `accepted`, `done` or `dismissed`.
    #[schema(value_type = String)]
    pub progress: Progress,
    /// How it came there, oldest first.
    pub steps: Vec<TrackedStepView>,
    /// Since when it is tracked, RFC 3339.
    pub created_at: String,
}

/// What is decided about a suggestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackedRequest {
    /// `open`, `accepted`, `done` or `dismissed`.
    #[schema(value_type = String)]
    pub progress: Progress,
}

/// Something that someone decided about a suggestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrackedStepView {
    /// What they decided.
    #[schema(value_type = String)]
    pub progress: Progress,
    /// Who.
    pub actor: String,
    /// When, RFC 3339.
    pub at: String,
}
