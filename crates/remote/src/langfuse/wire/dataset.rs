use ratchet_core::catalog::dataset::DatasetStatus;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::maybe::Maybe;
use super::time::Time;
use super::word::Word;

pub use super::trace::Deleted;

/// A dataset item's status as its word.
pub type DatasetStatusWord = Word<DatasetStatus>;

/// A dataset, as sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDataset {
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whatever the client keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
    /// What the inputs of its items must look like, as JSON Schema.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>)]
    pub input_schema: Maybe<Raw>,
    /// What the expected outputs of its items must look like, as JSON Schema.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>)]
    pub expected_output_schema: Maybe<Raw>,
}

/// A dataset.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetView {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whatever the client keeps with it.
    pub metadata: Option<Raw>,
    /// What the inputs of its items must look like.
    pub input_schema: Option<Raw>,
    /// What the expected outputs of its items must look like.
    pub expected_output_schema: Option<Raw>,
    /// In which project.
    pub project_id: String,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// A dataset with what is in it by name, as the first version of the API shows it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DatasetWithNames {
    /// The dataset.
    #[serde(flatten)]
    pub dataset: DatasetView,
    /// What is in it.
    #[serde(flatten)]
    pub content: DatasetNames,
}

/// What is in a dataset, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct DatasetNames {
    /// The ids of its items, newest first; archived ones are left out.
    pub items: Vec<String>,
    /// The names of the runs over it, newest first.
    pub runs: Vec<String>,
}

/// A dataset item, as sent. What is left out or null stays as it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDatasetItem {
    /// The name of its dataset.
    pub dataset_name: String,
    /// What goes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Raw>,
    /// What should come out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<Raw>,
    /// Whatever the client keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
    /// The trace it is made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_trace_id: Option<String>,
    /// The observation it is made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_observation_id: Option<String>,
    /// Its id; an item with this id is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it is tried in new runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DatasetStatusWord>,
}

/// A dataset item.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetItemView {
    /// Its id.
    pub id: String,
    /// Whether it is tried in new runs.
    pub status: DatasetStatusWord,
    /// What goes in.
    pub input: Option<Raw>,
    /// What should come out.
    pub expected_output: Option<Raw>,
    /// Whatever the client keeps with it.
    pub metadata: Option<Raw>,
    /// The trace it was made from.
    pub source_trace_id: Option<String>,
    /// The observation it was made from.
    pub source_observation_id: Option<String>,
    /// The id of its dataset.
    pub dataset_id: String,
    /// The name of its dataset.
    pub dataset_name: String,
    /// When it was made.
    pub created_at: Time,
    /// Since when it is as it is.
    pub updated_at: Time,
    /// The media it refers to, as far as they could be looked up.
    #[serde(default)]
    #[schema(required = true)]
    pub media_references: Vec<MediaReference>,
}

/// A place in an item that refers to a piece of media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaReference {
    /// Which field: `input`, `expectedOutput` or `metadata`.
    pub field: String,
    /// The reference as it stands there.
    pub reference_string: String,
    /// Where in the field, as a JSON path.
    pub json_path: String,
    /// What it refers to.
    pub media: ReferencedMedia,
}

/// A piece of media that is referred to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReferencedMedia {
    /// Its id.
    pub media_id: String,
    /// What it is.
    pub content_type: String,
    /// How many bytes it has.
    pub content_length: u64,
    /// Where to get it.
    pub url: String,
    /// Until when the link works.
    pub url_expiry: Time,
}
