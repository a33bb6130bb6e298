//! A client for Langfuse servers of API generations v3 and v4, and for Ratchet servers.
//!
//! Newer servers have dropped half of the API and older ones lack the other half. Each list is
//! requested from one generation's route and, where that is missing, from the other's; both result
//! in the same records.

/// Retry policy.
pub mod retry;
/// Client errors.
pub mod error;
/// Pages of lists.
pub mod slice;
/// Requests.
mod request;
/// Detection of supported routes.
mod route;
/// Page and cursor pagination.
mod list;
/// Conversion of wire types to records.
mod record;
mod traces;
mod trace_refs;
mod observations;
/// Observations of v4 servers.
mod observations_v2;
/// Traces and sessions rebuilt from observations.
mod rebuild;
mod sessions;
mod scores;
/// Conversion of scores of both generations.
mod verdict;
/// Prompts, score configs, datasets and models.
mod catalog;
mod queues_comments;
/// Weekly reports, on Ratchet servers only.
mod weeks;
/// Writes.
mod write;
/// Export of a server's records as ingestion events.
mod export;

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::backoff::{Backoff, parse_retry_after};
use ratchet_core::secret::Secret;
use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use self::error::advice;
use self::request::ApiRequest;
use self::retry::{AttemptError, CLIENT_BACKOFF};
use self::route::Routes;
use super::wire::error::ErrorBody;
use super::wire::read::read;
use crate::backoff_clock::BackoffClock;
use crate::http::{self, TlsError};
use ratchet_core::issue::Issue;

pub use error::ClientError;
pub use observations::ObservationFilter;
pub use scores::ScoreFilter;
pub use slice::{Position, Slice, TimeWindow};
pub use trace_refs::{TraceRef, TraceRefFilter};
pub use traces::{TraceFilter, WholeTrace};

/// URL and API keys of a server.
#[derive(Clone, Debug)]
pub struct ServerCredentials {
    /// For example `https://cloud.langfuse.com` or `http://127.0.0.1:3000`.
    pub url: String,
    pub public_key: String,
    pub secret_key: Secret,
}

/// Concurrency and timeouts of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Timeout of one attempt, response body included.
    pub timeout: Duration,
    pub retry: Backoff,
    /// Maximum concurrent requests.
    pub at_once: usize,
    pub answer_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            retry: CLIENT_BACKOFF,
            at_once: 4,
            answer_bytes: 256_000_000,
        }
    }
}

/// A client for one server. Clones share its connections and limits.
#[derive(Clone, Debug)]
pub struct LangfuseClient(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: Client,
    base: Url,
    public_key: String,
    secret_key: Secret,
    limits: ClientLimits,
    slots: Semaphore,
    routes: Routes,
    pace: Box<dyn BackoffClock>,
}

/// The failure of one attempt.
enum Failure {
    Transport(reqwest::Error),
    Distrusted(TlsError),
    Status { code: u16, retry_after: Option<Duration>, message: String },
    TooLong,
}

impl LangfuseClient {
    /// Creates a client; sends nothing.
    ///
    /// # Errors
    /// Fails on an invalid URL, and if the system's root certificates cannot be read.
    pub fn new(
        access: ServerCredentials,
        limits: ClientLimits,
        pace: Box<dyn BackoffClock>,
    ) -> Result<Self, ClientError> {
        let base = address(&access.url)?;
        let http = http::client_builder_for(&base)
            .timeout(limits.timeout)
            // A redirected POST would arrive as a GET.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("ratchet/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(ClientError::Start)?;
        let ServerCredentials { public_key, secret_key, .. } = access;
        let slots = Semaphore::new(limits.at_once.max(1));
        let routes = Routes::default();
        Ok(Self(Arc::new(Inner {
            http,
            base,
            public_key,
            secret_key,
            limits,
            slots,
            routes,
            pace,
        })))
    }

    /// Returns the base URL of the server.
    pub fn base(&self) -> &str {
        self.0.base.as_str()
    }

    async fn get<T: DeserializeOwned>(&self, request: &ApiRequest) -> Result<T, ClientError> {
        let text = self.0.send(request).await?;
        read(&text).map_err(|issue| self.unreadable(request, issue))
    }

    fn unreadable(&self, request: &ApiRequest, issue: Issue) -> ClientError {
        ClientError::Unreadable { request: request.label(), issue }
    }
}

