//! Middleware of every handler: tracing, request metrics, panic handling and CORS.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ORIGIN,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ratchet_store::blocking::panic_message;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::app::{Access, App};
use crate::error::ApiError;
use crate::otlp;

/// Counts the request by route and status, and wraps it in a span.
///
/// OTLP requests have no span: a server that exports its spans to itself would never stop.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    // Unknown methods and paths must not become labels: clients choose them.
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    let method = if is_standard(&method) { method.as_str() } else { "other" };
    let span = if is_otlp(route) { Span::none() } else { request_span(method, route) };
    let began = app.clock.monotonic();
    let response = next.run(request).instrument(span.clone()).await;
    let status = *response.extensions().get::<StatusCode>().unwrap_or(&response.status());
    span.record("http.response.status_code", status.as_u16());
    let took = app.clock.monotonic().saturating_duration_since(began);
    let duration_ms = took.as_secs_f64() * 1e3;
    tracing::debug!(method, route, status = status.as_u16(), duration_ms, "answered a request");
    app.metrics.count_request(method, route, status);
    response
}

fn request_span(method: &str, route: &str) -> Span {
    tracing::info_span!(
        "request",
        otel.name = format_args!("{method} {route}"),
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
    )
}

fn is_otlp(route: &str) -> bool {
    let is_http = ["/v1/traces", "/v1/logs", "/v1/metrics"].iter().any(|end| route.ends_with(end));
    is_http || [otlp::grpc::TRACES, otlp::grpc::LOGS, otlp::grpc::METRICS].contains(&route)
}

fn is_standard(method: &Method) -> bool {
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].contains(&method.as_str())
}

/// Turns a panic in a handler into a 500; the process and the connection survive.
pub(crate) async fn catch_panic(request: Request, next: Next) -> Response {
    let mut handling = pin!(next.run(request));
    let outcome = poll_fn(|context| {
        // A handler that panicked is not polled again, so that no broken state is seen.
        match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context))) {
            Ok(progress) => progress.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await;
    outcome.unwrap_or_else(|panic| {
        let words = panic_message(panic.as_ref());
        ApiError::internal(format!("a handler panicked: {words}")).into_response()
    })
}

/// CORS: lets web pages read responses to requests with a key, because feedback comes from
/// browsers.
///
/// Browsers attach no credentials to such requests, so that a page can do no more than its key. A
/// preflight has no key and so no project; the request itself is rejected if the project restricts
/// origins. A server without authentication allows no other origin.
pub(crate) async fn allow_browsers(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let is_cross_origin = request.headers().contains_key(ORIGIN);
    let is_api = ["/api/", "/v1/"].iter().any(|api| request.uri().path().starts_with(api));
    if !is_cross_origin || !is_api || app.settings.access != Access::Keys {
        return next.run(request).await;
    }
    let is_preflight = request.method() == Method::OPTIONS;
    let mut response = if is_preflight {
        (StatusCode::NO_CONTENT, preflight()).into_response()
    } else {
        next.run(request).await
    };
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

fn preflight() -> HeaderMap {
    let headers = "authorization, content-type, content-encoding, x-langfuse-sdk-name, \
                   x-langfuse-sdk-version, x-langfuse-sdk-variant, x-langfuse-public-key, \
                   x-langfuse-ingestion-version, last-event-id, mcp-protocol-version";
    HeaderMap::from_iter([
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE")),
        (ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(headers)),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400")),
    ])
}
