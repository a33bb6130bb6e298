//! Request bodies, within limits: size on the wire, size decompressed, number of JSON values,
//! memory of all bodies together, time to arrive.
//!
//! A body that is too large is rejected as soon as that is known: from its Content-Length, from the
//! bytes so far, or from the decompressed bytes so far. Its memory counts against the budget until
//! the response.

/// JSON bodies.
mod json;
/// Receives bodies from the wire.
mod receive;

pub use json::JsonBody;
pub(crate) use json::Weight;
pub(crate) use receive::{PublicKeyOnly, hold_reservation};

use std::io::Read;
use std::ops::Deref;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use crate::app::Limits;
use crate::body_budget::{BodyReservation, OverBudget};
use crate::error::{ApiError, ApiResult};

/// A body as received, not yet decompressed.
#[derive(Debug)]
pub struct Received {
    pub wire: Bytes,
    pub encoding: Encoding,
    /// Its share of the memory budget.
    reservation: BodyReservation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Identity,
    Gzip,
}

#[derive(Debug)]
pub struct Unpacked {
    bytes: Bytes,
    reservation: BodyReservation,
}

impl Unpacked {
    /// Its share of the memory budget, for derived data.
    pub(crate) fn reservation(&self) -> &BodyReservation {
        &self.reservation
    }
}

impl Deref for Unpacked {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Cost of a compressed byte relative to a plain one: a kilobyte of gzip can decompress to a
/// megabyte.
const GZIP_FACTOR: usize = 64;
/// Bytes decompressed at a time.
const PIECE_BYTES: usize = 64 * 1024;

impl Received {
    /// The same body with other bytes and encoding.
    pub(crate) fn with_bytes(self, wire: Bytes, encoding: Encoding) -> Self {
        Self { wire, encoding, reservation: self.reservation }
    }

    /// Approximate bytes to process.
    pub fn effort(&self) -> usize {
        match self.encoding {
            Encoding::Identity => self.wire.len(),
            Encoding::Gzip => self.wire.len().saturating_mul(GZIP_FACTOR),
        }
    }

    /// Returns the decompressed bytes. CPU-bound if they are many.
    ///
    /// # Errors
    /// 413 as soon as a limit is exceeded, 400 if the gzip data is damaged or truncated, 503 if the
    /// memory budget is used up.
    pub fn unpack(self, limits: &Limits) -> ApiResult<Unpacked> {
        self.unpack_watched(limits, |_| Ok(()))
    }

    /// Like `unpack`; `watch` sees each chunk before it is stored, and may reject the rest.
    fn unpack_watched(
        self,
        limits: &Limits,
        mut watch: impl FnMut(&[u8]) -> ApiResult<()>,
    ) -> ApiResult<Unpacked> {
        let Self { wire, encoding, reservation } = self;
        let bytes = match encoding {
            Encoding::Identity => {
                watch(&wire)?;
                wire
            }
            Encoding::Gzip => gunzip(&wire, limits.decompressed_bytes, &reservation, watch)?.into(),
        };
        Ok(Unpacked { bytes, reservation })
    }
}

fn gunzip(
    wire: &[u8],
    limit: usize,
    reservation: &BodyReservation,
    mut watch: impl FnMut(&[u8]) -> ApiResult<()>,
) -> ApiResult<Vec<u8>> {
    let mut decoder = MultiGzDecoder::new(wire);
    let mut piece = vec![0; PIECE_BYTES];
    let mut plain = Vec::new();
    loop {
        let read = decoder.read(&mut piece).map_err(|error| {
            ApiError::Invalid(format!("the body is not complete gzip data: {error}"))
        })?;
        let piece = piece.get(..read).unwrap_or_default();
        if piece.is_empty() {
            return Ok(plain);
        }
        if plain.len() + piece.len() > limit {
            return Err(ApiError::TooLarge(format!(
                "the body decompresses to more than {limit} bytes; send smaller batches"
            )));
        }
        watch(piece)?;
        if plain.capacity() - plain.len() < piece.len() {
            // Reserved capacity counts, used or not.
            let more = piece.len().max(plain.len() / 2);
            take(reservation, more)?;
            plain.reserve_exact(more);
        }
        plain.extend_from_slice(piece);
    }
}

/// Takes memory for a body from the budget.
///
/// # Errors
/// 503 when other bodies have it, 413 when the body exceeds the whole budget.
fn take(reservation: &BodyReservation, bytes: usize) -> ApiResult<()> {
    reservation.grow(bytes).map_err(over_budget)
}

/// The error for a body that gets no more memory.
pub(crate) fn over_budget(why: OverBudget) -> ApiError {
    match why {
        OverBudget::Now => ApiError::Unavailable {
            why: "too many large requests are under way".to_owned(),
            retry_after: Duration::from_secs(1),
        },
        OverBudget::Ever { limit } => ApiError::TooLarge(format!(
            "the body takes more memory than all request bodies may ({limit} bytes); send smaller \
             batches"
        )),
    }
}
