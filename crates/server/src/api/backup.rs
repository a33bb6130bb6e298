//! Streams a consistent backup of all data.
//!
//! The databases are copied to the scratch folder first, because a database cannot be streamed
//! while it changes. The copies are unlinked as soon as they are open, so that an interrupted
//! download or a crash leaves nothing behind. Media are immutable: they are streamed in place, and
//! none is deleted until all are sent. Chat files are streamed in place, too: transcripts only ever
//! grow, and are sent up to their length at the start. The manifest is last, with the checksums of
//! what was sent.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use ratchet_store::backup::{BackupFile, BackupOutline, FileDigest, MANIFEST_FILE, Manifest};
use ratchet_store::blocking::run_blocking;
use ratchet_store::media::KeepMediaGuard;

use super::tar::{ArchivedFile, BLOCK, padding};
use crate::app::App;
use crate::auth::BackupOperator;
use crate::error::{ApiError, ApiResult};
use crate::file_stream::{FileStream, PIECE, read_exactly};

/// Folder of media in the archive.
const MEDIA_FOLDER: &str = "media";
/// A file of a running agent up to this size is read at once, so that it is consistent.
const AT_ONCE: u64 = 1024 * 1024;

/// `POST /api/v1/backup`: a tar file with the databases, the media, the files of chats, and a
/// manifest with checksums. It does not contain the server's encryption key.
#[utoipa::path(
    post,
    path = "/api/v1/backup",
    tag = "Server",
    responses((status = 200, body = Vec<u8>, content_type = "application/x-tar"))
)]
pub(super) async fn create(State(app): State<App>, _: BackupOperator) -> ApiResult<Response> {
    let scratch = app.settings.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let folder = scratch.join(format!("backup-{}", uuid::Uuid::new_v4()));
    let keep_media = app.store.media.prevent_deletion().await;
    let made = app.store.outline_backup(folder.clone(), app.clock.now()).await;
    let archive = run_blocking(move || {
        let opened = made.map_err(ApiError::from).and_then(|outline| {
            Archive::open(outline, Some(keep_media))
                .map_err(|error| ApiError::Internal(Box::new(error)))
        });
        remove(&folder);
        opened
    });
    Ok(([(CONTENT_TYPE, "application/x-tar")], archive.await??.into_body()).into_response())
}

fn remove(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(error.cause = %error, "cannot remove the scratch copy of a backup");
        }
        _ => {}
    }
}

/// A tar file that is generated while it is read.
#[derive(Debug)]
struct Archive {
    databases: VecDeque<Content>,
    /// Too many to hold open at the same time.
    media: VecDeque<PathBuf>,
    kept: VecDeque<BackupFile>,
    /// Prevents deletion of media until they are sent.
    _keep_media: Option<KeepMediaGuard>,
    open: Option<Content>,
    /// `None` once it is sent.
    manifest: Option<Manifest>,
    end: Option<Bytes>,
}

/// A file that is being sent.
#[derive(Debug)]
struct Content {
    about: ArchivedFile,
    bytes: Source,
    left: u64,
    digest: FileDigest,
}

#[derive(Debug)]
enum Source {
    File(File),
    Memory(Cursor<Vec<u8>>),
}

impl Archive {
    fn open(outline: BackupOutline, keep_media: Option<KeepMediaGuard>) -> io::Result<Self> {
        let BackupOutline { databases, media, kept, manifest } = outline;
        let database = |path: &PathBuf| Content::open(path, file_name(path), false);
        Ok(Self {
            databases: databases.iter().map(database).collect::<io::Result<_>>()?,
            media: media.into(),
            kept: kept.into(),
            _keep_media: keep_media,
            open: None,
            manifest: Some(manifest),
            end: Some(Bytes::from_static(&[0; 2 * BLOCK])),
        })
    }

