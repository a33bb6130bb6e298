//! JSON responses, which may be long: inputs and outputs can have megabytes.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use ratchet_core::payload::Payload;
use ratchet_core::record::trace::Content;
use serde::Serialize;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// Approximate bytes of a record without content.
const ROW_BYTES: usize = 1_000;

/// Serializes a JSON response of about so many bytes, on the CPU pool if it is long.
///
/// # Errors
/// 500 if it cannot be serialized, which would be a bug.
pub(super) async fn json<T: Serialize>(
    app: &App,
    bytes: usize,
    view: impl FnOnce() -> T + Send + 'static,
) -> ApiResult<Response> {
    let write =
        move || serde_json::to_vec(&view()).map_err(|error| ApiError::Internal(Box::new(error)));
    let body = app.workers.run_sized(bytes, write).await??;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The error for a missing record, in Langfuse's own words: some clients look for them.
pub(super) fn not_found(what: &str) -> ApiError {
    ApiError::NotFound(format!("{what} not found within authorized project"))
}

/// Approximate bytes of records with this content.
pub(super) fn size<'a>(contents: impl Iterator<Item = Option<&'a Content>>) -> usize {
    let text = |payload: &Option<Payload>| payload.as_ref().map_or(0, |text| text.as_str().len());
    let one = |content: Option<&Content>| {
        let Some(content) = content else { return ROW_BYTES };
        let keys = content.metadata.iter().map(|(key, json)| key.len() + json.as_str().len());
        ROW_BYTES + text(&content.input) + text(&content.output) + keys.sum::<usize>()
    };
    contents.map(one).sum()
}
