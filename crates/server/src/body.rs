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

/// A body as it came over the wire, not yet decompressed.
#[derive(Clone, Debug)]
pub struct Received {
    /// The bytes.
    pub wire: Bytes,
    /// How they are compressed.
    pub encoding: Encoding,
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

async fn read(mut body: Body, limits: &Limits, timeouts: &Timeouts) -> ApiResult<Bytes> {
    let deadline = Instant::now() + timeouts.body;
    let mut read = BytesMut::new();
    let mut first = None;
    loop {
        let gap_ends = Instant::now() + timeouts.body_gap;
        let frame = timeout_at(gap_ends.min(deadline), body.frame()).await.map_err(|_| {
            let (had, wait) = (read.len(), shown(timeouts));
            ApiError::TooSlow(format!("the body stopped after {had} bytes; {wait}"))
        })?;
        let Some(frame) = frame else { break };
        let frame =
            frame.map_err(|error| ApiError::Invalid(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + first.as_ref().map_or(0, Bytes::len) + data.len() > limits.body_bytes {
            return Err(too_large(limits));
        }
        // Most bodies come in one piece: that piece is the body, no copy needed.
        match first.take() {
            None if read.is_empty() => first = Some(data),
            None => read.extend_from_slice(&data),
            Some(earlier) => {
                read.extend_from_slice(&earlier);
                read.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| read.freeze()))
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
        let wire = read(request.into_body(), limits, &app.settings.timeouts).await?;
        app.metrics.count_bytes(wire.len());
        Ok(Self { wire, encoding })
    }
}

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let received = Received::from_request(request, app).await?;
        json(&received.unpack(&app.settings.limits)?).map(Self)
    }
}
