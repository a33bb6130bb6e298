//! Drains the request body before an early error response.
//!
//! An error often precedes the end of the body: no key, too large, too busy. Closing an HTTP/1.1
//! connection with unread bytes resets it, and most clients then report a broken connection instead
//! of the response. So the rest of the body is read and discarded, within limits.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::EXPECT;
use axum::http::{StatusCode, Version};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::timeout;

use crate::app::App;

/// A client that sends nothing for so long is waiting for the response.
const PAUSE: Duration = Duration::from_secs(1);

/// Middleware that drains the body of a rejected request.
pub(crate) async fn drain(State(app): State<App>, request: Request, next: Next) -> Response {
    // HTTP/2 can reject one stream without affecting the connection.
    let needs_draining = request.version() < Version::HTTP_2 && !request.body().is_end_stream();
    // A client that sends `Expect` waits before sending the body, and can be rejected at once.
    let expects_continue = request.headers().contains_key(EXPECT);
    if !needs_draining || expects_continue {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let mut body = SharedBody(Arc::new(Mutex::new(body)));
    let request = Request::from_parts(parts, Body::new(body.clone()));
    let response = next.run(request).await;
    if is_refusal(response.status()) {
        let limit = app.settings.limits.decompressed_bytes;
        // Too long or too slow: give up.
        drop(timeout(app.settings.timeouts.body_gap, body.discard(limit)).await);
    }
    response
}

fn is_refusal(status: StatusCode) -> bool {
    let is_error = status.is_client_error() || status.is_server_error();
    // A client that stopped sending will not continue.
    is_error && status != StatusCode::REQUEST_TIMEOUT
}

/// A body that the handler reads first and the middleware reads to its end.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Body>>);

impl SharedBody {
    async fn discard(&mut self, limit: usize) {
        let mut discarded = 0usize;
        while let Ok(Some(Ok(frame))) = timeout(PAUSE, self.frame()).await {
            discarded = discarded.saturating_add(frame.data_ref().map_or(0, Bytes::len));
            if discarded > limit {
                return;
            }
        }
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The two readers never read concurrently; a panic while reading changes nothing.
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
