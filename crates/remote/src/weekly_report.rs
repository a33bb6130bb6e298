//! Wire types of weekly reports, under `/api/v1`.

use ratchet_core::quality::suggestion::{Progress, Suggestion};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The weeks with a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WeekListView {
    /// First day of each week, such as `2026-11-08`; newest first.
    pub weeks: Vec<String>,
}

/// The report of a week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WeekReportView {
    /// First day of the week.
    pub week: String,
    /// Report.
    #[schema(value_type = Object)]
    pub report: Value,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
}

/// The result of storing a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedReportView {
    /// Effect on the stored report.
    pub effect: SaveEffect,
    /// Its tracked suggestions.
    pub suggestions: Vec<TrackedView>,
}

/// The effect of storing a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SaveEffect {
    /// Created.
    Made,
    /// Updated.
    Changed,
    /// Unchanged.
    Same,
}

/// The suggestions of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrackedListView {
    /// Most recent weeks first.
    pub suggestions: Vec<TrackedView>,
}

/// A tracked suggestion with its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackedView {
    /// Unique id within the project.
    pub id: String,
    /// Suggestion.
    #[schema(value_type = Object)]
    pub suggestion: Suggestion,
    /// First week that contained it.
    pub first_week: String,
    /// Last week that contained it.
    pub last_week: String,
    /// `open`, `accepted`, `done` or `dismissed`.
    #[schema(value_type = String)]
    pub progress: Progress,
    /// Status changes, oldest first.
    pub steps: Vec<TrackedStepView>,
    /// Creation time, RFC 3339.
    pub created_at: String,
}

/// A status change of a suggestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackedRequest {
    /// `open`, `accepted`, `done` or `dismissed`.
    #[schema(value_type = String)]
    pub progress: Progress,
}

/// A recorded status change of a suggestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrackedStepView {
    /// New status.
    #[schema(value_type = String)]
    pub progress: Progress,
    /// Author.
    pub actor: String,
    /// Time, RFC 3339.
    pub at: String,
}
