//! What all resources that are stored as whole documents share, from the request to the store.
//!
//! A change reads, validates and saves a document in a single transaction, so that two clients that
//! change different fields concurrently do not overwrite each other.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, body};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::page::{Paged, SliceMeta, Sliced};
use ratchet_stages::dashboards::definitions;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Document, DocumentKind, Documents};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Page, Paging};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::params::{self, Params};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ApiResult};

/// Maximum length of an error body of ours.
const MAX_ERROR_BYTES: usize = 1_000_000;

/// A resource that is stored as a whole document.
pub(super) trait StoredDocument: Serialize + DeserializeOwned + Send + 'static {
    const KIND: DocumentKind;

    /// The fields that all documents have.
    fn stamp(&mut self) -> Stamp<'_>;

    /// Validates it, alone and against the project's other documents.
    fn check(&self, documents: &Documents<'_>) -> ApiResult<()>;

    /// Rejects deletion of a document that others reference.
    fn check_unused(&self, _: &Documents<'_>) -> ApiResult<()> {
        Ok(())
    }
}

pub(super) struct Stamp<'kept> {
    /// Unique within its kind.
    pub(super) id: &'kept str,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: &'kept mut Timestamp,
}

/// The response form of documents in one version of the routes.
pub(super) trait View: Sized + Send + 'static {
    /// The document type.
    type Of: StoredDocument;

    /// Converts documents, in order.
    fn all(documents: &Documents<'_>, kept: Vec<Self::Of>) -> ApiResult<Vec<Self>>;

    /// Converts one document.
    fn one(documents: &Documents<'_>, kept: Self::Of) -> ApiResult<Self> {
        let shown = Self::all(documents, vec![kept])?.pop();
        shown.ok_or_else(|| ApiError::internal("a document has no response form"))
    }
}

/// Most documents are returned as they are stored.
impl<K: StoredDocument> View for K {
    type Of = Self;

    fn all(_: &Documents<'_>, kept: Vec<Self>) -> ApiResult<Vec<Self>> {
        Ok(kept)
    }
}

/// Responds with a numbered page, last changed first.
///
/// # Errors
/// 400 with all invalid parameters.
pub(super) async fn list<V: View>(
    app: &App,
    project: ProjectId,
    mut params: Params,
) -> ApiResult<Json<Paged<V>>> {
    let page = params.page();
    params.finish()?;
    let found = shown(app, project, Paging::Numbered(page)).await?;
    Ok(Json(Paged { data: found.rows, meta: params::meta(page, found.total) }))
}

/// Responds with a page after a cursor, last changed first.
///
/// # Errors
/// 400 with all invalid parameters.
pub(super) async fn slice<V: View>(
    app: &App,
    project: ProjectId,
    mut params: Params,
) -> ApiResult<Json<Sliced<V>>> {
    let (paging, limit) = params.slice();
    params.finish()?;
    let found = shown(app, project, paging).await?;
    Ok(Json(Sliced { data: found.rows, meta: SliceMeta { limit, cursor: found.cursor } }))
}

async fn shown<V: View>(app: &App, project: ProjectId, paging: Paging) -> ApiResult<Page<V>> {
    let work = move |documents: &Documents<'_>| -> ApiResult<Page<V>> {
        let Page { rows, total, cursor } = documents.page(V::Of::KIND, paging)?;
        let kept = rows.iter().map(definitions::read).collect::<StoreResult<_>>()?;
        Ok(Page { rows: V::all(documents, kept)?, total, cursor })
    };
    app.store.catalog.with_documents(project, work).await
}

/// Responds with one document.
///
/// # Errors
/// 404 if the project has none of that id.
pub(super) async fn show<V: View>(app: &App, project: ProjectId, id: String) -> ApiResult<Json<V>> {
    let work = move |documents: &Documents<'_>| V::one(documents, find(documents, &id)?);
    app.store.catalog.with_documents(project, work).await.map(Json)
}

