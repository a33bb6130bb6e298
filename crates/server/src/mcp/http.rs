//! Stateless streamable HTTP: each POST is one message and gets one JSON response, so that
//! no client occupies memory between two requests.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use ratchet_stages::source::Source;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::api::{ApiRouter, LocalApi};
use super::server::McpServer;
use super::sessions::Records;
use super::tool::ToolGrants;
use crate::app::App;
use crate::auth::Caller;
use crate::body::{Received, Weight};
use crate::body_budget::BodyReservation;
use crate::error::{ApiError, ApiResult};

/// Bytes of one message. The protocol library reads it into memory twice.
const MAX_MESSAGE_BYTES: usize = 4_000_000;

/// The route of this protocol.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(serve))
}

/// `POST /api/public/mcp`: one message of the Model Context Protocol.
///
/// Stateless streamable HTTP. The tools are those that the key's role allows; each is an
/// operation of this API or combines several.
#[utoipa::path(
    post,
    path = "/api/public/mcp",
    tag = "Mcp",
    request_body(content = Object, description = "A JSON-RPC request or notification"),
    responses(
        (status = 200, description = "The JSON-RPC response", body = Object),
        (status = 202, description = "The notification is accepted"),
    )
)]
pub(crate) async fn serve(
    State(app): State<App>,
    server: McpServer,
    headers: HeaderMap,
    received: Received,
) -> ApiResult<Response> {
    let message = received.parse_json(&app, Weight::Tree, read_message).await?;
    // Host and Origin are checked by authentication, as for every other route.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    answer(service.handle(request(headers, message)).await.map(Body::new)).await
}

/// The tools of the caller.
impl FromRequestParts<App> for McpServer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let caller = Caller::from_request_parts(parts, app).await?;
        let router = parts.extensions.get::<ApiRouter>().cloned();
        let router = router.ok_or_else(|| ApiError::internal("tools have no routes to call"))?;
        let project = caller.project.clone();
        let records = Records {
            source: Source::Local(app.store.telemetry.clone(), project.clone()),
            reports: Some((app.store.catalog.clone(), project)),
            clock: app.clock.clone(),
        };
        let grants = ToolGrants::of(&caller);
        let reservation = parts.extensions.get::<BodyReservation>().cloned();
        let api = LocalApi::new(app.clone(), router, caller).within(&parts.headers, reservation);
        // They read thousands of traces for one call, and code: that is for `ratchet mcp`.
        Ok(Self { api: Arc::new(api), records, feedback: None, grants })
    }
}

/// Checks that a body is a message, so that the error is that of every other route.
fn read_message(text: &str) -> ApiResult<Bytes> {
    if text.len() > MAX_MESSAGE_BYTES {
        let why = format!("a message has at most {MAX_MESSAGE_BYTES} bytes");
        return Err(ApiError::TooLarge(why));
    }
    serde_json::from_str::<ClientJsonRpcMessage>(text)
        .map_err(|why| ApiError::Invalid(format!("the body is not a JSON-RPC message: {why}")))?;
    Ok(Bytes::copy_from_slice(text.as_bytes()))
}

/// The request for the protocol library: decompressed, without secrets, and willing to read JSON.
fn request(mut headers: HeaderMap, message: Bytes) -> Request<Full<Bytes>> {
    for name in [AUTHORIZATION, COOKIE, CONTENT_ENCODING, CONTENT_LENGTH] {
        headers.remove(name);
    }
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(ACCEPT, both);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut request = Request::new(Full::new(message));
    *request.method_mut() = Method::POST;
    *request.headers_mut() = headers;
    request
}

/// The library's response; its errors in plain text become those of this API.
async fn answer(response: Response) -> ApiResult<Response> {
    let is_json = response.headers().contains_key(CONTENT_TYPE);
    if response.status() != StatusCode::BAD_REQUEST || is_json {
        return Ok(response);
    }
    let body =
        response.into_body().collect().await.map_err(|why| ApiError::Internal(why.into()))?;
    Err(ApiError::Invalid(String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}
