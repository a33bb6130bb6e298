//! Response bodies that are read from disk while they are sent.

use std::fs::File;
use std::io::{self, Read};

use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use ratchet_store::blocking::run_blocking;

/// Chunk size.
pub(crate) const PIECE: u64 = 256 * 1024;

/// A source that is read in chunks. Reading may block.
pub(crate) trait FileStream: Send + Sized + 'static {
    /// The next chunk; `None` at the end.
    fn next_piece(&mut self) -> io::Result<Option<Bytes>>;

    /// The response body, with each chunk read off the async runtime.
    fn into_body(self) -> Body {
        Body::from_stream(stream::try_unfold(self, |mut source| async move {
            let read = move || {
                let piece = source.next_piece()?;
                io::Result::Ok(piece.map(|piece| (piece, source)))
            };
            Ok::<_, BoxError>(run_blocking(read).await??)
        }))
    }
}

/// Reads up to so many bytes from a file.
///
/// # Errors
/// Fails if the file has fewer: it was truncated meanwhile.
pub(crate) fn read_exactly(file: &mut impl Read, wanted: u64) -> io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    let read = file.take(wanted).read_to_end(&mut piece)?;
    if read as u64 == wanted { Ok(piece) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A file of a known length.
#[derive(Debug)]
pub(crate) struct FilePieces {
    file: File,
    left: u64,
}

impl FilePieces {
    /// The first bytes of a file.
    pub(crate) fn new(file: File, bytes: u64) -> Self {
        Self { file, left: bytes }
    }
}

impl FileStream for FilePieces {
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        let wanted = self.left.min(PIECE);
        if wanted == 0 {
            return Ok(None);
        }
        self.left -= wanted;
        read_exactly(&mut self.file, wanted).map(|piece| Some(piece.into()))
    }
}
