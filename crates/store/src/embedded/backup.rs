//! Copies of a data folder: online, each database as of one moment, media as they are.

use std::fs;
use std::path::{Path, PathBuf};

use super::connection::{self, Purpose};
use super::{
    CATALOG_FILE, CATALOG_MIGRATIONS, MEDIA_FOLDER, TELEMETRY_FILE, TELEMETRY_MIGRATIONS,
    sqlite_error,
};
use crate::media::{MediaFiles, hash_named, hash_of};
use crate::{StoreError, StoreResult, private_files};

/// What a backup or a restore copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Bytes written.
    pub bytes: u64,
    /// Files written.
    pub files: Vec<PathBuf>,
}

impl BackupReport {
    /// Copies media too.
    pub(super) fn with_media(mut self, files: &[PathBuf], to: &Path) -> StoreResult<Self> {
        if files.is_empty() {
            return Ok(self);
        }
        let folder = to.join(MEDIA_FOLDER);
        make_empty(&folder)?;
        for file in files {
            let target = folder.join(file.file_name().unwrap_or_default());
            let failed = |source| StoreError::File { what: "copy", path: file.clone(), source };
            self.bytes += fs::copy(file, &target).map_err(failed)?;
            sync(&target)?;
            self.files.push(target);
        }
        sync(&folder)?;
        sync(to)?;
        Ok(self)
    }
}

/// Copies databases into a new folder. Telemetry goes first: the catalog copied after it knows
/// every project that the telemetry mentions.
pub(super) fn backup(databases: &[PathBuf], to: &Path) -> StoreResult<BackupReport> {
    make_empty(to)?;
    let mut report = BackupReport { bytes: 0, files: Vec::new() };
    for database in databases {
        let name = database.file_name().unwrap_or_default();
        let target = to.join(name);
        let db = connection::open(database, Purpose::Read)?;
        let failed = |source| StoreError::File { what: "make", path: target.clone(), source };
        private_files::ensure_file(&target).map_err(failed)?;
        // One step from the first page to the last, on one snapshot.
        db.backup(rusqlite::MAIN_DB, &target, None::<fn(rusqlite::backup::Progress)>)
            .map_err(|error| sqlite_error(&target, error))?;
        sync(&target)?;
        report.bytes += fs::metadata(&target).map_or(0, |metadata| metadata.len());
        report.files.push(target);
    }
    sync(to)?;
    Ok(report)
}

/// Puts a backup where there is no data folder yet, after checking that it is whole.
///
/// # Errors
/// Fails if the backup is damaged, incomplete or newer than this binary, or if the target is not
/// empty.
pub fn restore(from: &Path, to: &Path) -> StoreResult<BackupReport> {
    let sources = [TELEMETRY_FILE, CATALOG_FILE].map(|name| from.join(name));
    let known = [TELEMETRY_MIGRATIONS.len(), CATALOG_MIGRATIONS.len()];
    for (source, known) in sources.iter().zip(known) {
        if !source.is_file() {
            return Err(StoreError::NotFound(format!("{} (is this a backup?)", source.display())));
        }
        check(source, u32::try_from(known).unwrap_or(u32::MAX))?;
    }
    let media = MediaFiles::new(from.join(MEDIA_FOLDER)).list()?;
    media.iter().try_for_each(|file| check_media(file))?;
    backup(&sources, to)?.with_media(&media, to)
}

/// A media file is whole if it still hashes to its name.
fn check_media(file: &Path) -> StoreResult<()> {
    let is_whole = hash_named(file).as_deref() == Some(&hash_of(file)?);
    let what = || "its bytes do not hash to its name".to_owned();
    is_whole
        .then_some(())
        .ok_or_else(|| StoreError::Corrupt { file: file.to_owned(), what: what() })
}

fn check(file: &Path, known: u32) -> StoreResult<()> {
    let failed = |error| sqlite_error(file, error);
    let db = connection::open(file, Purpose::Read)?;
    let found = connection::version(&db).map_err(failed)?;
    if found > known {
        return Err(StoreError::TooNew { file: file.to_owned(), found, known });
    }
    let what: String =
        db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if what != "ok" {
        return Err(StoreError::Corrupt { file: file.to_owned(), what });
    }
    Ok(())
}

fn make_empty(folder: &Path) -> StoreResult<()> {
    let failed = |source| StoreError::File { what: "make", path: folder.to_owned(), source };
    private_files::create_dir_all(folder).map_err(failed)?;
    if fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(StoreError::Exists(format!("a file in {}", folder.display())));
    }
    Ok(())
}

fn sync(path: &Path) -> StoreResult<()> {
    let failed = |source| StoreError::File { what: "sync", path: path.to_owned(), source };
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(failed)
}
