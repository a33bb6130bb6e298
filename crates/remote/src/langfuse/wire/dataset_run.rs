use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, both};
use super::time::Time;

/// That an item was tried in a run, as sent. The run is made if there is none of the name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDatasetRunItem {
    /// The name of the run.
    pub run_name: String,
    /// What the run is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_description: Option<String>,
    /// Whatever the client keeps with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
    /// The item that was tried.
    pub dataset_item_id: String,
    /// The step that tried it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation_id: Option<String>,
    /// The trace that tried it; that of the step when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The item was tried as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset_version: Option<Time>,
    /// When it was tried; now when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}

/// One try of an item in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetRunItemView {
    /// Its id.
    pub id: String,
    /// The id of the run.
    pub dataset_run_id: String,
    /// The name of the run.
    pub dataset_run_name: String,
    /// The item.
    pub dataset_item_id: String,
    /// The trace that tried it.
    pub trace_id: String,
    /// The step that tried it, if not the whole trace.
    pub observation_id: Option<String>,
    /// When it was first heard of.
    pub created_at: Time,
    /// When it was last heard of.
    pub updated_at: Time,
}

/// A run over a dataset.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetRunView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whatever the client keeps with it.
    pub metadata: Option<Raw>,
    /// The id of the dataset.
    pub dataset_id: String,
    /// The name of the dataset.
    pub dataset_name: String,
    /// When it was first heard of.
    pub created_at: Time,
    /// When it was last heard of.
    pub updated_at: Time,
}

/// A run with all its items.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DatasetRunWithItems {
    /// The run.
    #[serde(flatten)]
    pub run: DatasetRunView,
    /// Its items.
    #[serde(flatten)]
    pub content: DatasetRunItems,
}

/// The items of a run, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetRunItems {
    /// The items.
    pub dataset_run_items: Vec<DatasetRunItemView>,
}

impl<'de> Deserialize<'de> for DatasetRunWithItems {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (run, content) = both(deserializer)?;
        Ok(Self { run, content })
    }
}
