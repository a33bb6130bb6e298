use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use ratchet_core::backoff;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

use crate::access::ModelAccess;
use crate::error::ModelError;
use crate::sse::{SseEvent, SseReader};

/// The maximum size of a response, in bytes: several times the longest answer of any model.
pub(crate) const MAX_BYTES: usize = 8 * 1024 * 1024;
/// The same for a streamed response: each token is an event of some hundred bytes.
pub(crate) const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// The maximum length of a provider's error text.
const MAX_ERROR_CHARS: usize = 500;

/// The HTTP connection to a provider.
#[derive(Clone, Debug)]
pub(crate) struct ProviderHttp {
    client: Client,
    access: ModelAccess,
    headers: HeaderMap,
}

/// The header that carries the API key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyHeader {
    /// `x-api-key`.
    XApiKey,
    /// `authorization: Bearer`.
    Bearer,
}

impl ProviderHttp {
    /// Prepares the headers of all requests.
    pub(crate) fn new(
        client: Client,
        access: ModelAccess,
        key: KeyHeader,
    ) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        if let Some(secret) = &access.key {
            match key {
                KeyHeader::XApiKey => add(&mut headers, "x-api-key", secret.expose())?,
                KeyHeader::Bearer => {
                    add(&mut headers, "authorization", &format!("Bearer {}", secret.expose()))?;
                }
            }
        }
        for (name, value) in &access.headers {
            add(&mut headers, name, value.expose())?;
        }
        Ok(Self { client, access, headers })
    }

    /// Sends a JSON body and returns the response once its status is a success.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Response, ModelError> {
        let request = self.client.post(self.at(path)).header("content-type", "application/json");
        self.send(request.body(body.to_string())).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Response, ModelError> {
        self.send(self.client.get(self.at(path))).await
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.access.base_url.trim_end_matches('/'))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ModelError> {
        let sent = request.headers(self.headers.clone()).send().await;
        let answer = sent.map_err(|error| self.unsent(error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status().as_u16();
        let retry_after = retry_after(answer.headers());
        let body = whole(answer).await.unwrap_or_default();
        let why = self.access.redact_secrets(&error_message(&body));
        Err(failure(status, retry_after, why))
    }

    fn unsent(&self, error: reqwest::Error) -> ModelError {
        let is_unsent = error.is_connect() || error.is_builder();
        let why = self.access.redact_secrets(&innermost(&error.without_url()));
        if is_unsent {
            ModelError::Unreachable { place: self.access.base_url.clone(), why }
        } else {
            ModelError::CutStream(why)
        }
    }
}

fn add(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), ModelError> {
    let unfit = || ModelError::NotSetUp(format!("the header {name} cannot be sent over HTTP"));
    let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|_| unfit())?;
    value.set_sensitive(true);
    headers.insert(known, value);
    Ok(())
}

/// Returns the innermost cause, which is the most specific.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error| (*error).source()).last();
    last.map_or_else(String::new, ToString::to_string)
}

/// Reads the whole body, and no more of it than the limit.
pub(crate) async fn whole(answer: Response) -> Result<Vec<u8>, ModelError> {
    let announced = answer.content_length().unwrap_or(0);
    if announced > MAX_BYTES as u64 {
        return Err(too_long());
    }
    let mut body = Vec::new();
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend(piece.map_err(|error| cut(&error))?);
        if body.len() > MAX_BYTES {
            return Err(too_long());
        }
    }
    Ok(body)
}

fn too_long() -> ModelError {
    ModelError::MalformedResponse(format!("it has more than {MAX_BYTES} bytes"))
}

/// Reads the body as one JSON document.
pub(crate) async fn json(answer: Response) -> Result<Value, ModelError> {
    let body = whole(answer).await?;
    serde_json::from_slice(&body).map_err(|error| ModelError::MalformedResponse(error.to_string()))
}

/// Reads server-sent events until the stream ends or `take` is done.
pub(crate) async fn events(
    answer: Response,
    mut take: impl FnMut(SseEvent) -> Result<StreamControl, ModelError> + Send,
) -> Result<(), ModelError> {
    let mut reader = SseReader::default();
    let mut pieces = answer.bytes_stream();
    let mut read = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| cut(&error))?;
        read += piece.len();
        if read > MAX_STREAM_BYTES {
            return Err(ModelError::MalformedResponse(format!(
                "it has more than {MAX_STREAM_BYTES} bytes"
            )));
        }
        for event in reader.push(&piece)? {
            if take(event)? == StreamControl::All {
                return Ok(());
            }
        }
    }
    Err(ModelError::CutStream("it ended before the model was done".to_owned()))
}

