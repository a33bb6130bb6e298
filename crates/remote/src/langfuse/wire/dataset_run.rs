use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, both};
use super::time::Time;

/// A request to add an item to a run. The run is created if it does not exist.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDatasetRunItem {
    /// Run name.
    pub run_name: String,
    /// Description of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_description: Option<String>,
    /// Client metadata of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
    /// Dataset item id.
    pub dataset_item_id: String,
    /// Observation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation_id: Option<String>,
    /// Trace id; that of the observation when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Version of the dataset, by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset_version: Option<Time>,
    /// Time of the run; now when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}

/// A run item: one item executed in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetRunItemView {
    /// Unique id.
    pub id: String,
    /// Run id.
    pub dataset_run_id: String,
    /// Run name.
    pub dataset_run_name: String,
    /// Dataset item id.
    pub dataset_item_id: String,
    /// Trace id.
    pub trace_id: String,
    /// Observation id, if not the whole trace.
    pub observation_id: Option<String>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// A run over a dataset.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetRunView {
    /// Unique id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Client metadata.
    pub metadata: Option<Raw>,
    /// Dataset id.
    pub dataset_id: String,
    /// Dataset name.
    pub dataset_name: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// A run with all its items.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DatasetRunWithItems {
    /// Run.
    #[serde(flatten)]
    pub run: DatasetRunView,
    /// Run items.
    #[serde(flatten)]
    pub content: DatasetRunItems,
}

/// The items of a run, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetRunItems {
    /// Items.
    pub dataset_run_items: Vec<DatasetRunItemView>,
}

impl<'de> Deserialize<'de> for DatasetRunWithItems {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (run, content) = both(deserializer)?;
        Ok(Self { run, content })
    }
}