impl Inner {
    /// Sends a request with retries.
    async fn send(&self, request: &ApiRequest) -> Result<String, ClientError> {
        // The semaphore is never closed; without a permit there would just be no limit.
        let _slot = self.slots.acquire().await.ok();
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let jitter = self.pace.jitter();
            let error = failure.attempt_error();
            let retry = &self.limits.retry;
            let wait =
                error.and_then(|error| error.delay(request.repeat, (attempt, jitter), retry));
            let Some(wait) = wait else {
                return Err(self.give_up(request.label(), failure, attempt));
            };
            tracing::debug!(request = request.label(), attempt, ?wait, "retrying");
            self.pace.pause(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, request: &ApiRequest) -> Result<String, Failure> {
        let mut builder = self
            .http
            .request(request.method.clone(), request.url(&self.base))
            .basic_auth(&self.public_key, Some(self.secret_key.expose()));
        if let Some(body) = &request.body {
            builder = builder.header("content-type", "application/json").body(body.clone());
        }
        let answer = builder.send().await.map_err(Failure::of)?;
        let status = answer.status();
        let retry_after = answer.headers().get(RETRY_AFTER).and_then(|header| header.to_str().ok());
        let retry_after =
            retry_after.and_then(|header| parse_retry_after(header, Some(self.pace.now())));
        let location = answer.headers().get(LOCATION).cloned();
        let text = self.text(answer).await?;
        if status.is_success() {
            return Ok(text);
        }
        let location = location.as_ref().and_then(|header| header.to_str().ok());
        let message = location.map_or_else(|| refusal(&text), |to| format!("it moved to {to}"));
        Err(Failure::Status { code: status.as_u16(), retry_after, message })
    }

    /// Reads a response body as text, up to the size limit.
    async fn text(&self, answer: Response) -> Result<String, Failure> {
        let bytes = self.bytes(answer).await?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Reads a response body, up to the size limit.
    async fn bytes(&self, mut answer: Response) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(Failure::Transport)? {
            if bytes.len() + chunk.len() > self.limits.answer_bytes {
                return Err(Failure::TooLong);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn give_up(&self, request: String, failure: Failure, attempts: u32) -> ClientError {
        match failure {
            Failure::Transport(cause) => {
                ClientError::Silent { request, attempts, cause: cause.without_url() }
            }
            Failure::Distrusted(cause) => ClientError::Distrusted { request, cause },
            Failure::Status { code, retry_after: Some(wait), .. }
                if wait > self.limits.retry.max_retry_after =>
            {
                ClientError::Later { request, status: code, wait }
            }
            Failure::Status { code, message, .. } => {
                ClientError::Refused { request, status: code, message, advice: advice(code) }
            }
            Failure::TooLong => ClientError::TooLong { request, limit: self.limits.answer_bytes },
        }
    }
}

impl Failure {
    fn of(error: reqwest::Error) -> Self {
        match http::tls_error_of(&error) {
            Some(cause) => Self::Distrusted(cause),
            None => Self::Transport(error),
        }
    }

    /// Returns the error for the retry policy; `None` where a retry does not help.
    fn attempt_error(&self) -> Option<AttemptError> {
        match self {
            Self::Transport(error) if error.is_connect() => Some(AttemptError::NotSent),
            Self::Transport(_) => Some(AttemptError::NoAnswer),
            Self::Status { code, retry_after, .. } => {
                Some(AttemptError::Status { code: *code, retry_after: *retry_after })
            }
            Self::Distrusted(_) | Self::TooLong => None,
        }
    }
}

fn address(text: &str) -> Result<Url, ClientError> {
    let refuse = |why: &str| {
        // The URL may contain a password, so only the host is repeated.
        let url = text.rsplit_once('@').map_or(text, |(_, host)| host).to_owned();
        ClientError::Address { url, why: why.to_owned() }
    };
    let url = Url::parse(text).map_err(|why| refuse(&why.to_string()))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(refuse("it begins with neither https:// nor http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("keys do not belong into an address"));
    }
    Ok(url)
}

/// The maximum length of a foreign error response in an error text.
const SHOWN_CHARS: usize = 200;

fn refusal(text: &str) -> String {
    let message = read::<ErrorBody>(text).map(|body| body.message);
    message.unwrap_or_else(|_| text.chars().take(SHOWN_CHARS).collect())
}
