use serde::{Deserialize, Serialize};

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::time::Time;

/// What an event says about a trace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceBody {
    /// Which trace.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub id: Maybe<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub timestamp: Maybe<Time>,
    /// What it is called.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub name: Maybe<String>,
    /// Whom it served.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub user_id: Maybe<String>,
    /// What went in.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub input: Maybe<Raw>,
    /// What came out.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub output: Maybe<Raw>,
    /// What it belongs to.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub session_id: Maybe<String>,
    /// The application's release.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub release: Maybe<String>,
    /// The trace's own version.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub version: Maybe<String>,
    /// Keys and values of the client's own.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub metadata: Maybe<Raw>,
    /// Labels to add.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub tags: Maybe<Vec<String>>,
    /// Where it ran.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub environment: Maybe<String>,
    /// Whether anyone with the link may look.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub public: Maybe<bool>,
    /// Whether someone marked it.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub bookmarked: Maybe<bool>,
}
