use axum::Extension;
use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, post};
use ratchet_core::record::limit::elide;
use tower::ServiceExt;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::body::hold_reservation;
use crate::drain_body::drain;
use crate::error::ApiError;
use crate::{
    api, compression, feedback, health, langfuse, mcp, metrics, middleware, openapi, otlp,
    path_alias, path_encoding,
};

/// Maximum length of an unknown path in the error.
const SHOWN_PATH_BYTES: usize = 200;

/// Every route of the server, including the pages.
///
/// An unknown path under `/api` responds with 404 in JSON; other unknown paths are left to the
/// pages.
pub fn router(app: App, pages: Router) -> Router {
    let (routes, _) = routes().split_for_parts();
    let routes = routes
        .route("/api", any(not_found))
        .route("/api/", any(not_found))
        .route("/api/{*rest}", any(not_found))
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app.clone())
        .layer(Extension(mcp::ApiRouter::new(&app)))
        .merge(pages)
        .layer(from_fn_with_state(app.clone(), hold_reservation))
        .layer(from_fn(compression::pack))
        .layer(from_fn_with_state(app.clone(), middleware::allow_browsers))
        .layer(from_fn(middleware::catch_panic))
        .layer(from_fn_with_state(app.clone(), drain))
        .layer(from_fn_with_state(app, middleware::observe));
    // Paths are normalized before routing.
    Router::new()
        .fallback_service(routes.map_request(path_encoding::encode))
        .layer(from_fn(path_alias::serve_deprecated))
}

/// Every API route, with its description.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(openapi::show))
        .routes(routes!(feedback::script))
        .routes(routes!(metrics::show))
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .merge(otlp::http::routes())
        .merge(langfuse::routes())
        .merge(api::routes())
        .merge(mcp::routes())
}

/// Every method of the gRPC port.
pub fn grpc_router(app: App) -> Router {
    Router::new()
        .route(otlp::grpc::TRACES, post(otlp::grpc::traces))
        .route(otlp::grpc::LOGS, post(otlp::grpc::logs))
        .route(otlp::grpc::METRICS, post(otlp::grpc::metrics))
        .fallback(otlp::grpc::unimplemented)
        .layer(from_fn_with_state(app.clone(), hold_reservation))
        .layer(from_fn(middleware::catch_panic))
        .layer(from_fn_with_state(app.clone(), middleware::observe))
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