    fn next_file(&mut self) -> io::Result<Option<Content>> {
        if let Some(database) = self.databases.pop_front() {
            return Ok(Some(database));
        }
        if let Some(path) = self.media.pop_front() {
            let name = format!("{MEDIA_FOLDER}/{}", file_name(&path));
            return Content::open(&path, name, false).map(Some);
        }
        while let Some(BackupFile { path, name, is_program }) = self.kept.pop_front() {
            match Content::open_changing(&path, name, is_program) {
                Ok(content) => return Ok(Some(content)),
                // A running agent has removed it since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.manifest
            .take()
            .map(|manifest| {
                let text = manifest.to_text().map_err(io::Error::other)?;
                Ok(Content::of_bytes(text.into_bytes(), MANIFEST_FILE.to_owned(), false))
            })
            .transpose()
    }

    /// Adds a completely sent file to the manifest.
    fn note(&mut self, sent: Content) {
        if let Some(manifest) = &mut self.manifest {
            manifest.files.push(sent.digest.finish(sent.about.name));
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl FileStream for Archive {
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if let Some(mut content) = self.open.take() {
            let piece = content.next_piece()?;
            if content.left == 0 {
                self.note(content);
            } else {
                self.open = Some(content);
            }
            return Ok(Some(piece));
        }
        let Some(content) = self.next_file()? else {
            return Ok(self.end.take());
        };
        let header = content.about.header().map_err(io::Error::other)?;
        if content.left > 0 {
            self.open = Some(content);
        } else {
            self.note(content);
        }
        Ok(Some(header.into()))
    }
}

impl Content {
    fn open(path: &Path, name: String, is_program: bool) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let about = ArchivedFile { name, size, is_program };
        Ok(Self { about, bytes: Source::File(file), left: size, digest: FileDigest::default() })
    }

    /// Opens a file that others may write meanwhile.
    fn open_changing(path: &Path, name: String, is_program: bool) -> io::Result<Self> {
        let mut content = Self::open(path, name, is_program)?;
        if let Source::File(file) = &mut content.bytes
            && content.left <= AT_ONCE
        {
            let mut bytes = Vec::new();
            file.take(content.left).read_to_end(&mut bytes)?;
            return Ok(Self::of_bytes(bytes, content.about.name, is_program));
        }
        Ok(content)
    }

    fn of_bytes(bytes: Vec<u8>, name: String, is_program: bool) -> Self {
        let size = bytes.len() as u64;
        let about = ArchivedFile { name, size, is_program };
        let bytes = Source::Memory(Cursor::new(bytes));
        Self { about, bytes, left: size, digest: FileDigest::default() }
    }

    fn next_piece(&mut self) -> io::Result<Bytes> {
        let wanted = self.left.min(PIECE);
        let mut piece = match &mut self.bytes {
            Source::File(file) => read_exactly(file, wanted)?,
            Source::Memory(bytes) => read_exactly(bytes, wanted)?,
        };
        self.digest.update(&piece);
        self.left -= wanted;
        if self.left == 0 {
            piece.resize(piece.len() + padding(self.about.size), 0);
        }
        Ok(piece.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::tar::Header;
    use http_body_util::BodyExt;
    use ratchet_core::time::Timestamp;

    fn outline(databases: &[PathBuf]) -> BackupOutline {
        let manifest = Manifest::new(Timestamp::default(), Vec::new());
        let databases = databases.to_vec();
        BackupOutline { databases, media: Vec::new(), kept: Vec::new(), manifest }
    }

    /// The files of an archive by name and content.
    fn unpacked(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let (mut files, mut long_name) = (Vec::new(), None);
        loop {
            let (header, rest) = bytes.split_first_chunk::<BLOCK>().unwrap();
            let whole = |size: usize| rest.split_at(size.next_multiple_of(BLOCK));
            bytes = match Header::read(header, long_name.take()).unwrap() {
                Header::End => return files,
                Header::LongName(length) => {
                    long_name = Some(String::from_utf8(rest[..length - 1].to_vec()).unwrap());
                    whole(length).1
                }
                Header::File(file) => {
                    let size = usize::try_from(file.size).unwrap();
                    files.push((file.name, rest[..size].to_vec()));
                    whole(size).1
                }
            };
        }
    }

    #[tokio::test]
    async fn the_stream_is_a_tar_file_of_whole_blocks_with_a_manifest_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let content = vec![7; usize::try_from(PIECE).unwrap() + 1];
        let paths = ["big.db", "empty.db"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], &content).unwrap();
        std::fs::write(&paths[1], []).unwrap();
        let hash = "a".repeat(64);
        let media = folder.path().join(&hash);
        std::fs::write(&media, "hello").unwrap();
        let name = format!("chats/{}/t.jsonl", "f".repeat(120));
        let kept = |path: PathBuf| BackupFile { path, name: name.clone(), is_program: false };
        let gone = kept(folder.path().join("gone"));

        let outline = BackupOutline {
            media: vec![media.clone()],
            kept: vec![gone, kept(media)],
            ..outline(&paths)
        };
        let body = Archive::open(outline, None).unwrap().into_body();
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!(bytes.len() % BLOCK, 0);
        let files = unpacked(&bytes);
        let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
        let media = format!("media/{hash}");
        assert_eq!(names, ["big.db", "empty.db", &media, &name, "manifest.json"]);
        assert_eq!((&files[0].1, &*files[3].1), (&content, b"hello".as_slice()));
        let manifest: Manifest = serde_json::from_slice(&files[4].1).unwrap();
        for ((name, content), line) in files.iter().zip(&manifest.files) {
            let mut digest = FileDigest::default();
            digest.update(content);
            assert_eq!(&digest.finish(name.as_str()), line);
        }
        assert_eq!(manifest.files.len(), 4);
    }

    #[tokio::test]
    async fn a_file_that_shrank_breaks_the_stream() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        std::fs::write(&path, [1; 100]).unwrap();
        let archive = Archive::open(outline(std::slice::from_ref(&path)), None).unwrap();
        std::fs::write(&path, [1; 10]).unwrap();
        let body = archive.into_body();
        assert!(body.collect().await.is_err());
    }
}
