//! A client connection: HTTP/1.1 or HTTP/2 without TLS, with a limit on everything.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::HeaderValue;
use axum::http::header::X_CONTENT_TYPE_OPTIONS;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tower::ServiceExt;

use crate::app::Timeouts;
use crate::connection_limiter::{ActiveRequest, ConnectionPermit};
use crate::write_timeout::WriteTimeout;

/// Maximum number of concurrent HTTP/2 streams per connection.
const STREAMS: u32 = 128;

/// HTTP/2 flow-control window: batches are large, and the default of 64 KB would cost each of them
/// many round trips.
const WINDOW_BYTES: u32 = 512 * 1024;

/// Serves a connection until the client disconnects, times out, is evicted, or the server shuts
/// down.
pub(crate) async fn serve(
    stream: TcpStream,
    routes: Router,
    timeouts: Timeouts,
    watcher: Watcher,
    permit: ConnectionPermit,
) {
    // Small responses should not wait for more; failure costs only latency.
    drop(stream.set_nodelay(true));
    let peer = stream.peer_addr().ok();
    let first_request = Arc::new(Notify::new());
    let (seen, begin) = (Arc::clone(&first_request), permit.requests());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        seen.notify_one();
        answer(routes.clone(), peer, request, begin())
    });
    let builder = builder(timeouts.headers);
    let taken = WriteTimeout::new(stream, timeouts.stall, permit.write_blocked());
    let serving =
        watcher.watch(builder.serve_connection(TokioIo::new(taken), service).into_owned());
    // The library has no timeout for the first bytes, which decide between HTTP/1.1 and HTTP/2.
    // Later silence is detected by the header timeout or by HTTP/2 pings.
    let silence = async {
        if tokio::time::timeout(timeouts.first_request, first_request.notified()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = serving => if let Err(error) = ended {
            tracing::debug!(error.cause = %error, "connection ended early");
        },
        () = silence => tracing::debug!("connection closed: no request received"),
        () = permit.evicted() => {}
    }
}

/// Answers a request. Handlers find the client's address as with axum's own servers.
///
/// Every response of every listener passes here, so that all have the security headers.
async fn answer(
    routes: Router,
    peer: Option<SocketAddr>,
    mut request: hyper::Request<Incoming>,
    active: ActiveRequest,
) -> Result<axum::response::Response, Infallible> {
    if let Some(peer) = peer {
        request.extensions_mut().insert(ConnectInfo(peer));
    }
    let mut response = routes.oneshot(request.map(Body::new)).await?;
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    Ok(response.map(|body| Body::new(CountedBody { body, _active: active })))
}

/// A response body; its request is in flight until the last byte was sent.
struct CountedBody {
    body: Body,
    _active: ActiveRequest,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn builder(headers: Duration) -> Builder<Streams> {
    let mut builder = Builder::new(Streams::default());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(headers);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(headers)
        .keep_alive_timeout(headers)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES * 4)
        .max_concurrent_streams(STREAMS);
    builder
}

/// The tasks of one HTTP/2 connection; they end with it.
#[derive(Clone, Debug, Default)]
struct Streams(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, request: F) {
        let Ok(mut running) = self.0.lock() else { return };
        while running.try_join_next().is_some() {}
        running.spawn(request);
    }
}
