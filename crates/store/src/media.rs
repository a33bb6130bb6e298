//! Media files in `<data>/media`, each named by its hash and immutable.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_core::record::media::MediaHash;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::blocking::run_blocking;
use crate::catalog::Catalog;
use crate::disk_reserve::{DiskMonitor, DiskReserve};
use crate::{StoreError, StoreResult, private_files};

/// Files checked per catalog transaction.
const FILES_AT_ONCE: usize = 100;

/// Prefix of incomplete files.
const INCOMING: &str = "incoming-";

/// The folder of media files.
///
/// Its functions block: call them off the async runtime.
#[derive(Clone, Debug)]
pub struct MediaFiles {
    folder: Arc<Path>,
    /// Read-locked while files must not be deleted, write-locked during deletion.
    deletion_lock: Arc<RwLock<()>>,
    /// Free disk space.
    room: DiskMonitor,
}

/// While this guard exists, no file is deleted.
#[derive(Debug)]
pub struct KeepMediaGuard {
    _held: OwnedRwLockReadGuard<()>,
}

/// A file being received. Deleted on drop unless it was saved.
#[derive(Debug)]
pub struct Incoming {
    path: PathBuf,
    file: File,
    hash: Sha256,
    bytes: u64,
    room: DiskMonitor,
}

impl MediaFiles {
    /// The folder need not exist yet.
    pub(crate) fn new(folder: PathBuf, reserve: DiskReserve) -> Self {
        let room = DiskMonitor::new(folder.clone(), reserve);
        Self { folder: folder.into(), deletion_lock: Arc::default(), room }
    }

    /// Prevents deletion of files until the returned guard is dropped.
    pub async fn prevent_deletion(&self) -> KeepMediaGuard {
        KeepMediaGuard { _held: Arc::clone(&self.deletion_lock).read_owned().await }
    }

    /// Deletes the files that no project of a catalog knows, and returns their number. Waits for
    /// [`KeepMediaGuard`]s.
    ///
    /// # Errors
    /// Fails if the folder cannot be read or a file cannot be deleted.
    pub(crate) async fn delete_orphan_files(&self, catalog: &Catalog) -> StoreResult<u64> {
        let Ok(_removing) = self.deletion_lock.try_write() else { return Ok(0) };
        let here = self.clone();
        let files = run_blocking(move || here.list()).await??;
        let names = files.iter().filter_map(|path| hash_named(path));
        let hashes: Vec<_> = names.filter_map(|name| MediaHash::from_hex(&name)).collect();
        let mut removed = 0;
        for some in hashes.chunks(FILES_AT_ONCE) {
            let here = self.clone();
            let remove = move |hash| here.remove(hash);
            removed += catalog.for_each_orphan_file(some.to_vec(), remove).await?;
        }
        Ok(removed)
    }

    fn remove(&self, hash: MediaHash) -> StoreResult<()> {
        let path = self.path(hash);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Starts receiving a file.
    ///
    /// # Errors
    /// Fails if the folder cannot be written, or the disk is full up to its reserve.
    pub fn receive(&self) -> StoreResult<Incoming> {
        private_files::create_dir_all(&self.folder).map_err(failed("make", &self.folder))?;
        self.room.check(0)?;
        let path = self.folder.join(format!("{INCOMING}{}", Uuid::new_v4()));
        let file = private_files::create_new(&path).map_err(failed("make", &path))?;
        Ok(Incoming { path, file, hash: Sha256::new(), bytes: 0, room: self.room.clone() })
    }

    /// Saves a received file. It is on disk when this returns.
    ///
    /// # Errors
    /// Fails if the bytes do not match the announced hash.
    pub fn save(&self, incoming: &Incoming, expected: MediaHash) -> StoreResult<()> {
        let found = MediaHash::new(incoming.hash.clone().finalize().into());
        if found != expected {
            return Err(StoreError::BadQuery(format!(
                "the bytes have the SHA-256 {}, not {} as announced",
                found.to_base64(),
                expected.to_base64()
            )));
        }
        incoming.file.sync_all().map_err(failed("sync", &incoming.path))?;
        let target = self.path(expected);
        fs::rename(&incoming.path, &target).map_err(failed("make", &target))?;
        let folder = File::open(&self.folder).and_then(|folder| folder.sync_all());
        folder.map_err(failed("sync", &self.folder))
    }

    /// Opens a saved file; `None` if there is none.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn open(&self, hash: MediaHash) -> StoreResult<Option<File>> {
        let path = self.path(hash);
        match File::open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("open", &path)(error)),
        }
    }

    /// Lists every saved file, ordered by name.
    ///
    /// # Errors
    /// Fails if the folder cannot be read; a missing folder is empty.
    pub fn list(&self) -> StoreResult<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read", &self.folder)(error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed("read", &self.folder))?.path();
            if is_kept(&path) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Deletes incomplete files left by a crash.
    pub(crate) fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let is_incoming = entry.file_name().to_string_lossy().starts_with(INCOMING);
            if is_incoming && let Err(error) = fs::remove_file(entry.path()) {
                tracing::warn!(error.cause = %error, "cannot remove a half-written media file");
            }
        }
    }

    fn path(&self, hash: MediaHash) -> PathBuf {
        self.folder.join(hash.to_hex())
    }
}

impl Incoming {
    /// Appends bytes.
    ///
    /// # Errors
    /// Fails if the disk is full or cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> StoreResult<()> {
        self.room.check(bytes.len() as u64)?;
        self.hash.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.file.write_all(bytes).map_err(failed("write", &self.path))
    }

    /// Number of bytes received so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            // It was saved under its final name.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(error.cause = %error, "cannot remove a media file"),
            Ok(()) => {}
        }
    }
}

/// The hash in a file name; `None` for any other name.
pub(crate) fn hash_named(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let is_hash =
        name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| name.to_owned())
}

/// The hash of a file's content.
pub(crate) fn hash_of(path: &Path) -> StoreResult<String> {
    let mut hasher = Hasher(Sha256::new());
    let mut file = File::open(path).map_err(failed("open", path))?;
    io::copy(&mut file, &mut hasher).map_err(failed("read", path))?;
    Ok(MediaHash::new(hasher.0.finalize().into()).to_hex())
}

fn is_kept(path: &Path) -> bool {
    hash_named(path).is_some()
}

struct Hasher(Sha256);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(path)
        }
        _ => StoreError::File { what, path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> MediaHash {
        MediaHash::new(Sha256::digest(b"hello").into())
    }

    #[test]
    fn bytes_are_kept_under_their_hash_and_only_under_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let files = MediaFiles::new(folder.path().join("media"), DiskReserve::Bytes(0));
        assert!(files.open(hello()).unwrap().is_none());
        let mut incoming = files.receive().unwrap();
        incoming.write(b"hel").unwrap();
        incoming.write(b"lo").unwrap();
        assert_eq!(incoming.bytes(), 5);
        files.save(&incoming, hello()).unwrap();
        let kept = io::read_to_string(files.open(hello()).unwrap().unwrap()).unwrap();
        assert_eq!(kept, "hello");

        let mut other = files.receive().unwrap();
        other.write(b"hallo").unwrap();
        assert!(matches!(files.save(&other, hello()), Err(StoreError::BadQuery(_))));
        assert_eq!(files.list().unwrap().len(), 1);
        drop((incoming, other));
        assert_eq!(fs::read_dir(folder.path().join("media")).unwrap().count(), 1);
    }

    #[test]
    fn what_a_crash_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("incoming-1"), "half").unwrap();
        let files = MediaFiles::new(folder.path().to_owned(), DiskReserve::Bytes(0));
        files.tidy();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
