use ratchet_core::catalog::dataset::DatasetStatus;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::maybe::Maybe;
use super::time::Time;
use super::wire_name::WireName;

pub use super::trace::Deleted;

/// The API name of a dataset item's status.
pub type DatasetStatusName = WireName<DatasetStatus>;

/// A request to create or update a dataset.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDataset {
    /// Name.
    pub name: String,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Client metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
    /// JSON Schema of the items' inputs.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>)]
    pub input_schema: Maybe<Raw>,
    /// JSON Schema of the items' expected outputs.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>)]
    pub expected_output_schema: Maybe<Raw>,
}

/// A dataset.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetView {
    /// Unique id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Client metadata.
    pub metadata: Option<Raw>,
    /// JSON Schema of the items' inputs.
    pub input_schema: Option<Raw>,
    /// JSON Schema of the items' expected outputs.
    pub expected_output_schema: Option<Raw>,
    /// Project id.
    pub project_id: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// A dataset with the names of its content, as in version 1 of the API.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DatasetWithNames {
    /// Dataset.
    #[serde(flatten)]
    pub dataset: DatasetView,
    /// Content, by name.
    #[serde(flatten)]
    pub content: DatasetNames,
}

/// The content of a dataset, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct DatasetNames {
    /// Ids of its items, newest first, without archived ones.
    pub items: Vec<String>,
    /// Names of its runs, newest first.
    pub runs: Vec<String>,
}

/// A request to create or update a dataset item. Omitted and null fields are unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDatasetItem {
    /// Dataset name.
    pub dataset_name: String,
    /// Input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Raw>,
    /// Expected output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<Raw>,
    /// Client metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
    /// Source trace id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_trace_id: Option<String>,
    /// Source observation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_observation_id: Option<String>,
    /// Unique id; an existing item is updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Status; archived items are not used in new runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DatasetStatusName>,
}

/// A dataset item.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetItemView {
    /// Unique id.
    pub id: String,
    /// Status; archived items are not used in new runs.
    pub status: DatasetStatusName,
    /// Input.
    pub input: Option<Raw>,
    /// Expected output.
    pub expected_output: Option<Raw>,
    /// Client metadata.
    pub metadata: Option<Raw>,
    /// Source trace id.
    pub source_trace_id: Option<String>,
    /// Source observation id.
    pub source_observation_id: Option<String>,
    /// Dataset id.
    pub dataset_id: String,
    /// Dataset name.
    pub dataset_name: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Media references that could be resolved.
    #[serde(default)]
    #[schema(required = true)]
    pub media_references: Vec<MediaReference>,
}

/// A media reference in a dataset item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaReference {
    /// Field: `input`, `expectedOutput` or `metadata`.
    pub field: String,
    /// Reference text.
    pub reference_string: String,
    /// JSON path in the field.
    pub json_path: String,
    /// Referenced media.
    pub media: ReferencedMedia,
}

/// A media file that is referenced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReferencedMedia {
    /// Unique id.
    pub media_id: String,
    /// Content type.
    pub content_type: String,
    /// Size in bytes.
    pub content_length: u64,
    /// Download URL.
    pub url: String,
    /// Expiry of the URL.
    pub url_expiry: Time,
}
