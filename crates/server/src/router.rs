use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get, post};
use ratchet_core::limit::elide;

use crate::app::App;
use crate::error::ApiError;
use crate::hear_out::hear_out;
use crate::{api, guard, health, langfuse, metrics, otlp};

/// How much of an unknown path is repeated to the client.
const SHOWN_PATH_BYTES: usize = 200;

/// Every route of the server, and the pages beside them.
///
/// A path under `/api` that is not there answers 404 with a JSON body; other unknown paths are
/// left to the pages.
pub fn router(app: App, pages: Router) -> Router {
    Router::new()
        .route("/metrics", get(metrics::show))
        .route("/api/public/health", get(health::health))
        .route("/api/public/ready", get(health::ready))
        .route("/v1/traces", post(otlp::http::traces))
        .route("/v1/logs", post(otlp::http::traces_only))
        .route("/v1/metrics", post(otlp::http::traces_only))
        .route("/api/public/otel/v1/traces", post(otlp::http::traces))
        .route("/api/public/otel/v1/logs", post(otlp::http::traces_only))
        .route("/api/public/otel/v1/metrics", post(otlp::http::traces_only))
        .merge(langfuse::routes())
        .merge(api::routes())
        .route("/api", any(not_found))
        .route("/api/", any(not_found))
        .route("/api/{*rest}", any(not_found))
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app.clone())
        .merge(pages)
        .layer(from_fn_with_state(app.clone(), guard::allow_browsers))
        .layer(from_fn(guard::catch_panic))
        .layer(from_fn_with_state(app.clone(), hear_out))
        .layer(from_fn_with_state(app, guard::observe))
}

/// Every method of the gRPC port.
pub fn grpc_router(app: App) -> Router {
    Router::new()
        .route(otlp::grpc::EXPORT, post(otlp::grpc::export))
        .fallback(otlp::grpc::unimplemented)
        .layer(from_fn(guard::catch_panic))
        .layer(from_fn_with_state(app.clone(), guard::observe))
        .with_state(app)
}

async fn not_found(uri: Uri) -> ApiError {
    let path = elide(uri.path(), SHOWN_PATH_BYTES);
    ApiError::NotFound(format!("there is no {path}; the APIs are /api/public and /api/v1"))
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let path = elide(uri.path(), SHOWN_PATH_BYTES);
    ApiError::MethodNotAllowed(format!("{path} does not take {method}"))
}
