//! A client for Langfuse servers of either era, Ratchet's own among them.
//!
//! Newer servers have dropped half of the API and older ones lack the other half. Each list is
//! asked for by one era's route and, where that is gone, by the other's; the answers are the same
//! records either way.

/// Time and chance.
pub mod backoff_clock;
/// Whether to ask again, and when.
pub mod retry;
/// Why a server could not be asked.
pub mod error;
/// Parts of lists.
pub mod slice;
/// One request.
mod ask;
/// Which routes a server has.
mod route;
/// Lists in pages and by cursor.
mod list;
/// From wire types to the product's records.
mod record;
mod traces;
mod places;
mod observations;
/// Observations as the newer era shows them.
mod observations_v2;
/// Traces and sessions out of observations.
mod rebuild;
mod sessions;
mod scores;
/// Scores, from either era's words to ours.
mod verdict;
/// Prompts, score configs and the like.
mod catalog;
mod queues_comments;
/// Weekly reports, which only Ratchet has.
mod weeks;
/// What a server is told.
mod write;
/// What a server holds, as events.
mod export;

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::secret::Secret;
use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use self::ask::Ask;
use self::backoff_clock::BackoffClock;
use self::error::advice;
use self::retry::{AttemptError, RetryRule, asked_wait};
use self::route::Routes;
use super::wire::error::{ErrorBody, Issue};
use super::wire::read::read;
use crate::http::{self, TlsError};

pub use error::ClientError;
pub use observations::ObservationsAsked;
pub use places::{PlacesAsked, TracePlace};
pub use scores::ScoresAsked;
pub use slice::{Position, Slice, TimeWindow};
pub use traces::{TracesAsked, WholeTrace};

/// Which server, and what opens it.
#[derive(Clone, Debug)]
pub struct Access {
    /// Its address: `https://cloud.langfuse.com`, `http://127.0.0.1:3000` …
    pub url: String,
    /// The half of the key that is no secret.
    pub public_key: String,
    pub secret_key: Secret,
}

/// How much a client asks of a server, and how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// The longest that one attempt may take, its answer included.
    pub timeout: Duration,
    pub retry: RetryRule,
    /// Requests under way at once.
    pub at_once: usize,
    pub answer_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            retry: RetryRule::default(),
            at_once: 4,
            answer_bytes: 256_000_000,
        }
    }
}

/// Asks one server. Clones share its connections and its bounds.
#[derive(Clone, Debug)]
pub struct LangfuseClient(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: Client,
    base: Url,
    public_key: String,
    secret_key: Secret,
    manners: ClientLimits,
    slots: Semaphore,
    routes: Routes,
    pace: Box<dyn BackoffClock>,
}

/// One attempt that came to nothing.
enum Failure {
    Transport(reqwest::Error),
    Distrusted(TlsError),
    Status { code: u16, asked: Option<Duration>, message: String },
    TooLong,
}

impl LangfuseClient {
    /// Gets ready to ask a server; nothing is sent yet.
    ///
    /// # Errors
    /// Fails on an address that is none, and if this machine's certificates cannot be read.
    pub fn new(
        access: Access,
        manners: ClientLimits,
        pace: Box<dyn BackoffClock>,
    ) -> Result<Self, ClientError> {
        let base = address(&access.url)?;
        let http = http::toward(&base)
            .timeout(manners.timeout)
            // A redirected POST would arrive as a GET.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("ratchet/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(ClientError::Start)?;
        let Access { public_key, secret_key, .. } = access;
        let slots = Semaphore::new(manners.at_once.max(1));
        let routes = Routes::default();
        Ok(Self(Arc::new(Inner {
            http,
            base,
            public_key,
            secret_key,
            manners,
            slots,
            routes,
            pace,
        })))
    }

    /// The address of the server.
    pub fn base(&self) -> &str {
        self.0.base.as_str()
    }

    async fn get<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, ClientError> {
        let text = self.0.send(ask).await?;
        read(&text).map_err(|issue| self.unreadable(ask, issue))
    }

    fn unreadable(&self, ask: &Ask, issue: Issue) -> ClientError {
        ClientError::Unreadable { request: ask.label(), issue }
    }
}

impl Inner {
    /// Asks until there is an answer or no hope of one.
    async fn send(&self, ask: &Ask) -> Result<String, ClientError> {
        // The semaphore is never closed; without a permit there would just be no bound.
        let _slot = self.slots.acquire().await.ok();
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(ask).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let chance = self.pace.chance();
            let trouble = failure.trouble();
            let retry = &self.manners.retry;
            let wait = trouble.and_then(|trouble| retry.wait(trouble, ask.repeat, attempt, chance));
            let Some(wait) = wait else {
                return Err(self.give_up(ask.label(), failure, attempt));
            };
            tracing::debug!(request = ask.label(), attempt, ?wait, "asking again");
            self.pace.pause(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, ask: &Ask) -> Result<String, Failure> {
        let mut request = self
            .http
            .request(ask.method.clone(), ask.url(&self.base))
            .basic_auth(&self.public_key, Some(self.secret_key.expose()));
        if let Some(body) = &ask.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        let answer = request.send().await.map_err(Failure::of)?;
        let status = answer.status();
        let asked = answer.headers().get(RETRY_AFTER).and_then(|header| header.to_str().ok());
        let asked = asked.and_then(|header| asked_wait(header, self.pace.now()));
        let location = answer.headers().get(LOCATION).cloned();
        let text = self.text(answer).await?;
        if status.is_success() {
            return Ok(text);
        }
        let location = location.as_ref().and_then(|header| header.to_str().ok());
        let message = location.map_or_else(|| refusal(&text), |to| format!("it moved to {to}"));
        Err(Failure::Status { code: status.as_u16(), asked, message })
    }

    /// The body of an answer, bounded.
    async fn text(&self, answer: Response) -> Result<String, Failure> {
        let bytes = self.bytes(answer).await?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The bytes of an answer, bounded.
    async fn bytes(&self, mut answer: Response) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(Failure::Transport)? {
            if bytes.len() + chunk.len() > self.manners.answer_bytes {
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
            Failure::Status { code, asked: Some(wait), .. }
                if wait > self.manners.retry.longest_asked =>
            {
                ClientError::Later { request, status: code, wait }
            }
            Failure::Status { code, message, .. } => {
                ClientError::Refused { request, status: code, message, advice: advice(code) }
            }
            Failure::TooLong => ClientError::TooLong { request, limit: self.manners.answer_bytes },
        }
    }
}

impl Failure {
    fn of(error: reqwest::Error) -> Self {
        match http::distrust(&error) {
            Some(cause) => Self::Distrusted(cause),
            None => Self::Transport(error),
        }
    }

    /// What the retry rule needs to know; `None` where asking again is no use.
    fn trouble(&self) -> Option<AttemptError> {
        match self {
            Self::Transport(error) if error.is_connect() => Some(AttemptError::NotSent),
            Self::Transport(_) => Some(AttemptError::NoAnswer),
            Self::Status { code, asked, .. } => {
                Some(AttemptError::Status { code: *code, asked: *asked })
            }
            Self::Distrusted(_) | Self::TooLong => None,
        }
    }
}

fn address(text: &str) -> Result<Url, ClientError> {
    let refuse = |why: &str| {
        // Nothing of an address that may hold a password is repeated.
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

/// How much of an answer that is no error of Langfuse's is repeated.
const SHOWN_CHARS: usize = 200;

fn refusal(text: &str) -> String {
    let told = read::<ErrorBody>(text).map(|body| body.message);
    told.unwrap_or_else(|_| text.chars().take(SHOWN_CHARS).collect())
}
