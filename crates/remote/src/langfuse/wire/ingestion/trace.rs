use serde::{Deserialize, Serialize};

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::time::Time;

/// The body of a trace event.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceBody {
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub id: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub timestamp: Maybe<Time>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub name: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub user_id: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub input: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub output: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub session_id: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub release: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub version: Maybe<String>,
    /// Client metadata.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub metadata: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub tags: Maybe<Vec<String>>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub environment: Maybe<String>,
    /// Whether anyone with the link can view it.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub public: Maybe<bool>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub bookmarked: Maybe<bool>,
}
