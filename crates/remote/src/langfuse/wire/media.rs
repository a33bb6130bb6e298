use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;

/// A piece of media that a client wants to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaRequest {
    /// The trace it belongs to.
    pub trace_id: Option<String>,
    /// The step of that trace, if not the trace itself.
    pub observation_id: Option<String>,
    /// The dataset it belongs to.
    pub dataset_id: Option<String>,
    /// The item of that dataset.
    pub dataset_item_id: Option<String>,
    /// What it is.
    pub content_type: String,
    /// How many bytes it has.
    pub content_length: u64,
    /// The SHA-256 of its bytes, in base64.
    pub sha256_hash: String,
    /// Which field it stands in.
    pub field: String,
}

/// Where to send a piece of media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaUpload {
    /// Where to PUT the bytes; null when they are here already.
    pub upload_url: Option<String>,
    /// Its id.
    pub media_id: String,
}

/// How an upload went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadOutcome {
    /// When.
    pub uploaded_at: Time,
    /// With what status.
    pub upload_http_status: i64,
    /// What went wrong.
    pub upload_http_error: Option<String>,
    /// How long it took.
    pub upload_time_ms: Option<i64>,
}

/// A piece of media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaView {
    /// Its id.
    pub media_id: String,
    /// What it is.
    pub content_type: String,
    /// How many bytes it has.
    pub content_length: u64,
    /// When it was uploaded.
    pub uploaded_at: Time,
    /// Where to get the bytes.
    pub url: String,
    /// Until when that works.
    pub url_expiry: Time,
}
