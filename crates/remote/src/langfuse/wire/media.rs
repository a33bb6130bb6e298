use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Time;

/// A request to upload a media file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaRequest {
    /// Trace id.
    pub trace_id: Option<String>,
    /// Observation id, if it belongs to an observation.
    pub observation_id: Option<String>,
    /// Dataset id.
    pub dataset_id: Option<String>,
    /// Dataset item id.
    pub dataset_item_id: Option<String>,
    /// Content type.
    pub content_type: String,
    /// Size in bytes.
    pub content_length: u64,
    /// SHA-256 of its bytes, in base64.
    pub sha256_hash: String,
    /// The field that refers to it.
    pub field: String,
}

/// The upload URL of a media file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaUpload {
    /// URL to PUT the bytes to; null when they are stored already.
    pub upload_url: Option<String>,
    /// Unique id.
    pub media_id: String,
}

/// The result of an upload, reported by the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadOutcome {
    /// Time.
    pub uploaded_at: Time,
    /// HTTP status.
    pub upload_http_status: i64,
    /// Error message.
    pub upload_http_error: Option<String>,
    /// Duration in milliseconds.
    pub upload_time_ms: Option<i64>,
}

/// A media file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MediaView {
    /// Unique id.
    pub media_id: String,
    /// Content type.
    pub content_type: String,
    /// Size in bytes.
    pub content_length: u64,
    /// Time of the upload.
    pub uploaded_at: Time,
    /// Download URL.
    pub url: String,
    /// Expiry of the URL.
    pub url_expiry: Time,
}