/// Creates a document and responds with it.
///
/// # Errors
/// Fails with the error of `make`, or 400 if it is invalid.
pub(super) async fn create<V: View>(
    app: &App,
    caller: Caller,
    make: impl FnOnce(&Documents<'_>, Timestamp) -> ApiResult<V::Of> + Send + 'static,
) -> ApiResult<Json<V>> {
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        let made = keep(documents, make(documents, now)?, now)?;
        V::one(documents, made)
    };
    caller.catalog(app).with_documents(caller.project, work).await.map(Json)
}

/// Changes a document and responds with it.
///
/// # Errors
/// 404 if the project has none of that id; fails with the error of `alter`, or 400 if the result is
/// invalid.
pub(super) async fn change<V: View>(
    app: &App,
    caller: Caller,
    id: String,
    alter: impl FnOnce(&Documents<'_>, &mut V::Of) -> ApiResult<()> + Send + 'static,
) -> ApiResult<Json<V>> {
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        let (kept, ()) = altered(documents, (&id, now), |kept| alter(documents, kept))?;
        V::one(documents, kept)
    };
    caller.catalog(app).with_documents(caller.project, work).await.map(Json)
}

/// Changes a document and responds with the part that `alter` returns.
///
/// # Errors
/// As [`change`].
pub(super) async fn change_part<K: StoredDocument, T: Send + 'static>(
    app: &App,
    caller: Caller,
    id: String,
    alter: impl FnOnce(&mut K) -> ApiResult<T> + Send + 'static,
) -> ApiResult<T> {
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        altered(documents, (&id, now), alter).map(|(_, part)| part)
    };
    caller.catalog(app).with_documents(caller.project, work).await
}

fn altered<K: StoredDocument, T>(
    documents: &Documents<'_>,
    (id, now): (&str, Timestamp),
    alter: impl FnOnce(&mut K) -> ApiResult<T>,
) -> ApiResult<(K, T)> {
    let mut kept = find(documents, id)?;
    let part = alter(&mut kept)?;
    Ok((keep(documents, kept, now)?, part))
}

/// Deletes a document that no other references.
///
/// # Errors
/// 404 if the project has none of that id, 409 if it is referenced.
pub(super) async fn delete<K: StoredDocument>(
    app: &App,
    caller: Caller,
    id: String,
) -> ApiResult<()> {
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        find::<K>(documents, &id)?.check_unused(documents)?;
        Ok(documents.delete(K::KIND, &id, now)?)
    };
    caller.catalog(app).with_documents(caller.project, work).await
}

/// Returns a document.
///
/// # Errors
/// 404 if the project has none of that id.
pub(super) fn find<K: StoredDocument>(documents: &Documents<'_>, id: &str) -> ApiResult<K> {
    Ok(definitions::read(&documents.find(K::KIND, id)?)?)
}

/// Returns all documents of a kind, last changed first.
///
/// # Errors
/// Fails only when the database does.
pub(super) fn all<K: StoredDocument>(documents: &Documents<'_>) -> ApiResult<Vec<K>> {
    Ok(documents.all(K::KIND)?.iter().map(definitions::read).collect::<StoreResult<_>>()?)
}

/// Sets a field if the request has it.
pub(super) fn set<T>(kept: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *kept = given;
    }
}

/// Saves a document. Fails if it is invalid, or nests too deep to be read again.
fn keep<K: StoredDocument>(documents: &Documents<'_>, mut kept: K, now: Timestamp) -> ApiResult<K> {
    kept.check(documents)?;
    let Stamp { id, created_at, updated_at } = kept.stamp();
    let id = id.to_owned();
    *updated_at = now;
    let body = definitions::body(&kept)?;
    documents.upsert(K::KIND, &Document { id, body, created_at, updated_at: now })?;
    Ok(kept)
}

/// Middleware that adds the machine-readable `code` which clients of the newer routes expect in
/// errors.
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
        // The only error here for a valid request that cannot be fulfilled.
        422 => "evaluator_preflight_failed",
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
