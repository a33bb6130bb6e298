//! Definitions that are kept whole: what all of them have in common, from the request to the
//! store.
//!
//! Whatever changes one reads it, checks it and keeps it in a single transaction, so of two
//! clients that change different fields at once neither undoes the other.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, body};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::page::{Paged, SliceMeta, Sliced};
use ratchet_remote::langfuse::wire::time::Time;
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

/// An error of ours is never longer.
const MAX_ERROR_BYTES: usize = 1_000_000;

/// A definition that is kept whole.
pub(super) trait Kept: Serialize + DeserializeOwned + Send + 'static {
    const KIND: DocumentKind;

    /// What it has in common with all others.
    fn stamp(&mut self) -> Stamp<'_>;

    /// Refuses what makes no sense, by itself or beside the project's other documents.
    fn check(&self, documents: &Documents<'_>) -> ApiResult<()>;

    /// Refuses to remove what others need.
    fn check_unused(&self, _: &Documents<'_>) -> ApiResult<()> {
        Ok(())
    }
}

pub(super) struct Stamp<'kept> {
    /// Names it among those of its kind.
    pub(super) id: &'kept str,
    /// Since when it is there.
    pub(super) created_at: Time,
    pub(super) updated_at: &'kept mut Time,
}

/// Kept definitions as one family of routes shows them.
pub(super) trait View: Sized + Send + 'static {
    /// What is kept.
    type Of: Kept;

    /// Shows definitions, in their order.
    fn all(documents: &Documents<'_>, kept: Vec<Self::Of>) -> ApiResult<Vec<Self>>;

    /// Shows one.
    fn one(documents: &Documents<'_>, kept: Self::Of) -> ApiResult<Self> {
        let shown = Self::all(documents, vec![kept])?.pop();
        shown.ok_or_else(|| ApiError::internal("a definition was not shown"))
    }
}

/// Most definitions are shown as they are kept.
impl<K: Kept> View for K {
    type Of = Self;

    fn all(_: &Documents<'_>, kept: Vec<Self>) -> ApiResult<Vec<Self>> {
        Ok(kept)
    }
}

/// Answers with a numbered page, the last changed first.
///
/// # Errors
/// 400 with everything that is wrong about the parameters.
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

/// Answers with a slice that goes on behind a cursor, the last changed first.
///
/// # Errors
/// 400 with everything that is wrong about the parameters.
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

/// Answers with one definition.
///
/// # Errors
/// 404 if the project has none of that id.
pub(super) async fn show<V: View>(app: &App, project: ProjectId, id: String) -> ApiResult<Json<V>> {
    let work = move |documents: &Documents<'_>| V::one(documents, find(documents, &id)?);
    app.store.catalog.with_documents(project, work).await.map(Json)
}

/// Keeps what is made of the project's documents, and answers with it.
///
/// # Errors
/// Fails with what `make` says, or 400 if it makes no sense.
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

/// Changes a definition, and answers with it.
///
/// # Errors
/// 404 if the project has none of that id; fails with what `alter` says, or 400 if what comes of
/// it makes no sense.
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

/// Changes a definition, and answers with the part of it that `alter` returns.
///
/// # Errors
/// As [`change`].
pub(super) async fn change_part<K: Kept, T: Send + 'static>(
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

fn altered<K: Kept, T>(
    documents: &Documents<'_>,
    (id, now): (&str, Timestamp),
    alter: impl FnOnce(&mut K) -> ApiResult<T>,
) -> ApiResult<(K, T)> {
    let mut kept = find(documents, id)?;
    let part = alter(&mut kept)?;
    Ok((keep(documents, kept, now)?, part))
}

/// Removes a definition that no other needs.
///
/// # Errors
/// 404 if the project has none of that id, 409 if it is needed.
pub(super) async fn delete<K: Kept>(app: &App, caller: Caller, id: String) -> ApiResult<()> {
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        find::<K>(documents, &id)?.check_unused(documents)?;
        Ok(documents.delete(K::KIND, &id, now)?)
    };
    caller.catalog(app).with_documents(caller.project, work).await
}

/// Returns a definition.
///
/// # Errors
/// 404 if the project has none of that id.
pub(super) fn find<K: Kept>(documents: &Documents<'_>, id: &str) -> ApiResult<K> {
    Ok(definitions::read(&documents.find(K::KIND, id)?)?)
}

/// Returns all definitions of a kind, the last changed first.
///
/// # Errors
/// Fails only when the database does.
pub(super) fn all<K: Kept>(documents: &Documents<'_>) -> ApiResult<Vec<K>> {
    Ok(documents.all(K::KIND)?.iter().map(definitions::read).collect::<StoreResult<_>>()?)
}

/// Takes what a request gives; what it leaves out stays.
pub(super) fn set<T>(kept: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *kept = given;
    }
}

/// Fails if it makes no sense, or nests too deep to be read again.
fn keep<K: Kept>(documents: &Documents<'_>, mut kept: K, now: Timestamp) -> ApiResult<K> {
    kept.check(documents)?;
    let Stamp { id, created_at, updated_at } = kept.stamp();
    let (id, created_at) = (id.to_owned(), created_at.0);
    *updated_at = now.into();
    let body = definitions::body(&kept)?;
    documents.keep(K::KIND, &Document { id, body, created_at, updated_at: now })?;
    Ok(kept)
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
        // The only thing here that is well said and cannot be done.
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
