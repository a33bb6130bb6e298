use std::fmt;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use axum::middleware::from_fn;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Limited};
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::error::{ErrorBody, ErrorDetail};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::App;
use crate::auth::{AuthenticatedCaller, Caller};
use crate::body_budget::BodyReservation;
use crate::error::ApiError;
use crate::{middleware, router};

/// Bytes of a response that a tool reads.
pub const MAX_ANSWER_BYTES: usize = 16_000_000;

/// Headers from which links in responses are made.
const LINK_HEADERS: [HeaderName; 3] = [
    HOST,
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
];

/// Why a tool failed, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl From<ApiError> for ToolError {
    fn from(error: ApiError) -> Self {
        Self(error.client_message())
    }
}

/// A request to the REST API.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiCall {
    pub method: Method,
    /// The path with its query.
    pub path: String,
    pub body: Option<Value>,
}

impl ApiCall {
    pub(super) fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: None }
    }
}

/// The REST API: that of this process, or of another server.
pub trait Api: fmt::Debug + Send + Sync {
    /// Sends a request and returns the JSON of its response.
    ///
    /// # Errors
    /// Fails if the API rejects the request, cannot be reached, or answers too much.
    fn call(&self, call: ApiCall) -> BoxFuture<'_, Result<Value, ToolError>>;
}

/// Reads a response of the API.
///
/// # Errors
/// What the API says is wrong.
pub fn read_answer(status: StatusCode, body: &[u8]) -> Result<Value, ToolError> {
    if status.is_success() {
        if body.is_empty() {
            return Ok(json!({"status": status.as_u16()}));
        }
        return serde_json::from_slice(body)
            .map_err(|why| ToolError(format!("the response is not JSON: {why}")));
    }
    let refusal = serde_json::from_slice::<ErrorBody>(body);
    let message = match refusal {
        Ok(ErrorBody { error: ErrorDetail::Issues(issues), .. }) => {
            let issues = issues.into_iter().map(|issue| Issue::from(issue).to_string());
            let issues: Vec<_> = issues.collect();
            issues.join("; ")
        }
        Ok(ErrorBody { message, .. }) => message,
        Err(_) => format!("the server responded with {status}"),
    };
    Err(ToolError(message))
}

/// The routes that tools call, without the middleware of the network.
#[derive(Clone, Debug)]
pub struct ApiRouter(Router);

impl ApiRouter {
    pub fn new(app: &App) -> Self {
        let (routes, _) = router::routes().split_for_parts();
        Self(routes.with_state(app.clone()).layer(from_fn(middleware::catch_panic)))
    }
}

/// The REST API of this process, on behalf of an authenticated caller.
#[derive(Debug)]
pub struct LocalApi {
    app: App,
    router: ApiRouter,
    caller: Caller,
    /// Headers of the request that links are made from.
    headers: HeaderMap,
    /// Memory of the request's body, which bodies of tools are part of.
    reservation: Option<BodyReservation>,
}

impl LocalApi {
    pub fn new(app: App, router: ApiRouter, caller: Caller) -> Self {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        Self { app, router, caller, headers, reservation: None }
    }

    /// Uses the address and the memory of a request.
    pub(super) fn within(
        mut self,
        headers: &HeaderMap,
        reservation: Option<BodyReservation>,
    ) -> Self {
        let named = LINK_HEADERS.into_iter().filter_map(|name| {
            let value = headers.get(&name)?.clone();
            Some((name, value))
        });
        self.headers.extend(named);
        self.reservation = reservation;
        self
    }

    fn request(&self, call: ApiCall) -> Result<Request<Body>, ToolError> {
        let body = call.body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder().method(call.method).uri(call.path).body(body);
        let mut request = request.map_err(|why| ToolError(format!("not a request: {why}")))?;
        request.headers_mut().extend(self.headers.clone());
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        request.extensions_mut().insert(AuthenticatedCaller(self.caller.clone()));
        if let Some(reservation) = &self.reservation {
            request.extensions_mut().insert(reservation.clone());
        }
        Ok(request)
    }
}

impl Api for LocalApi {
    fn call(&self, call: ApiCall) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let request = self.request(call)?;
            let response = match self.router.0.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            let (parts, body) = response.into_parts();
            let read = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
            let body = read.map_err(|_| too_long())?.to_bytes();
            let bytes = body.len();
            let work = move || read_answer(parts.status, &body);
            self.app.workers.run_sized(bytes, work).await.map_err(ApiError::from)?
        })
    }
}

/// The error for a response that is not read to its end.
fn too_long() -> ToolError {
    ToolError(format!(
        "the response has more than {MAX_ANSWER_BYTES} bytes; ask for fewer rows or fields"
    ))
}
