use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::maybe::Maybe;
use super::score::v3::TypedScore;
use super::time::Time;
use super::wire_name::LevelName;

/// Experiments, latest run first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Experiments {
    /// Experiments.
    pub data: Vec<ExperimentView>,
    /// Pagination.
    pub meta: ExperimentsMeta,
}

/// Items of experiments, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ExperimentItems {
    /// Items.
    pub data: Vec<ExperimentItemView>,
    /// Pagination.
    pub meta: ExperimentsMeta,
}

/// Cursor pagination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentsMeta {
    /// Cursor of the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cursor: Option<String>,
}

/// An experiment, with its items in the requested time range.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentView {
    /// Unique id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Start of the first item.
    pub start_time: Time,
    /// End of the last item.
    pub end_time: Time,
    /// Number of items.
    pub item_count: u64,
    /// Dataset id.
    pub dataset_id: Option<String>,
    /// Client metadata. In the field group `metadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub metadata: Maybe<Raw>,
    /// Scores of the experiment itself. In the field group `scores`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scores: Option<Vec<TypedScore>>,
}

/// An experiment item: one item executed in an experiment.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentItemView {
    /// Observation id, or trace id.
    pub id: String,
    /// Trace id.
    pub trace_id: String,
    /// Start time.
    pub start_time: Time,
    /// End time.
    pub end_time: Option<Time>,
    /// Level.
    pub level: LevelName,
    /// Environment.
    pub environment: String,
    /// Experiment id.
    pub experiment_id: String,
    /// Experiment name.
    pub experiment_name: String,
    /// Item id.
    pub experiment_item_id: String,
    /// Dataset id. In the field group `dataset`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub experiment_dataset_id: Maybe<String>,
    /// Version of the item. In the field group `dataset`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Time>, default = json!(null))]
    pub experiment_item_version: Maybe<Time>,
    /// Input. In the field group `io`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub input: Maybe<Raw>,
    /// Output. In the field group `io`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub output: Maybe<Raw>,
    /// Expected output. In the field group `io`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub expected_output: Maybe<Raw>,
    /// Metadata of the observation. In the field group `metadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub metadata: Maybe<Raw>,
    /// Metadata of the item. In the field group `itemMetadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub experiment_item_metadata: Maybe<Raw>,
    /// Metadata of the experiment. In the field group `experimentMetadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub experiment_metadata: Maybe<Raw>,
    /// Description of the experiment. In the field group `experimentMetadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub experiment_description: Maybe<String>,
    /// Scores of the observation and its trace. In the field group `scores`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scores: Option<Vec<TypedScore>>,
}
