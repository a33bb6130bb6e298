//! What stands around every handler: counting, and a net for panics.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::error::ApiError;

/// Counts the request by route and status.
pub(crate) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    // Made-up methods and paths must not become labels: clients choose them.
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    let method = if is_standard(&method) { method.as_str() } else { "other" };
    app.metrics.count_request(method, route, response.status());
    response
}

fn is_standard(method: &axum::http::Method) -> bool {
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].contains(&method.as_str())
}

/// Turns a panic in a handler into a 500; the process and the connection live on.
pub(crate) async fn catch_panic(request: Request, next: Next) -> Response {
    let mut handling = pin!(next.run(request));
    let outcome = poll_fn(|context| {
        // A handler that panicked is not polled again, so no broken state is seen.
        match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context))) {
            Ok(progress) => progress.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await;
    outcome.unwrap_or_else(|panic| {
        let words = panic_words(panic.as_ref());
        ApiError::internal(format!("a handler panicked: {words}")).into_response()
    })
}

fn panic_words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
