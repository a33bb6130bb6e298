//! Request bodies, within limits: size on the wire, size decompressed, time to arrive.
//!
//! A body that is too large is refused as soon as that is known: from its Content-Length, from
//! the bytes that came so far, or from what decompression gave so far.

use std::io::Read;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use crate::app::{App, Limits, Timeouts};
use crate::error::{ApiError, ApiResult};
use crate::inflight::{Held, NoRoom};

/// A body as it came over the wire, not yet decompressed.
#[derive(Debug)]
pub struct Received {
    /// The bytes.
    pub wire: Bytes,
    /// How they are compressed.
    pub encoding: Encoding,
    /// Their share of the memory for bodies.
    held: Held,
}

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// With gzip.
    Gzip,
}

/// A whole JSON body, decompressed and decoded.
#[derive(Clone, Copy, Debug)]
pub struct JsonBody<T>(pub T);

impl Encoding {
    fn from_headers(headers: &HeaderMap) -> ApiResult<Self> {
        let Some(header) = headers.get(CONTENT_ENCODING) else {
            return Ok(Self::Identity);
        };
        match header.to_str().unwrap_or("?").trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            other => Err(ApiError::UnsupportedMediaType(format!(
                "Content-Encoding {other} is not read here; send gzip or none"
            ))),
        }
    }
}

impl Received {
    /// The same body, seen through what was found inside.
    pub(crate) fn reframed(self, wire: Bytes, encoding: Encoding) -> Self {
        Self { wire, encoding, held: self.held }
    }

    /// Returns the decompressed bytes. Takes real CPU time when they are many.
    ///
    /// # Errors
    /// 413 as soon as the limit is passed, 400 if the gzip data is damaged or cut off.
    pub fn unpack(self, limits: &Limits) -> ApiResult<Bytes> {
        match self.encoding {
            Encoding::Identity => Ok(self.wire),
            Encoding::Gzip => gunzip(&self.wire, limits.decompressed_bytes),
        }
    }
}

/// How much more work a compressed byte is than a plain one.
const GZIP_FACTOR: usize = 8;

impl Received {
    /// About how many bytes there are to work on.
    pub fn effort(&self) -> usize {
        match self.encoding {
            Encoding::Identity => self.wire.len(),
            Encoding::Gzip => self.wire.len().saturating_mul(GZIP_FACTOR),
        }
    }
}

fn gunzip(wire: &[u8], limit: usize) -> ApiResult<Bytes> {
    // A guess that spares most growing; text compresses about fourfold.
    let guess = wire.len().saturating_mul(4).min(limit);
    let mut plain = Vec::with_capacity(guess);
    let one_beyond = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(wire).take(one_beyond).read_to_end(&mut plain).map_err(|error| {
        ApiError::Invalid(format!("the body is not complete gzip data: {error}"))
    })?;
    if plain.len() > limit {
        return Err(ApiError::TooLarge(format!(
            "the body decompresses to more than {limit} bytes; send smaller batches"
        )));
    }
    Ok(plain.into())
}

/// Decodes a JSON body; the message says where it is wrong.
///
/// # Errors
/// 400 for anything that is not the JSON expected.
pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::Invalid(format!("the body is not the JSON expected: {error}")))
}

/// Reads a body while it stays within its limits.
struct Reader<'a> {
    limits: &'a Limits,
    timeouts: &'a Timeouts,
    held: Held,
    /// Most bodies come in one piece: that piece is the body, no copy needed.
    first: Bytes,
    rest: BytesMut,
}

impl<'a> Reader<'a> {
    fn new(app: &'a App) -> Self {
        let (limits, timeouts) = (&app.settings.limits, &app.settings.timeouts);
        let (first, rest) = (Bytes::new(), BytesMut::new());
        Self { limits, timeouts, held: app.bodies.hold(), first, rest }
    }

    async fn read(mut self, mut body: Body) -> ApiResult<(Bytes, Held)> {
        let deadline = Instant::now() + self.timeouts.body;
        loop {
            let gap_ends = Instant::now() + self.timeouts.body_gap;
            let frame = timeout_at(gap_ends.min(deadline), body.frame()).await;
            let Some(frame) = frame.map_err(|_| self.too_slow())? else { break };
            let frame =
                frame.map_err(|error| ApiError::Invalid(format!("the body broke off: {error}")))?;
            if let Ok(data) = frame.into_data() {
                self.push(data)?;
            }
        }
        let whole = if self.rest.is_empty() { self.first } else { self.rest.freeze() };
        Ok((whole, self.held))
    }

    fn push(&mut self, data: Bytes) -> ApiResult<()> {
        if self.len() + data.len() > self.limits.body_bytes {
            return Err(too_large(self.limits));
        }
        self.held.grow(data.len()).map_err(|NoRoom| ApiError::Unavailable {
            why: "too many large requests are under way".to_owned(),
            retry_after: Duration::from_secs(1),
        })?;
        if self.len() == 0 {
            self.first = data;
            return Ok(());
        }
        if self.rest.is_empty() {
            self.rest.extend_from_slice(&self.first);
        }
        self.rest.extend_from_slice(&data);
        Ok(())
    }

    fn len(&self) -> usize {
        self.first.len().max(self.rest.len())
    }

    fn too_slow(&self) -> ApiError {
        let (had, wait) = (self.len(), shown(self.timeouts));
        ApiError::TooSlow(format!("the body stopped after {had} bytes; {wait}"))
    }
}

fn shown(timeouts: &Timeouts) -> String {
    let seconds = |span: Duration| span.as_secs_f64();
    format!(
        "a piece must come every {} s and the whole within {} s",
        seconds(timeouts.body_gap),
        seconds(timeouts.body)
    )
}

fn too_large(limits: &Limits) -> ApiError {
    ApiError::TooLarge(format!(
        "the body has more than {} bytes; send smaller batches",
        limits.body_bytes
    ))
}

fn declared_len(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl FromRequest<App> for Received {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let limits = &app.settings.limits;
        let encoding = Encoding::from_headers(request.headers())?;
        let is_too_long =
            declared_len(request.headers()).is_some_and(|len| len > limits.body_bytes as u64);
        if is_too_long {
            return Err(too_large(limits));
        }
        let (wire, held) = Reader::new(app).read(request.into_body()).await?;
        app.metrics.count_bytes(wire.len());
        Ok(Self { wire, encoding, held })
    }
}

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let received = Received::from_request(request, app).await?;
        json(&received.unpack(&app.settings.limits)?).map(Self)
    }
}
