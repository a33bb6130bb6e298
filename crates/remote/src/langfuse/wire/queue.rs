use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;
use super::word::{Spelled, Word};

/// How far an item is, as its word.
pub type ItemStatusWord = Word<ItemStatus>;
/// What an item is, as its word.
pub type ItemKindWord = Word<ItemKind>;

impl Spelled for ItemStatus {
    const WHAT: &'static str = "annotation queue status";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Spelled for ItemKind {
    const WHAT: &'static str = "annotation queue object type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// A queue of things for people to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The score configs by which its items are judged.
    pub score_config_ids: Vec<String>,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// A queue to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRequest {
    /// What people will call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The score configs by which its items will be judged.
    pub score_config_ids: Vec<String>,
}

/// Something in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItemView {
    /// Its id.
    pub id: String,
    /// The queue.
    pub queue_id: String,
    /// Which object it is.
    pub object_id: String,
    /// What kind of object that is.
    pub object_type: ItemKindWord,
    /// How far it is.
    pub status: ItemStatusWord,
    /// When someone was done with it.
    pub completed_at: Option<Time>,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Something to be put into a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItemRequest {
    /// Which object.
    pub object_id: String,
    /// What kind of object that is.
    pub object_type: ItemKindWord,
    /// How far it is; pending when left out.
    pub status: Option<ItemStatusWord>,
}

/// What is to change about an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueItemChange {
    /// How far it is; stays as it is when left out.
    pub status: Option<ItemStatusWord>,
}

/// An item was taken out of its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueItemDeleted {
    /// Whether that worked.
    pub success: bool,
    /// The same in words.
    pub message: String,
}

/// Who is to look after a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentRequest {
    /// The person.
    pub user_id: String,
}

/// Who looks after a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentView {
    /// The person.
    pub user_id: String,
    /// The queue.
    pub queue_id: String,
    /// The project it is in.
    pub project_id: String,
}

/// Something was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Success {
    /// Whether it was.
    pub success: bool,
}
