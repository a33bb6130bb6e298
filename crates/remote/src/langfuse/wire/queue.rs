use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;
use super::wire_name::{WireEnum, WireName};

/// The API name of an item status.
pub type ItemStatusName = WireName<ItemStatus>;
/// The API name of an item's object type.
pub type ItemKindName = WireName<ItemKind>;

impl WireEnum for ItemStatus {
    const WHAT: &'static str = "annotation queue status";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl WireEnum for ItemKind {
    const WHAT: &'static str = "annotation queue object type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// An annotation queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Ids of the score configs for its items.
    pub score_config_ids: Vec<String>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// A request to create an annotation queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRequest {
    /// Display name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Ids of the score configs for its items.
    pub score_config_ids: Vec<String>,
}

/// An item of an annotation queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItemView {
    /// Unique id.
    pub id: String,
    /// Queue id.
    pub queue_id: String,
    /// Object id.
    pub object_id: String,
    /// Object type.
    pub object_type: ItemKindName,
    /// Status.
    pub status: ItemStatusName,
    /// Time of completion.
    pub completed_at: Option<Time>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// A request to add an item to a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItemRequest {
    /// Object id.
    pub object_id: String,
    /// Object type.
    pub object_type: ItemKindName,
    /// Status; pending when omitted.
    pub status: Option<ItemStatusName>,
}

/// An update of a queue item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueItemChange {
    /// Status; unchanged when omitted.
    pub status: Option<ItemStatusName>,
}

/// The result of removing an item from its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueItemDeleted {
    /// Whether it succeeded.
    pub success: bool,
    /// Message text.
    pub message: String,
}

/// A request to assign a user to a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentRequest {
    /// User id.
    pub user_id: String,
}

/// The assignment of a user to a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentView {
    /// User id.
    pub user_id: String,
    /// Queue id.
    pub queue_id: String,
    /// Project id.
    pub project_id: String,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Success {
    /// Whether it succeeded.
    pub success: bool,
}
