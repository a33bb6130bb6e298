//! Online backups of a data folder: a snapshot of each database, media, and the other files that
//! chats need, with a manifest of checksums.

/// The manifest.
mod manifest;
/// Restore of a backup.
mod restore;
/// Files in a backup besides databases and media.
mod tree;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ratchet_core::time::Timestamp;

pub use self::manifest::{FileDigest, MANIFEST_FILE, Manifest, ManifestFile};
pub(super) use self::restore::unknown_projects;
pub use self::restore::{Proof, restore};
use self::tree::BackupTree;
pub use self::tree::{BackupFile, is_backup_path};

use super::connection::{self, Purpose};
use super::{EmbeddedEngine, MEDIA_FOLDER, sqlite_error};
use crate::blocking::run_blocking;
use crate::media::hash_named;
use crate::{StoreError, StoreResult, private_files};
use manifest::{CopyMode, copy, digest};
use tree::SECRET_FILES;

/// Result of a backup or restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    pub bytes: u64,
    pub files: Vec<PathBuf>,
    /// Files of the data folder that are deliberately not in the backup.
    pub left_out: Vec<String>,
}

/// Whether a backup contains the server's secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupSecrets {
    /// The server's encryption key and settings with plain-text secrets are copied, too.
    Included,
    LeftOut,
}

/// The parts of a streamed backup. The databases are copies; other files are read in place, and the
/// manifest is filled during streaming.
#[derive(Debug)]
pub struct BackupOutline {
    pub databases: Vec<PathBuf>,
    /// Immutable media files.
    pub media: Vec<PathBuf>,
    /// Other files. Some may have been deleted or grown when they are read.
    pub kept: Vec<BackupFile>,
    /// The manifest, still without files.
    pub manifest: Manifest,
}

impl EmbeddedEngine {
    /// See [`Store::backup`](crate::Store::backup).
    pub(crate) async fn backup(
        &self,
        to: PathBuf,
        secrets: BackupSecrets,
        now: Timestamp,
    ) -> StoreResult<BackupReport> {
        let here = self.clone();
        let _keep_media = self.media.prevent_deletion().await;
        run_blocking(move || here.copy_all(&to, secrets, now)).await?
    }

    /// See [`Store::outline_backup`](crate::Store::outline_backup).
    pub(crate) async fn outline_backup(
        &self,
        to: PathBuf,
        now: Timestamp,
    ) -> StoreResult<BackupOutline> {
        let here = self.clone();
        let outline = move || {
            let databases = copy_databases(&here.databases(), &to)?;
            let (tree, _) = other_files(here.path(), BackupSecrets::LeftOut)?;
            let BackupTree { files: kept, left_out } = tree;
            let manifest = Manifest::new(now, left_out);
            Ok(BackupOutline { databases, media: here.media.list()?, kept, manifest })
        };
        run_blocking(outline).await?
    }

    fn databases(&self) -> [PathBuf; 2] {
        [self.telemetry.shared.file.clone(), self.catalog.file().to_owned()]
    }

    fn path(&self) -> &Path {
        self.catalog.file().parent().unwrap_or(Path::new("."))
    }

    /// Copies everything. The manifest is written last: a folder without one is incomplete.
    fn copy_all(
        &self,
        to: &Path,
        secrets: BackupSecrets,
        now: Timestamp,
    ) -> StoreResult<BackupReport> {
        let mut lines = Vec::new();
        for database in copy_databases(&self.databases(), to)? {
            let name = database.file_name().unwrap_or_default().to_string_lossy();
            lines.push(digest(&database, &name)?);
        }
        for file in self.media.list()? {
            let name = format!("{MEDIA_FOLDER}/{}", hash_named(&file).unwrap_or_default());
            lines.push(copy(&file, &to.join(&name), &name, CopyMode::Plain)?);
        }
        let (tree, wanted) = other_files(self.path(), secrets)?;
        for file in tree.files.iter().chain(&wanted) {
            match copy(&file.path, &to.join(&file.name), &file.name, file.mode()) {
                Ok(line) => lines.push(line),
                // A running agent has removed it since it was listed.
                Err(StoreError::File { source, .. })
                    if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let manifest = Manifest { files: lines, ..Manifest::new(now, tree.left_out) };
        finish(manifest, to)
    }
}

/// Files of a data folder besides databases and media: those that are always backed up, those that
/// are not, and the secrets, if they are included.
fn other_files(data: &Path, secrets: BackupSecrets) -> StoreResult<(BackupTree, Vec<BackupFile>)> {
    let mut tree = tree::list(data)?;
    let there = SECRET_FILES.into_iter().filter(|name| data.join(name).is_file());
    if secrets == BackupSecrets::LeftOut {
        tree.left_out.extend(there.map(str::to_owned));
        return Ok((tree, Vec::new()));
    }
    let file =
        |name: &str| BackupFile { path: data.join(name), name: name.to_owned(), is_program: false };
    Ok((tree, there.map(file).collect()))
}

/// Writes the manifest and returns the report.
fn finish(manifest: Manifest, to: &Path) -> StoreResult<BackupReport> {
    let path = to.join(MANIFEST_FILE);
    let text = manifest.to_text()?;
    let mut file = private_files::create_new(&path).map_err(failed("make", &path))?;
    file.write_all(text.as_bytes()).map_err(failed("write", &path))?;
    file.sync_all().map_err(failed("sync", &path))?;
    for folder in [MEDIA_FOLDER, "."].map(|name| to.join(name)) {
        if folder.is_dir() {
            sync(&folder)?;
        }
    }
    let Manifest { files, left_out, .. } = manifest;
    let bytes = files.iter().map(|file| file.bytes).sum::<u64>() + text.len() as u64;
    let files = files.iter().map(|file| to.join(&file.path)).chain([path]).collect();
    Ok(BackupReport { bytes, files, left_out })
}

/// Copies databases into a new folder. Telemetry first: the catalog copied after it knows every
/// project in the telemetry.
fn copy_databases(databases: &[PathBuf], to: &Path) -> StoreResult<Vec<PathBuf>> {
    make_empty(to)?;
    let mut copies = Vec::new();
    for database in databases {
        let target = to.join(database.file_name().unwrap_or_default());
        let db = connection::open(database, Purpose::Read)?;
        private_files::ensure_file(&target).map_err(failed("make", &target))?;
        // All pages in one call, on one snapshot.
        db.backup(rusqlite::MAIN_DB, &target, None::<fn(rusqlite::backup::Progress)>)
            .map_err(|error| sqlite_error(&target, error))?;
        sync(&target)?;
        copies.push(target);
    }
    sync(to)?;
    Ok(copies)
}

fn make_empty(folder: &Path) -> StoreResult<()> {
    private_files::create_dir_all(folder).map_err(failed("make", folder))?;
    if fs::read_dir(folder).map_err(failed("make", folder))?.next().is_some() {
        return Err(StoreError::Exists(format!("a file in {}", folder.display())));
    }
    Ok(())
}

fn sync(path: &Path) -> StoreResult<()> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(failed("sync", path))
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
        _ => StoreError::File { what, path, source },
    }
}
