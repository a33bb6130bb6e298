use ratchet_core::catalog::annotation::CommentedKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;
use super::word::{Spelled, Word};

/// What a comment is on, as its word.
pub type CommentedKindWord = Word<CommentedKind>;

impl Spelled for CommentedKind {
    const WHAT: &'static str = "comment object type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// What someone says about something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentView {
    /// Its id.
    pub id: String,
    /// The project it is in.
    pub project_id: String,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// What kind of object it is on.
    pub object_type: CommentedKindWord,
    /// Which object.
    pub object_id: String,
    /// What is said; may hold Markdown.
    pub content: String,
    /// Who says it, if a person does.
    pub author_user_id: Option<String>,
}

/// A comment to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentRequest {
    /// The project of the key.
    pub project_id: String,
    /// What kind of object it is on.
    pub object_type: CommentedKindWord,
    /// Which object; it must be there.
    pub object_id: String,
    /// What is said, up to 5,000 characters.
    pub content: String,
    /// Who says it, if a person does.
    pub author_user_id: Option<String>,
}

/// A comment was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommentCreated {
    /// Its id.
    pub id: String,
}
