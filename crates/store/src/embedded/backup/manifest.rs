//! What a backup holds, file by file, so that a restore can tell whether it is whole.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::failed;
use crate::{StoreError, StoreResult, private_files};

/// The file in a backup that names all others.
pub const MANIFEST_FILE: &str = "manifest.json";

/// What this version writes; a greater number is a backup that only a newer Ratchet restores.
const FORMAT: u32 = 1;
/// A manifest is read whole; one of a million files has about 200 MB.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;
/// Bytes copied at a time.
const PIECE: usize = 128 * 1024;

/// Every file of a backup with its checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// How this file is to be read.
    pub format: u32,
    /// The Ratchet that wrote it.
    pub version: String,
    /// When the backup was begun, RFC 3339.
    pub created_at: String,
    /// All files but this one.
    pub files: Vec<ManifestFile>,
    /// What is in the data folder and, on purpose, not in the backup.
    pub left_out: Vec<String>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Its path in the backup, with slashes.
    pub path: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Their SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Counts the bytes of one file on their way into a backup, and works out their checksum.
#[derive(Clone, Debug, Default)]
pub struct FileDigest {
    hash: Sha256,
    bytes: u64,
}

impl FileDigest {
    /// Counts more bytes in.
    pub fn update(&mut self, piece: &[u8]) {
        self.hash.update(piece);
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
    }

    /// The line of the manifest for what was counted.
    pub fn finish(self, path: impl Into<String>) -> ManifestFile {
        let digits = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        ManifestFile { path: path.into(), bytes: self.bytes, sha256: digits }
    }
}

impl Manifest {
    /// A manifest of no files yet.
    pub fn new(created_at: Timestamp, left_out: Vec<String>) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: created_at.to_string(),
            files: Vec::new(),
            left_out,
        }
    }

    /// As it is written, for people to read as well.
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
    /// Refuses what is no manifest, or one of a newer Ratchet.
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

/// Who may do what with a copied file: its owner alone, and run it if they could before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyMode {
    Plain,
    Program,
}

/// Copies a file to a place where there is none, and says what was copied. It is on disk then.
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
    let (mut digest, mut piece) = (FileDigest::default(), vec![0; PIECE]);
    loop {
        let read = source.read(&mut piece).map_err(failed("read", from))?;
        let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else { break };
        digest.update(read);
        target.write_all(read).map_err(failed("write", to))?;
    }
    target.sync_all().map_err(failed("sync", to))?;
    Ok(digest.finish(name))
}

/// The line of the manifest for a file that is there.
pub(super) fn digest(file: &Path, name: &str) -> StoreResult<ManifestFile> {
    let mut source = File::open(file).map_err(failed("open", file))?;
    let (mut digest, mut piece) = (FileDigest::default(), vec![0; PIECE]);
    loop {
        let read = source.read(&mut piece).map_err(failed("read", file))?;
        let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else { break };
        digest.update(read);
    }
    Ok(digest.finish(name))
}
