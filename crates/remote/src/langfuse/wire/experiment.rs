use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::maybe::Maybe;
use super::score::v3::TypedScore;
use super::time::Time;
use super::word::LevelWord;

/// Experiments, those that ran last first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Experiments {
    /// The experiments.
    pub data: Vec<ExperimentView>,
    /// Where to go on.
    pub meta: ExperimentsMeta,
}

/// Items of experiments, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ExperimentItems {
    /// The items.
    pub data: Vec<ExperimentItemView>,
    /// Where to go on.
    pub meta: ExperimentsMeta,
}

/// Where a slice ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentsMeta {
    /// What to ask for next; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cursor: Option<String>,
}

/// An experiment, and what of it ran in the time asked for.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// When the first item began.
    pub start_time: Time,
    /// When the last item ended.
    pub end_time: Time,
    /// How many items.
    pub item_count: u64,
    /// The dataset it goes over.
    pub dataset_id: Option<String>,
    /// Whatever the client keeps with it. With the group `metadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub metadata: Maybe<Raw>,
    /// The scores on the experiment itself. With the group `scores`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scores: Option<Vec<TypedScore>>,
}

/// One try of an item in an experiment.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentItemView {
    /// The id of the step that tried it, or of the trace.
    pub id: String,
    /// The trace that tried it.
    pub trace_id: String,
    /// When it began.
    pub start_time: Time,
    /// When it ended.
    pub end_time: Option<Time>,
    /// How it went.
    pub level: LevelWord,
    /// Where it ran.
    pub environment: String,
    /// The id of the experiment.
    pub experiment_id: String,
    /// The name of the experiment.
    pub experiment_name: String,
    /// The id of the item.
    pub experiment_item_id: String,
    /// The dataset the experiment goes over. With the group `dataset`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub experiment_dataset_id: Maybe<String>,
    /// Which version of the item. With the group `dataset`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Time>, default = json!(null))]
    pub experiment_item_version: Maybe<Time>,
    /// What went in. With the group `io`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub input: Maybe<Raw>,
    /// What came out. With the group `io`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub output: Maybe<Raw>,
    /// What should have come out. With the group `io`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub expected_output: Maybe<Raw>,
    /// The step's metadata. With the group `metadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub metadata: Maybe<Raw>,
    /// The item's metadata. With the group `itemMetadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub experiment_item_metadata: Maybe<Raw>,
    /// The experiment's metadata. With the group `experimentMetadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub experiment_metadata: Maybe<Raw>,
    /// What the experiment is for. With the group `experimentMetadata`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub experiment_description: Maybe<String>,
    /// The scores on the step and on its trace. With the group `scores`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scores: Option<Vec<TypedScore>>,
}
