//! Definitions that are kept whole, as clients see them.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, body};
use ratchet_core::payload::Json as JsonText;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Document, DocumentKind, Documents};
use ratchet_store::{StoreError, StoreResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An error of ours is never longer.
const MAX_ERROR_BYTES: usize = 1_000_000;

/// Reads what a document says.
///
/// # Errors
/// Fails if it was written by a newer Ratchet, in words this one does not know.
pub(super) fn read<T: DeserializeOwned>(document: &Document) -> StoreResult<T> {
    serde_json::from_str(document.body.as_str())
        .map_err(|why| StoreError::BadQuery(format!("{} cannot be read: {why}", document.id)))
}

/// Keeps a view under its id.
///
/// # Errors
/// Fails if it nests too deep to be read again.
pub(super) fn keep<T: Serialize>(
    documents: &Documents<'_>,
    kind: DocumentKind,
    (id, view): (&str, &T),
    (created_at, updated_at): (Timestamp, Timestamp),
) -> StoreResult<()> {
    let text = serde_json::to_string(view).ok();
    let body = text.as_deref().and_then(JsonText::parse);
    let body = body.ok_or_else(|| StoreError::BadQuery("the body nests too deep".to_owned()))?;
    documents.keep(kind, &Document { id: id.to_owned(), body, created_at, updated_at })
}

/// Adds the machine-readable `code` that clients of the newer families look for in errors.
pub(super) async fn with_code(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let code = match status.as_u16() {
        400 => "invalid_body",
        401 => "authentication_failed",
        403 => "access_denied",
        404 => "resource_not_found",
        405 => "method_not_allowed",
        409 => "conflict",
        429 => "rate_limited",
        500 => "internal_error",
        _ if status.is_client_error() => "invalid_request",
        _ => return response,
    };
    let (mut parts, body) = response.into_parts();
    let bytes = body::to_bytes(body, MAX_ERROR_BYTES).await.unwrap_or_default();
    let Ok(Value::Object(mut error)) = serde_json::from_slice(&bytes) else {
        return (parts, bytes).into_response();
    };
    error.insert("code".to_owned(), code.into());
    parts.headers.remove(axum::http::header::CONTENT_LENGTH);
    parts.headers.remove(axum::http::header::CONTENT_TYPE);
    (parts, Json(error)).into_response()
}
