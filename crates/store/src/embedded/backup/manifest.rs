//! The manifest of a backup: every file with its checksum, so that a restore can verify it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::failed;
use crate::{StoreError, StoreResult, private_files};

/// File name of the manifest.
pub const MANIFEST_FILE: &str = "manifest.json";

/// Format version; a backup with a greater one needs a newer Ratchet.
const FORMAT: u32 = 1;
/// A manifest is read into memory; one of a million files has about 200 MB.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;
/// Copy buffer size.
const COPY_BUFFER: usize = 128 * 1024;

/// Every file of a backup with its checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Format version.
    pub format: u32,
    /// Ratchet version that wrote it.
    pub version: String,
    /// Start of the backup, RFC 3339.
    pub created_at: String,
    /// All files except the manifest.
    pub files: Vec<ManifestFile>,
    /// Files of the data folder that are deliberately not in the backup.
    pub left_out: Vec<String>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Path in the backup, with slashes.
    pub path: String,
    pub bytes: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// Running size and checksum of a file.
#[derive(Clone, Debug, Default)]
pub struct FileDigest {
    hash: Sha256,
    bytes: u64,
}

impl FileDigest {
    /// Adds bytes.
    pub fn update(&mut self, piece: &[u8]) {
        self.hash.update(piece);
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
    }

    /// The manifest entry of the file.
    pub fn finish(self, path: impl Into<String>) -> ManifestFile {
        let digits = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        ManifestFile { path: path.into(), bytes: self.bytes, sha256: digits }
    }
}

impl Manifest {
    /// An empty manifest.
    pub fn new(created_at: Timestamp, left_out: Vec<String>) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: created_at.to_string(),
            files: Vec::new(),
            left_out,
        }
    }

    /// The manifest as human-readable JSON.
    ///
    /// # Errors
    /// Never, as far as we know.
    pub fn to_text(&self) -> StoreResult<String> {
        let text = serde_json::to_string_pretty(self);
        text.map_err(|why| StoreError::Backup(format!("cannot write {MANIFEST_FILE}: {why}")))
    }

    /// Reads the manifest of a backup; `None` if it has none.
    ///
    /// # Errors
    /// Fails if it is malformed, or from a newer Ratchet.
    pub fn read(backup: &Path) -> StoreResult<Option<Self>> {
        let path = backup.join(MANIFEST_FILE);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let mut text = String::new();
        let read = file.take(MAX_MANIFEST_BYTES).read_to_string(&mut text);
        read.map_err(failed("read", &path))?;
        let odd = |why: serde_json::Error| {
            StoreError::Backup(format!("{} is damaged: {why}", path.display()))
        };
        let manifest: Self = serde_json::from_str(&text).map_err(odd)?;
        if manifest.format > FORMAT {
            return Err(StoreError::Backup(format!(
                "the backup was made by ratchet {}, in format {}; this ratchet reads up to \
                 {FORMAT}: upgrade ratchet",
                manifest.version, manifest.format
            )));
        }
        Ok(Some(manifest))
    }
}

/// Permissions of a copied file: private to its owner, executable if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyMode {
    Plain,
    Program,
}

/// Copies a file to a new path, syncs it, and returns its manifest entry.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    name: &str,
    mode: CopyMode,
) -> StoreResult<ManifestFile> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut source = File::open(from).map_err(failed("open", from))?;
    if let Some(folder) = to.parent() {
        private_files::create_dir_all(folder).map_err(failed("make", folder))?;
    }
    let mode = if mode == CopyMode::Program { 0o700 } else { 0o600 };
    let mut options = private_files::options();
    let target = options.write(true).create_new(true).mode(mode).open(to);
    let mut target = target.map_err(failed("make", to))?;
    let (mut digest, mut piece) = (FileDigest::default(), vec![0; COPY_BUFFER]);
    loop {
        let read = source.read(&mut piece).map_err(failed("read", from))?;
        let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else { break };
        digest.update(read);
        target.write_all(read).map_err(failed("write", to))?;
    }
    target.sync_all().map_err(failed("sync", to))?;
    Ok(digest.finish(name))
}

/// The manifest entry of an existing file.
pub(super) fn digest(file: &Path, name: &str) -> StoreResult<ManifestFile> {
    let mut source = File::open(file).map_err(failed("open", file))?;
    let (mut digest, mut piece) = (FileDigest::default(), vec![0; COPY_BUFFER]);
    loop {
        let read = source.read(&mut piece).map_err(failed("read", file))?;
        let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else { break };
        digest.update(read);
    }
    Ok(digest.finish(name))
}
