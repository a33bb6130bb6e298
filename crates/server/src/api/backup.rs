//! A consistent copy of all data, as a stream.
//!
//! The copy of the databases is made in the scratch folder first, because a database cannot be
//! streamed while it changes. Its files are unlinked as soon as they are open, so that an
//! interrupted download or a crash leaves nothing behind. Media never change once they are there:
//! they are sent from where they are, and none is removed until all are sent.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use ratchet_store::media::Staying;

use super::tar::{ArchivedFile, BLOCK, MEDIA_FOLDER};
use crate::app::App;
use crate::auth::BackupOperator;
use crate::error::{ApiError, ApiResult};
use crate::pieces::{PIECE, Pieces, read_exactly};

/// `POST /api/v1/backup`: a tar file with the databases and the media. The secret key file is not
/// among them.
#[utoipa::path(
    post,
    path = "/api/v1/backup",
    tag = "Server",
    responses((status = 200, body = Vec<u8>, content_type = "application/x-tar"))
)]
pub(super) async fn create(State(app): State<App>, _: BackupOperator) -> ApiResult<Response> {
    let scratch = app.settings.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let folder = scratch.join(format!("backup-{}", uuid::Uuid::new_v4()));
    let media = app.store.media.clone();
    let staying = media.stay().await;
    let made = app.store.backup_databases(folder.clone()).await;
    let archive = tokio::task::spawn_blocking(move || {
        let opened = made.and_then(|report| Ok((report.files, media.list()?)));
        let opened = opened.map_err(ApiError::from).and_then(|(files, media)| {
            Archive::open(&files, media, Some(staying))
                .map_err(|error| ApiError::Internal(Box::new(error)))
        });
        remove(&folder);
        opened
    });
    let archive = archive.await.map_err(|error| ApiError::Internal(Box::new(error)))??;
    Ok(([(CONTENT_TYPE, "application/x-tar")], archive.into_body()).into_response())
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
    /// Too many to hold open at one time.
    media: VecDeque<PathBuf>,
    /// Has the media stay until they are sent.
    _staying: Option<Staying>,
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
    fn open(files: &[PathBuf], media: Vec<PathBuf>, staying: Option<Staying>) -> io::Result<Self> {
        let mut waiting = VecDeque::new();
        for path in files {
            waiting.push_back(opened(path, "")?);
        }
        let end = Some(Bytes::from_static(&[0; 2 * BLOCK]));
        Ok(Self { waiting, media: media.into(), _staying: staying, open: None, end })
    }

    fn next_file(&mut self) -> io::Result<Option<(ArchivedFile, File)>> {
        if let Some(waiting) = self.waiting.pop_front() {
            return Ok(Some(waiting));
        }
        self.media.pop_front().map(|path| opened(&path, MEDIA_FOLDER)).transpose()
    }
}

fn opened(path: &Path, folder: &str) -> io::Result<(ArchivedFile, File)> {
    let file = File::open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let size = file.metadata()?.len();
    Ok((ArchivedFile { name: format!("{folder}{name}"), size }, file))
}

impl Pieces for Archive {
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if let Some(content) = &mut self.open {
            let piece = content.next_piece()?;
            if content.left == 0 {
                self.open = None;
            }
            return Ok(Some(piece));
        }
        let Some((entry, file)) = self.next_file()? else {
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
        let mut piece = read_exactly(&mut self.file, wanted)?;
        self.left -= wanted;
        if self.left == 0 {
            piece.resize(piece.len() + self.padding, 0);
        }
        Ok(piece.into())
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

        let hash = "a".repeat(64);
        let media = folder.path().join(&hash);
        std::fs::write(&media, "hello").unwrap();

        let body = Archive::open(&paths, vec![media], None).unwrap().into_body();
        let bytes = body.collect().await.unwrap().to_bytes();

        let header: &[u8; BLOCK] = bytes.first_chunk().unwrap();
        let entry = ArchivedFile::from_header(header).unwrap().unwrap();
        assert_eq!((entry.name.as_str(), entry.size), ("big.db", content.len() as u64));
        assert_eq!(bytes[BLOCK..BLOCK + content.len()], content);
        let second = BLOCK + content.len() + entry.padding();
        let header: &[u8; BLOCK] = bytes[second..].first_chunk().unwrap();
        assert_eq!(ArchivedFile::from_header(header).unwrap().unwrap().name, "empty.db");
        let header: &[u8; BLOCK] = bytes[second + BLOCK..].first_chunk().unwrap();
        let media = ArchivedFile::from_header(header).unwrap().unwrap();
        assert_eq!((media.name, media.size), (format!("media/{hash}"), 5));
        assert_eq!(bytes.len(), second + 5 * BLOCK);
    }

    #[tokio::test]
    async fn a_file_that_shrank_breaks_the_stream() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        std::fs::write(&path, [1; 100]).unwrap();
        let archive = Archive::open(std::slice::from_ref(&path), Vec::new(), None).unwrap();
        std::fs::write(&path, [1; 10]).unwrap();
        let body = archive.into_body();
        assert!(body.collect().await.is_err());
    }
}
