use anyhow::{Context, anyhow, bail, ensure};
use ratchet_core::secret::Secret;
use ratchet_remote::http;
use reqwest::header::{HeaderValue, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url, redirect};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Credentials;

/// A running server and the key that opens it.
#[derive(Debug)]
pub(crate) struct Remote {
    client: Client,
    base: Url,
    public_key: String,
    secret_key: Secret,
}

/// What a server says when it refuses.
#[derive(Deserialize)]
struct Refusal {
    message: String,
}

impl Remote {
    /// Gets ready to ask a server; nothing is sent yet.
    pub(crate) fn new(url: &str, credentials: &Credentials) -> anyhow::Result<Self> {
        let base = Url::parse(url).with_context(|| {
            format!("--server {url} is not a URL such as http://127.0.0.1:3000")
        })?;
        ensure!(
            ["http", "https"].contains(&base.scheme()),
            "--server {url} must start with https:// or http://"
        );
        let (Some(public_key), Some(secret_key)) =
            (credentials.public_key.clone(), credentials.secret_key.clone())
        else {
            bail!("--server needs a key in RATCHET_PUBLIC_KEY and RATCHET_SECRET_KEY");
        };
        let client = http::toward(&base)
            // A redirected request would arrive without its key, or as another method.
            .redirect(redirect::Policy::none())
            .build()
            .context("cannot start an HTTP client; are this machine's certificates readable?")?;
        Ok(Self { client, base, public_key, secret_key })
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        answer(self.send(self.request(Method::GET, self.base.join(path)?)).await?).await
    }

    /// Asks for something, and says which of it in the query.
    pub(crate) async fn get_with<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        let mut url = self.base.join(path)?;
        url.query_pairs_mut().extend_pairs(query);
        answer(self.send(self.request(Method::GET, url)).await?).await
    }

    /// Has something made or done.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.tell(Method::POST, self.base.join(path)?, body).await
    }

    /// Has something done, named by the parts of its path below `/api/v1`.
    pub(crate) async fn post_named<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.tell(Method::POST, self.named(parts)?, body).await
    }

    /// Asks for something that comes as a stream of events, named likewise, after the last one that
    /// is known.
    pub(crate) async fn follow(
        &self,
        parts: &[&str],
        query: &[(&str, &str)],
        last: u64,
    ) -> anyhow::Result<Response> {
        let mut url = self.named(parts)?;
        url.query_pairs_mut().extend_pairs(query);
        let request = self.request(Method::GET, url).header("last-event-id", last);
        self.send(request).await
    }

    /// The address of a page, named by the parts of its path.
    pub(crate) fn address(&self, parts: &[&str]) -> anyhow::Result<String> {
        let mut url = self.base.join("/")?;
        let segments = url.path_segments_mut();
        segments.map_err(|()| anyhow!("{} has no paths", self.base))?.pop_if_empty().extend(parts);
        Ok(url.into())
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.tell(Method::PUT, self.base.join(path)?, body).await
    }

    /// Has something set, named by the parts of its path below `/api/v1`.
    pub(crate) async fn put_to<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.tell(Method::PUT, self.named(parts)?, body).await
    }

    /// Has some of something set, named by the parts of its path below `/api/v1`.
    pub(crate) async fn patch_to<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.tell(Method::PATCH, self.named(parts)?, body).await
    }

    /// Asks for something, named by the parts of its path below `/api/v1`.
    pub(crate) async fn get_from<T: DeserializeOwned>(&self, parts: &[&str]) -> anyhow::Result<T> {
        answer(self.send(self.request(Method::GET, self.named(parts)?)).await?).await
    }

    /// Has something done, named by the parts of its path below `/api/v1`.
    pub(crate) async fn post_to<T: DeserializeOwned>(&self, parts: &[&str]) -> anyhow::Result<T> {
        answer(self.send(self.request(Method::POST, self.named(parts)?)).await?).await
    }

    /// Has something taken away, named by the parts of its path below `/api/v1`.
    pub(crate) async fn delete<T: DeserializeOwned>(&self, parts: &[&str]) -> anyhow::Result<T> {
        answer(self.send(self.request(Method::DELETE, self.named(parts)?)).await?).await
    }

    fn named(&self, parts: &[&str]) -> anyhow::Result<Url> {
        let mut url = self.base.join("/api/v1")?;
        // Parts are escaped on the way in: a key may be called anything.
        url.path_segments_mut().map_err(|()| anyhow!("{} has no paths", self.base))?.extend(parts);
        Ok(url)
    }

    /// Sends a request to any path, and returns the status and the body up to a size.
    pub(crate) async fn exchange(
        &self,
        method: Method,
        path: &str,
        (body, max_bytes): (Option<&Value>, usize),
    ) -> anyhow::Result<(StatusCode, Vec<u8>)> {
        let mut request = self.request(method, self.base.join(path)?);
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(|error| self.unreached(error))?;
        let mut read = Vec::new();
        while let Some(piece) = response.chunk().await.context("the response ended early")? {
            ensure!(read.len() + piece.len() <= max_bytes, "the response is too long");
            read.extend_from_slice(&piece);
        }
        Ok((response.status(), read))
    }

    /// Has something made that comes as a stream.
    pub(crate) async fn stream(&self, path: &str) -> anyhow::Result<Response> {
        self.send(self.request(Method::POST, self.base.join(path)?)).await
    }

    async fn tell<T: DeserializeOwned>(
        &self,
        method: Method,
        url: Url,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        answer(self.send(self.request(method, url).json(body)).await?).await
    }

    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let secret = self.secret_key.expose();
        self.client.request(method, url).basic_auth(&self.public_key, Some(secret))
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response = request.send().await.map_err(|error| self.unreached(error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if let Some(Ok(place)) = response.headers().get(LOCATION).map(HeaderValue::to_str) {
            bail!("{} moved to {place}; use that address", self.base);
        }
        let refusal = response.json::<Refusal>().await.map(|refusal| refusal.message);
        let why =
            refusal.unwrap_or_else(|_| "it is not a ratchet server, or an old version".to_owned());
        bail!("{} returned an error ({}): {why}", self.base, status.as_u16())
    }

    fn unreached(&self, error: reqwest::Error) -> anyhow::Error {
        match http::distrust(&error) {
            Some(distrust) => {
                anyhow!(distrust).context(format!("nothing was sent to {}", self.base))
            }
            None => anyhow!(error)
                .context(format!("cannot reach {}; is the server running?", self.base)),
        }
    }
}

async fn answer<T: DeserializeOwned>(response: Response) -> anyhow::Result<T> {
    response
        .json()
        .await
        .context("the server's response is not valid; check that both versions are the same")
}
