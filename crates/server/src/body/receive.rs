use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::middleware::Next;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::{Encoding, Received, take};
use crate::app::{App, Limits, Timeouts};
use crate::body_budget::BodyReservation;
use crate::error::{ApiError, ApiResult};

/// Marks a request with only a public key. Anyone can have one, so that bodies must be small and
/// uncompressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublicKeyOnly;

/// Middleware that holds the memory of a body until the response, so that handlers need not do it.
pub(crate) async fn hold_reservation(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    let reservation = app.bodies.reservation();
    request.extensions_mut().insert(reservation.clone());
    let response = next.run(request).await;
    drop(reservation);
    response
}

impl FromRequest<App> for Received {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let allowance = Allowance::of(&request, &app.settings.limits);
        let encoding = Encoding::from_headers(request.headers())?;
        allowance.check_encoding(encoding)?;
        let is_too_long =
            declared_len(request.headers()).is_some_and(|len| len > allowance.bytes as u64);
        if is_too_long {
            return Err(allowance.exceeded());
        }
        let reservation = request.extensions().get::<BodyReservation>().cloned();
        let reservation = reservation.unwrap_or_else(|| app.bodies.reservation());
        let reader = Reader::new(allowance, &app.settings.timeouts, &reservation);
        let wire = reader.read(request.into_body()).await?;
        app.metrics.count_bytes(wire.len());
        Ok(Self { wire, encoding, reservation })
    }
}

fn declared_len(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

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

/// Limits of the caller.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    /// Bytes on the wire.
    bytes: usize,
    is_public: bool,
}

impl Allowance {
    fn of(request: &Request, limits: &Limits) -> Self {
        let is_public = request.extensions().get::<PublicKeyOnly>().is_some();
        let public_bytes = limits.public_body_bytes.min(limits.body_bytes);
        Self { bytes: if is_public { public_bytes } else { limits.body_bytes }, is_public }
    }

    fn check_encoding(self, encoding: Encoding) -> ApiResult<()> {
        if encoding == Encoding::Identity || !self.is_public {
            return Ok(());
        }
        Err(ApiError::UnsupportedMediaType(
            "with a public key alone a body must come uncompressed; leave out Content-Encoding, or \
             use Basic auth with public and secret key"
                .to_owned(),
        ))
    }

    fn exceeded(self) -> ApiError {
        let Self { bytes, is_public } = self;
        let advice = match is_public {
            true => "which is all that a public key alone may send",
            false => "send smaller batches",
        };
        let joint = if is_public { "," } else { ";" };
        ApiError::TooLarge(format!("the body has more than {bytes} bytes{joint} {advice}"))
    }
}

/// Reads a body within its limits.
struct Reader<'a> {
    allowance: Allowance,
    timeouts: &'a Timeouts,
    reservation: &'a BodyReservation,
    /// Most bodies arrive in one chunk, which is used without a copy.
    first: Bytes,
    rest: BytesMut,
}

impl<'a> Reader<'a> {
    fn new(allowance: Allowance, timeouts: &'a Timeouts, reservation: &'a BodyReservation) -> Self {
        Self { allowance, timeouts, reservation, first: Bytes::new(), rest: BytesMut::new() }
    }

    async fn read(mut self, mut body: Body) -> ApiResult<Bytes> {
        let deadline = Instant::now() + self.timeouts.body;
        loop {
            let gap_ends = Instant::now() + self.timeouts.body_gap;
            let frame = timeout_at(gap_ends.min(deadline), body.frame()).await;
            let Some(frame) = frame.map_err(|_| self.too_slow())? else { break };
            let frame = frame
                .map_err(|error| ApiError::Invalid(format!("the body ended early: {error}")))?;
            if let Ok(data) = frame.into_data() {
                self.push(data)?;
            }
        }
        Ok(if self.rest.is_empty() { self.first } else { self.rest.freeze() })
    }

    fn push(&mut self, data: Bytes) -> ApiResult<()> {
        if self.len() + data.len() > self.allowance.bytes {
            return Err(self.allowance.exceeded());
        }
        take(self.reservation, data.len())?;
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
