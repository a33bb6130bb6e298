//! The OpenAPI description of every route.
//!
//! Handlers and wire types describe themselves. What all of them share is added here, once:
//! authentication, error responses, ids with slashes.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use ratchet_remote::langfuse::wire::error::ErrorBody;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::UtoipaMethodRouter;

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::health::VERSION;
use crate::router;

mod operation;
mod responses;

static DOCUMENT: LazyLock<serde_json::Result<Bytes>> =
    LazyLock::new(|| Ok(serde_json::to_vec(&document()?)?.into()));

/// `GET /api/openapi.json`: this description.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    tag = "Server",
    security(()),
    responses((status = 200, description = "An OpenAPI document", body = Object))
)]
pub(crate) async fn show() -> ApiResult<Response> {
    let document = DOCUMENT.as_ref().map_err(|why| ApiError::internal(why.to_string()))?;
    // It is public, so it may be compressed.
    let says = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "public, no-cache")];
    Ok((says, document.clone()).into_response())
}

/// The description of every route.
///
/// # Errors
/// Only if the description cannot be serialized, which would be a bug.
pub fn document() -> serde_json::Result<Value> {
    let mut described: OpenApi = router::routes().into_openapi();
    let components = described.components.get_or_insert_default();
    let mut schemas = vec![(ErrorBody::name().into_owned(), ErrorBody::schema())];
    ErrorBody::schemas(&mut schemas);
    components.schemas.extend(schemas);
    let mut document = serde_json::to_value(described)?;
    finish(&mut document);
    Ok(document)
}

/// Serves and describes the same operations under a second path.
pub(crate) fn also_at(
    mut routes: UtoipaMethodRouter<App>,
    second: &str,
) -> UtoipaMethodRouter<App> {
    let items: Vec<_> = routes.1.paths.values().cloned().collect();
    routes.1.paths.extend(items.into_iter().map(|item| (second.to_owned(), item)));
    routes
}

fn finish(document: &mut Value) {
    document["info"] = json!({
        "title": "Ratchet",
        "version": VERSION,
        "description": "Records what AI agents do, scores it and improves it. Paths under \
                        /api/public are Langfuse's, /v1 is OpenTelemetry's, /api/v1 is our own.",
    });
    document["components"]["securitySchemes"] = json!({
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "The public key as user, the secret key as password.",
        },
        "publicKey": {
            "type": "http",
            "scheme": "bearer",
            "description": "The public key alone, which may only write scores.",
        },
    });
    document["components"]["responses"] = operation::error_answers();
    let paths = std::mem::take(&mut document["paths"]);
    document["paths"] = finished_paths(paths);
    allow_null_beside_anything(document);
    responses::require_what_may_be_null(document);
}

fn finished_paths(paths: Value) -> Value {
    let Value::Object(paths) = paths else { return paths };
    let finished = paths.into_iter().map(|(path, mut item)| {
        // A resource's id is the rest of its path; for clients it is an ordinary parameter.
        let path = path.replace("{*", "{");
        for (method, described) in item.as_object_mut().into_iter().flatten() {
            operation::finish(&path, method, described);
        }
        (path, item)
    });
    Value::Object(finished.collect::<Map<_, _>>())
}

/// Uses `anyOf` for nullable types: `oneOf` would reject a null where any JSON is allowed.
fn allow_null_beside_anything(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_null = |schema: &Value| schema["type"] == "null";
            let one_of = fields.get("oneOf").and_then(Value::as_array);
            if one_of.is_some_and(|schemas| schemas.iter().any(is_null))
                && let Some(schemas) = fields.remove("oneOf")
            {
                fields.insert("anyOf".to_owned(), schemas);
            }
            fields.values_mut().for_each(allow_null_beside_anything);
        }
        Value::Array(items) => items.iter_mut().for_each(allow_null_beside_anything),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