/// Reads the body line by line; its total size is not limited.
pub(crate) async fn lines(
    answer: Response,
    mut take: impl FnMut(&[u8]) -> Result<(), ModelError> + Send,
) -> Result<(), ModelError> {
    let mut rest = Vec::new();
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.next().await {
        for byte in piece.map_err(|error| cut(&error))? {
            if byte == b'\n' {
                take(&std::mem::take(&mut rest))?;
            } else {
                rest.push(byte);
            }
        }
        if rest.len() > MAX_BYTES {
            return Err(ModelError::MalformedResponse(format!(
                "a line has more than {MAX_BYTES} bytes"
            )));
        }
    }
    if rest.is_empty() { Ok(()) } else { take(&rest) }
}

/// Whether to continue reading a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamControl {
    More,
    All,
}

fn cut(error: &reqwest::Error) -> ModelError {
    ModelError::CutStream(innermost(error))
}

/// Returns the provider's request id.
pub(crate) fn request_id(answer: &Response) -> Option<String> {
    let named = |name: &str| answer.headers().get(name)?.to_str().ok().map(str::to_owned);
    named("request-id").or_else(|| named("x-request-id"))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    backoff::retry_after(|name| headers.get(name)?.to_str().ok())
}

/// Extracts the message of an error response, shortened.
fn error_message(body: &[u8]) -> String {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &document["error"];
    let candidates = [&error["message"], &document["message"], error, &document["detail"]];
    let message = candidates.into_iter().find_map(Value::as_str).map(str::to_owned);
    let text = message.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let code = [&error["code"], &error["type"]].into_iter().find_map(Value::as_str);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = text.chars().take(MAX_ERROR_CHARS).collect();
    match code {
        Some(code) => format!("{code}: {short}"),
        None => short,
    }
}

/// Maps an HTTP error status to an error.
pub(crate) fn failure(status: u16, retry_after: Option<Duration>, why: String) -> ModelError {
    let candidates = why.to_ascii_lowercase();
    let names = |parts: &[&str]| parts.iter().any(|part| candidates.contains(part));
    let is_broke = names(&["insufficient_quota", "credit balance", "billing"]);
    let is_long = names(&["prompt is too long", "context_length_exceeded", "context length"]);
    match status {
        402 => ModelError::OutOfCredit { why },
        400 | 403 | 429 if is_broke => ModelError::OutOfCredit { why },
        401 | 403 => ModelError::Unauthorised { why },
        404 => ModelError::NotThere { why },
        413 => ModelError::TooLong { why },
        400 if is_long => ModelError::TooLong { why },
        429 => ModelError::RateLimited { retry_after },
        500.. => ModelError::Overloaded { status, why },
        _ => ModelError::Rejected { status, why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_contain_the_providers_message() {
        let error_message = |body: &str| error_message(body.as_bytes());
        let anthropic = r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#;
        assert_eq!(error_message(anthropic), "overloaded_error: Busy");
        assert_eq!(error_message(r#"{"error":"model not found"}"#), "model not found");
        assert_eq!(error_message("<html>\n Bad   gateway"), "<html> Bad gateway");
        assert!(error_message(&"x".repeat(10_000)).len() <= MAX_ERROR_CHARS);
    }

    #[test]
    fn an_empty_account_is_no_rate_limit() {
        let why = "insufficient_quota: You exceeded your current quota".to_owned();
        assert!(matches!(failure(429, None, why), ModelError::OutOfCredit { .. }));
    }

    #[test]
    fn waits_are_read_in_seconds_and_parts_of_them() {
        let wait = |name: &'static str, value: &'static str| {
            let headers = [(HeaderName::from_static(name), HeaderValue::from_static(value))];
            retry_after(&headers.into_iter().collect())
        };
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(wait("retry-after", "-1"), None);
        assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(
            wait("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),
            None,
            "the time is unknown"
        );
        let dates = [("date", "07:28:00"), ("retry-after", "07:28:09")].map(|(name, time)| {
            let value = HeaderValue::from_str(&format!("Wed, 21 Oct 2026 {time} GMT")).unwrap();
            (HeaderName::from_static(name), value)
        });
        assert_eq!(retry_after(&dates.into_iter().collect()), Some(Duration::from_secs(9)));
    }
}
