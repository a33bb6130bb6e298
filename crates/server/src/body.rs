//! Request bodies, within limits: size on the wire, size decompressed, JSON values, memory of all
//! of them together, time to arrive.
//!
//! A body that is too large is refused as soon as that is known: from its Content-Length, from
//! the bytes that came so far, or from what decompression gave so far. What a body takes in memory
//! counts as taken until its request is answered.

/// JSON bodies.
mod json;
/// Reads bodies from the wire.
mod receive;

pub use json::JsonBody;
pub(crate) use json::Weight;
pub(crate) use receive::{PublicKeyOnly, hold_room};

use std::io::Read;
use std::ops::Deref;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use crate::app::Limits;
use crate::body_budget::{NoRoom, Room};
use crate::error::{ApiError, ApiResult};

/// A body as it came over the wire, not yet decompressed.
#[derive(Debug)]
pub struct Received {
    /// The bytes.
    pub wire: Bytes,
    pub encoding: Encoding,
    /// Its share of the memory for bodies.
    room: Room,
}

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    Gzip,
}

#[derive(Debug)]
pub struct Unpacked {
    bytes: Bytes,
    room: Room,
}

impl Unpacked {
    /// Its share of the memory for bodies, for what it becomes.
    pub(crate) fn room(&self) -> &Room {
        &self.room
    }
}

impl Deref for Unpacked {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// How much more work a compressed byte may be than a plain one: a kilobyte of gzip can hold a
/// megabyte.
const GZIP_FACTOR: usize = 64;
/// Bytes that are decompressed at a time.
const PIECE_BYTES: usize = 64 * 1024;

impl Received {
    /// The same body, seen through what was found inside.
    pub(crate) fn reframed(self, wire: Bytes, encoding: Encoding) -> Self {
        Self { wire, encoding, room: self.room }
    }

    /// About how many bytes there are to work on.
    pub fn effort(&self) -> usize {
        match self.encoding {
            Encoding::Identity => self.wire.len(),
            Encoding::Gzip => self.wire.len().saturating_mul(GZIP_FACTOR),
        }
    }

    /// Returns the decompressed bytes. Takes real CPU time when they are many.
    ///
    /// # Errors
    /// 413 as soon as a limit is passed, 400 if the gzip data is damaged or cut off, 503 when other
    /// bodies have the memory.
    pub fn unpack(self, limits: &Limits) -> ApiResult<Unpacked> {
        self.unpack_watched(limits, |_| Ok(()))
    }

    /// The same; `watch` sees each piece before it is kept, and may refuse the rest.
    fn unpack_watched(
        self,
        limits: &Limits,
        mut watch: impl FnMut(&[u8]) -> ApiResult<()>,
    ) -> ApiResult<Unpacked> {
        let Self { wire, encoding, room } = self;
        let bytes = match encoding {
            Encoding::Identity => {
                watch(&wire)?;
                wire
            }
            Encoding::Gzip => gunzip(&wire, limits.decompressed_bytes, &room, watch)?.into(),
        };
        Ok(Unpacked { bytes, room })
    }
}

fn gunzip(
    wire: &[u8],
    limit: usize,
    room: &Room,
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
            // What is reserved counts, used or not.
            let more = piece.len().max(plain.len() / 2);
            take(room, more)?;
            plain.reserve_exact(more);
        }
        plain.extend_from_slice(piece);
    }
}

/// Takes memory for a body.
///
/// # Errors
/// 503 when other bodies have it, 413 when even an idle server has too little.
fn take(room: &Room, bytes: usize) -> ApiResult<()> {
    room.grow(bytes).map_err(no_room)
}

/// The error for a body that gets no more memory.
pub(crate) fn no_room(why: NoRoom) -> ApiError {
    match why {
        NoRoom::Now => ApiError::Unavailable {
            why: "too many large requests are under way".to_owned(),
            retry_after: Duration::from_secs(1),
        },
        NoRoom::Ever { limit } => ApiError::TooLarge(format!(
            "the body takes more memory than all request bodies may ({limit} bytes); send smaller \
             batches"
        )),
    }
}
