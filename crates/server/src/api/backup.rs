//! A consistent copy of all data, as a stream.
//!
//! The copy is made in the scratch folder first, because a database cannot be streamed while it
//! changes. Its files are unlinked as soon as they are open, so that an interrupted download or a
//! crash leaves nothing behind.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::Frame;
use tokio::task::JoinHandle;

use super::tar::{ArchivedFile, BLOCK};
use crate::app::App;
use crate::auth::Owner;
use crate::error::{ApiError, ApiResult};

/// How much is read at a time.
const PIECE: u64 = 256 * 1024;

/// `POST /api/v1/backup`: a tar file with the databases. The secret key file is not among them.
pub(super) async fn create(State(app): State<App>, _: Owner) -> ApiResult<Response> {
    let scratch = app.settings.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let folder = scratch.join(format!("backup-{}", uuid::Uuid::new_v4()));
    let made = app.store.backup(folder.clone()).await;
    let files = made.map(|report| report.files);
    let archive = tokio::task::spawn_blocking(move || {
        let opened = files.map_err(ApiError::from).and_then(|files| {
            Archive::open(&files).map_err(|error| ApiError::Internal(Box::new(error)))
        });
        remove(&folder);
        opened
    });
    let archive = archive.await.map_err(|error| ApiError::Internal(Box::new(error)))??;
    let body = Body::new(ArchiveBody { state: BodyState::Ready(archive) });
    Ok(([(CONTENT_TYPE, "application/x-tar")], body).into_response())
}

fn remove(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(error.cause = %error, "cannot remove the scratch copy of a backup");
        }
        _ => {}
    }
}

/// A tar file that is made while it is read.
#[derive(Debug)]
struct Archive {
    waiting: VecDeque<(ArchivedFile, File)>,
    open: Option<Content>,
    end: Option<Bytes>,
}

#[derive(Debug)]
struct Content {
    file: File,
    left: u64,
    padding: usize,
}

impl Archive {
    fn open(files: &[PathBuf]) -> io::Result<Self> {
        let mut waiting = VecDeque::new();
        for path in files {
            let file = File::open(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let size = file.metadata()?.len();
            waiting.push_back((ArchivedFile { name, size }, file));
        }
        let end = Some(Bytes::from_static(&[0; 2 * BLOCK]));
        Ok(Self { waiting, open: None, end })
    }

    /// The next piece; `None` at the end.
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if let Some(content) = &mut self.open {
            let piece = content.next_piece()?;
            if content.left == 0 {
                self.open = None;
            }
            return Ok(Some(piece));
        }
        let Some((entry, file)) = self.waiting.pop_front() else {
            return Ok(self.end.take());
        };
        let header = entry.header().map_err(io::Error::other)?;
        if entry.size > 0 {
            self.open = Some(Content { file, left: entry.size, padding: entry.padding() });
        }
        Ok(Some(Bytes::copy_from_slice(&header)))
    }
}

impl Content {
    fn next_piece(&mut self) -> io::Result<Bytes> {
        let wanted = self.left.min(PIECE);
        let mut piece = Vec::new();
        let read = (&mut self.file).take(wanted).read_to_end(&mut piece)?;
        if read as u64 != wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= wanted;
        if self.left == 0 {
            piece.resize(read + self.padding, 0);
        }
        Ok(piece.into())
    }
}

/// Sends an archive, reading each piece off the async runtime.
struct ArchiveBody {
    state: BodyState,
}

enum BodyState {
    Ready(Archive),
    Reading(JoinHandle<(Archive, io::Result<Option<Bytes>>)>),
    Ended,
}

impl hyper::body::Body for ArchiveBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut reading = match std::mem::replace(&mut self.state, BodyState::Ended) {
            BodyState::Ended => return Poll::Ready(None),
            BodyState::Reading(reading) => reading,
            BodyState::Ready(mut archive) => tokio::task::spawn_blocking(move || {
                let piece = archive.next_piece();
                (archive, piece)
            }),
        };
        let Poll::Ready(read) = Pin::new(&mut reading).poll(context) else {
            self.state = BodyState::Reading(reading);
            return Poll::Pending;
        };
        let (archive, piece) = match read {
            Ok(read) => read,
            Err(error) => return Poll::Ready(Some(Err(io::Error::other(error)))),
        };
        let frame = piece.transpose().map(|piece| piece.map(Frame::data));
        if matches!(frame, Some(Ok(_))) {
            self.state = BodyState::Ready(archive);
        }
        Poll::Ready(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn the_stream_is_a_tar_file_of_whole_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let content = vec![7; usize::try_from(PIECE).unwrap() + 1];
        let paths = ["big.db", "empty.db"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], &content).unwrap();
        std::fs::write(&paths[1], []).unwrap();

        let archive = Archive::open(&paths).unwrap();
        let body = ArchiveBody { state: BodyState::Ready(archive) };
        let bytes = body.collect().await.unwrap().to_bytes();

        let header: &[u8; BLOCK] = bytes.first_chunk().unwrap();
        let entry = ArchivedFile::from_header(header).unwrap().unwrap();
        assert_eq!((entry.name.as_str(), entry.size), ("big.db", content.len() as u64));
        assert_eq!(bytes[BLOCK..BLOCK + content.len()], content);
        let second = BLOCK + content.len() + entry.padding();
        let header: &[u8; BLOCK] = bytes[second..].first_chunk().unwrap();
        assert_eq!(ArchivedFile::from_header(header).unwrap().unwrap().name, "empty.db");
        assert_eq!(bytes.len(), second + 3 * BLOCK);
    }

    #[tokio::test]
    async fn a_file_that_shrank_breaks_the_stream() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        std::fs::write(&path, [1; 100]).unwrap();
        let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
        std::fs::write(&path, [1; 10]).unwrap();
        let body = ArchiveBody { state: BodyState::Ready(archive) };
        assert!(body.collect().await.is_err());
    }
}
