use ratchet_core::catalog::annotation::CommentedKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;
use super::wire_name::{WireEnum, WireName};

/// The API name of a commented object type.
pub type CommentedKindName = WireName<CommentedKind>;

impl WireEnum for CommentedKind {
    const WHAT: &'static str = "comment object type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentView {
    /// Unique id.
    pub id: String,
    /// Project id.
    pub project_id: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Type of the commented object.
    pub object_type: CommentedKindName,
    /// Object id.
    pub object_id: String,
    /// Text; may contain Markdown.
    pub content: String,
    /// User id of the author, if it is a person.
    pub author_user_id: Option<String>,
}

/// A request to create a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentRequest {
    /// Project id; must be the key's project.
    pub project_id: String,
    /// Type of the commented object.
    pub object_type: CommentedKindName,
    /// Object id; must exist.
    pub object_id: String,
    /// Text, up to 5,000 characters.
    pub content: String,
    /// User id of the author, if it is a person.
    pub author_user_id: Option<String>,
}

/// A created comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommentCreated {
    /// Unique id.
    pub id: String,
}
