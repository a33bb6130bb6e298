//! Response bodies that are read from disk while they are sent.

use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::Frame;
use tokio::task::JoinHandle;

/// Chunk size.
pub(crate) const PIECE: u64 = 256 * 1024;

/// A source that is read in chunks. Reading may block.
pub(crate) trait FileStream: Send + Sized + 'static {
    /// The next chunk; `None` at the end.
    fn next_piece(&mut self) -> io::Result<Option<Bytes>>;

    /// The response body, with each chunk read off the async runtime.
    fn into_body(self) -> Body {
        Body::new(PiecesBody(State::Ready(self)))
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

struct PiecesBody<P>(State<P>);

enum State<P> {
    Ready(P),
    Reading(JoinHandle<(P, io::Result<Option<Bytes>>)>),
    Ended,
}

// What is read is only ever moved as a whole.
impl<P> Unpin for PiecesBody<P> {}

impl<P: FileStream> hyper::body::Body for PiecesBody<P> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut reading = match std::mem::replace(&mut self.0, State::Ended) {
            State::Ended => return Poll::Ready(None),
            State::Reading(reading) => reading,
            State::Ready(mut pieces) => tokio::task::spawn_blocking(move || {
                let piece = pieces.next_piece();
                (pieces, piece)
            }),
        };
        let Poll::Ready(read) = Pin::new(&mut reading).poll(context) else {
            self.0 = State::Reading(reading);
            return Poll::Pending;
        };
        let (pieces, piece) = match read {
            Ok(read) => read,
            Err(error) => return Poll::Ready(Some(Err(io::Error::other(error)))),
        };
        let frame = piece.transpose().map(|piece| piece.map(Frame::data));
        if matches!(frame, Some(Ok(_))) {
            self.0 = State::Ready(pieces);
        }
        Poll::Ready(frame)
    }
}
