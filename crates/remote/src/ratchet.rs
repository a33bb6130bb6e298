//! A client for Ratchet's own API, `/api/v1`.

/// Wire types of runs of experiments.
pub mod experiments;
pub mod target_turns;
/// Wire types of answers that gates judge again.
pub mod gates;
mod convert;
mod experiment_client;

use reqwest::header::{HeaderValue, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url, redirect};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backoff_clock::SystemBackoffClock;
use crate::http::{self, TlsError};
use crate::langfuse::client::{ClientError, ClientLimits, LangfuseClient, ServerCredentials};

/// A client of a running server.
#[derive(Clone, Debug)]
pub struct RatchetClient {
    client: Client,
    base: Url,
    access: ServerCredentials,
}

/// Why a server did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RatchetError {
    #[error("{0} is not a URL such as http://127.0.0.1:3000")]
    NotAUrl(String),
    #[error("{0} must start with https:// or http://")]
    Scheme(String),
    #[error("cannot start an HTTP client; are this machine's certificates readable?")]
    Start(#[source] reqwest::Error),
    #[error("nothing was sent to {base}")]
    Distrusted { base: String, source: TlsError },
    #[error("cannot reach {base}; is the server running?")]
    Unreached { base: String, source: reqwest::Error },
    #[error("{base} moved to {place}; use that address")]
    Moved { base: String, place: String },
    #[error("{base} returned an error ({status}): {message}")]
    Refused { base: String, status: u16, message: String },
    #[error("the server's response is not valid; check that both versions are the same")]
    Response(#[source] reqwest::Error),
    #[error("the response ended early")]
    Interrupted(#[source] reqwest::Error),
    #[error("the response is too long")]
    TooLong,
}

type RatchetResult<T> = Result<T, RatchetError>;

/// The body of an error response.
#[derive(Deserialize)]
struct ErrorBody {
    message: String,
}

impl RatchetClient {
    /// Creates a client; sends nothing.
    ///
    /// # Errors
    /// Fails on an invalid URL, and if the system's root certificates cannot be read.
    pub fn new(access: ServerCredentials) -> RatchetResult<Self> {
        let base =
            Url::parse(&access.url).map_err(|_| RatchetError::NotAUrl(access.url.clone()))?;
        if !["http", "https"].contains(&base.scheme()) {
            return Err(RatchetError::Scheme(access.url));
        }
        let client = http::client_builder_for(&base)
            // A redirected request would arrive without its key, or as another method.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(RatchetError::Start)?;
        Ok(Self { client, base, access })
    }

    /// The server's URL and key.
    pub const fn access(&self) -> &ServerCredentials {
        &self.access
    }

    /// Returns a client for the Langfuse API of the same server.
    ///
    /// # Errors
    /// As [`LangfuseClient::new`].
    pub fn langfuse(&self) -> Result<LangfuseClient, ClientError> {
        let pace = Box::new(SystemBackoffClock);
        LangfuseClient::new(self.access.clone(), ClientLimits::default(), pace)
    }

    /// Requests a resource, named by the parts of its path below `/api`.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> RatchetResult<T> {
        self.get_with(path, &[]).await
    }

    /// Like [`Self::get`], with a query.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn get_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> RatchetResult<T> {
        let mut url = self.url(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        read(self.send(self.request(Method::GET, url)).await?).await
    }

    /// Sends a body to a path.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> RatchetResult<T> {
        self.send_body(Method::POST, path, body).await
    }

    /// Replaces a resource.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn put<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> RatchetResult<T> {
        self.send_body(Method::PUT, path, body).await
    }

    /// Changes some fields of a resource.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> RatchetResult<T> {
        self.send_body(Method::PATCH, path, body).await
    }

    /// Deletes a resource.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn delete<T: DeserializeOwned>(&self, path: &[&str]) -> RatchetResult<T> {
        read(self.send(self.request(Method::DELETE, self.url(path))).await?).await
    }

    /// Sends a request to any path and query, and returns the status and the body up to a size.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or if its response is too long.
    pub async fn exchange(
        &self,
        method: Method,
        path: &str,
        (body, max_bytes): (Option<&Value>, usize),
    ) -> RatchetResult<(StatusCode, Vec<u8>)> {
        let url = self.base.join(path).map_err(|_| RatchetError::NotAUrl(path.to_owned()))?;
        let mut request = self.request(method, url);
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(|error| self.unreached(error))?;
        let mut read = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(RatchetError::Interrupted)? {
            if read.len() + piece.len() > max_bytes {
                return Err(RatchetError::TooLong);
            }
            read.extend_from_slice(&piece);
        }
        Ok((response.status(), read))
    }

    /// Posts without a body, and returns a response to stream.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn stream(&self, path: &[&str]) -> RatchetResult<Response> {
        self.send(self.request(Method::POST, self.url(path))).await
    }

    /// Requests a stream of server-sent events after the last known one.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn follow(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        last: u64,
    ) -> RatchetResult<Response> {
        let mut url = self.url(path);
        url.query_pairs_mut().extend_pairs(query);
        self.send(self.request(Method::GET, url).header("last-event-id", last)).await
    }

    /// Returns the URL of a page, named by the parts of its path.
    pub fn page_url(&self, path: &[&str]) -> String {
        self.below("/", path).into()
    }

    fn url(&self, path: &[&str]) -> Url {
        self.below("/api", path)
    }

    /// Parts are escaped: a key may have any name.
    fn below(&self, root: &str, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.set_path(root);
        url.set_query(None);
        // Only a URL without a host has no path, and such a one has another scheme.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    async fn send_body<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> RatchetResult<T> {
        read(self.send(self.request(method, self.url(path)).json(body)).await?).await
    }

    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let ServerCredentials { public_key, secret_key, .. } = &self.access;
        self.client.request(method, url).basic_auth(public_key, Some(secret_key.expose()))
    }

    async fn send(&self, request: RequestBuilder) -> RatchetResult<Response> {
        let response = request.send().await.map_err(|error| self.unreached(error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let base = self.base.to_string();
        if let Some(Ok(place)) = response.headers().get(LOCATION).map(HeaderValue::to_str) {
            return Err(RatchetError::Moved { base, place: place.to_owned() });
        }
        let body = response.json::<ErrorBody>().await.map(|body| body.message);
        let message =
            body.unwrap_or_else(|_| "it is not a ratchet server, or an old version".to_owned());
        Err(RatchetError::Refused { base, status: status.as_u16(), message })
    }

    fn unreached(&self, error: reqwest::Error) -> RatchetError {
        let base = self.base.to_string();
        match http::tls_error_of(&error) {
            Some(source) => RatchetError::Distrusted { base, source },
            None => RatchetError::Unreached { base, source: error },
        }
    }
}

async fn read<T: DeserializeOwned>(response: Response) -> RatchetResult<T> {
    response.json().await.map_err(RatchetError::Response)
}
