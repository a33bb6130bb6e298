//! One keep-alive connection to a server. Cheap on purpose: the client shares the machine with what
//! it measures.

use anyhow::{Context, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Address and headers of requests.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// `host:port`.
    pub(crate) authority: String,
    pub(crate) traces_path: String,
    /// Headers of every request, mostly keys.
    pub(crate) headers: Vec<(String, String)>,
}

impl Target {
    /// Parses a URL.
    ///
    /// # Errors
    /// Only plain HTTP is supported: TLS would be measured, too.
    pub(crate) fn parse(url: &str, traces_path: &str) -> anyhow::Result<Self> {
        let Some(rest) = url.strip_prefix("http://") else {
            bail!("{url} does not begin with http://, the only scheme the load program supports");
        };
        let authority = rest.split('/').next().unwrap_or(rest);
        let authority =
            if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Self { authority, traces_path: traces_path.to_owned(), headers: Vec::new() })
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    target: Target,
    sender: SendRequest<Full<Bytes>>,
    _connection: JoinSet<()>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// Fails if the connection is refused.
    pub(crate) async fn connect(target: &Target) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&target.authority)
            .await
            .with_context(|| format!("cannot connect to {}", target.authority))?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // A broken connection shows in the request that needed it.
            drop(connection.await);
        });
        Ok(Self { target: target.clone(), sender, _connection: tasks })
    }

    /// Sends spans and waits for the acknowledgement.
    ///
    /// # Errors
    /// Fails on an error status.
    pub(crate) async fn export(&mut self, body: Vec<u8>) -> anyhow::Result<()> {
        let path = self.target.traces_path.clone();
        let request = self
            .request(Method::POST, &path)
            .header("content-type", "application/x-protobuf")
            .body(Full::new(Bytes::from(body)))?;
        let (status, body) = self.send(request).await?;
        if !status.is_success() {
            bail!("the server answered {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(())
    }

    /// Sends events and waits for the acknowledgement.
    ///
    /// # Errors
    /// Fails unless the server accepts all of them.
    pub(crate) async fn ingest(&mut self, events: &Value) -> anyhow::Result<()> {
        let (status, body) = self.post("/api/public/ingestion", events).await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let refused = answer["errors"].as_array().is_none_or(|errors| !errors.is_empty());
        if !status.is_success() || refused {
            bail!("the server answered {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(())
    }

    /// Sends a GET request.
    ///
    /// # Errors
    /// Fails if the connection breaks; any status is a response.
    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<(StatusCode, Bytes)> {
        let request = self.request(Method::GET, path).body(Full::default())?;
        self.send(request).await
    }

    /// Sends JSON.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) async fn post(
        &mut self,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let request = self
            .request(Method::POST, path)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?;
        self.send(request).await
    }

    /// Sends JSON that is compressed already.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) async fn post_packed(
        &mut self,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let request = self
            .request(Method::POST, path)
            .header("content-type", "application/json")
            .header("content-encoding", "gzip")
            .body(Full::new(body))?;
        self.send(request).await
    }

    /// Requests a stream.
    ///
    /// # Errors
    /// Fails on an error status.
    pub(crate) async fn follow(&mut self, path: &str) -> anyhow::Result<Incoming> {
        let request = self.request(Method::GET, path).body(Full::default())?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        if !response.status().is_success() {
            bail!("the server answered {}", response.status());
        }
        Ok(response.into_body())
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("host", &self.target.authority);
        let headers = self.target.headers.iter();
        headers.fold(request, |request, (name, value)| request.header(name, value))
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> anyhow::Result<(StatusCode, Bytes)> {
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((status, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let authority = |url| Target::parse(url, "/v1/traces").map(|target| target.authority);
        assert_eq!(authority("http://127.0.0.1:6006/").unwrap(), "127.0.0.1:6006");
        assert_eq!(authority("http://peer").unwrap(), "peer:80");
        assert!(authority("https://peer").is_err());
    }
}
