//! A proxy between a client and a real server with scripted errors.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use ratchet_remote::http;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// What the proxy does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forwards it.
    Pass,
    /// Responds as if there were no such route.
    Gone,
    /// Responds with a status and a header.
    Refuse(u16, Option<(&'static str, String)>),
}

/// A request before the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub method: String,
    pub target: String,
    /// Number of earlier requests.
    pub earlier: usize,
}

type Judge = dyn Fn(&Seen) -> Verdict + Send + Sync;

/// A running proxy. Stopped on drop.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    upstream: String,
    client: reqwest::Client,
    judge: Box<Judge>,
    seen: Mutex<Vec<Seen>>,
}

impl Proxy {
    /// Starts a proxy in front of a server.
    pub fn start(
        upstream: SocketAddr,
        judge: impl Fn(&Seen) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let client = http::on_this_machine().build().unwrap();
        let upstream = format!("http://{upstream}");
        let shared =
            Arc::new(Shared { upstream, client, judge: Box::new(judge), seen: Mutex::default() });
        let (stop, stopped) = oneshot::channel::<()>();
        let app = Router::new().fallback(forward).with_state(Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let serving = axum::serve(listener, app);
                tokio::select! {
                    served = serving => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// A proxy that hides what Langfuse v4 has removed.
    pub fn without_v3_era(upstream: SocketAddr) -> Self {
        Self::start(upstream, |seen| hide(seen, is_v3_era))
    }

    /// A proxy that hides what Langfuse v3 does not have yet.
    pub fn without_v4_era(upstream: SocketAddr) -> Self {
        Self::start(upstream, |seen| hide(seen, is_v4_era))
    }

    /// Its URL: `http://127.0.0.1:…`.
    pub fn web(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed already.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.address)
    }
}

fn hide(seen: &Seen, is_hidden: fn(&Seen, &[&str]) -> bool) -> Verdict {
    let path = seen.target.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        ["api", "public", rest @ ..] if is_hidden(seen, rest) => Verdict::Gone,
        _ => Verdict::Pass,
    }
}

fn is_v3_era(seen: &Seen, parts: &[&str]) -> bool {
    let is_read = seen.method == "GET";
    match parts {
        ["traces" | "observations" | "sessions" | "scores" | "metrics", ..] => is_read,
        ["v2", "scores", ..] | ["dataset-run-items"] | ["datasets", _, "runs", ..] => is_read,
        _ => false,
    }
}

fn is_v4_era(_: &Seen, parts: &[&str]) -> bool {
    matches!(
        parts,
        ["v2", "observations" | "metrics", ..]
            | ["v3", "scores", ..]
            | ["experiments" | "experiment-items", ..]
    )
}

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let seen = shared.note(request.method(), &target);
    match (shared.judge)(&seen) {
        Verdict::Pass => {}
        Verdict::Gone => {
            let body = json!({ "message": "Not Found", "error": "NotFoundError" });
            return (StatusCode::NOT_FOUND, Json(body)).into_response();
        }
        Verdict::Refuse(status, header) => {
            let mut refusal = StatusCode::from_u16(status).unwrap().into_response();
            if let Some((name, value)) = header {
                refusal.headers_mut().insert(name, value.parse().unwrap());
            }
            return refusal;
        }
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let url = format!("{}{target}", shared.upstream);
    let onward = shared.client.request(parts.method, url).headers(kept(parts.headers)).body(body);
    match onward.send().await {
        Ok(answer) => back(answer).await,
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn back(answer: reqwest::Response) -> Response {
    let (status, headers) = (answer.status(), kept(answer.headers().clone()));
    let Ok(body) = answer.bytes().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The end-to-end headers, without those of one connection.
fn kept(mut headers: HeaderMap) -> HeaderMap {
    for name in ["host", "connection", "content-length", "transfer-encoding"] {
        headers.remove(name);
    }
    headers
}

impl Shared {
    fn note(&self, method: &Method, target: &str) -> Seen {
        let mut all = self.seen.lock().unwrap();
        let seen =
            Seen { method: method.to_string(), target: target.to_owned(), earlier: all.len() };
        all.push(seen.clone());
        seen
    }
}
