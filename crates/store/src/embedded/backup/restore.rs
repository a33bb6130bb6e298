//! Restores a backup to a data folder, after verification.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::manifest::{CopyMode, MANIFEST_FILE, Manifest, ManifestFile, copy};
use super::tree::{self, BackupFile, SECRET_FILES, is_backup_path};
use super::{BackupReport, failed, make_empty, sync};
use crate::disk_reserve::DiskReserve;
use crate::embedded::connection::{self, Purpose};
use crate::embedded::{
    CATALOG_FILE, CATALOG_MIGRATIONS, MEDIA_FOLDER, TELEMETRY_FILE, TELEMETRY_MIGRATIONS,
    sqlite_error,
};
use crate::media::{MediaFiles, hash_named};
use crate::secrets::SECRET_FILE;
use crate::{StoreError, StoreResult};

/// Staging folder of a restore, until all of it is copied and verified.
const STAGING_FOLDER: &str = "restore.partial";

/// Whether a backup may lack a manifest, as those of earlier versions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Every file must match the manifest.
    Manifest,
    /// Files are taken as they are; only databases and media are verified.
    None,
}

/// Restores a backup to a new data folder, after verification.
///
/// # Errors
/// Fails if the backup is damaged, incomplete, foreign or newer than this binary, or if the target
/// is not empty. The target is then unchanged.
pub fn restore(from: &Path, to: &Path, proof: Proof) -> StoreResult<BackupReport> {
    for name in [TELEMETRY_FILE, CATALOG_FILE] {
        let path = from.join(name);
        if !path.is_file() {
            return Err(StoreError::NotFound(format!("{} (is this a backup?)", path.display())));
        }
    }
    let manifest = Manifest::read(from)?;
    let files = match (&manifest, proof) {
        (Some(manifest), _) => listed_files(manifest)?,
        (None, Proof::None) => found(from)?,
        (None, Proof::Manifest) => return Err(no_manifest(from)),
    };
    let is_new = !to.exists();
    let stage = to.join(STAGING_FOLDER);
    if stage.exists() {
        // An earlier restore was killed.
        fs::remove_dir_all(&stage).map_err(failed("remove", &stage))?;
    }
    make_empty(to)?;
    let staged = fill(from, &stage, &files).and_then(|bytes| {
        check(&stage)?;
        install(&stage, to)?;
        Ok(bytes)
    });
    if staged.is_err() {
        drop(fs::remove_dir_all(if is_new { to } else { &stage }));
    }
    let bytes = staged?;
    let is_vouched = |name: &str| files.iter().any(|file| file.path == name);
    let mut left_out = manifest.map(|manifest| manifest.left_out).unwrap_or_default();
    left_out.retain(|name| !is_vouched(name));
    let files = files.iter().map(|file| to.join(&file.path)).collect();
    Ok(BackupReport { bytes, files, left_out })
}

fn no_manifest(from: &Path) -> StoreError {
    StoreError::Backup(format!(
        "{} has no {MANIFEST_FILE}: it was made by an earlier ratchet, or is not all there, and \
         its files cannot be checked; to take them as they are, add --without-manifest",
        from.display()
    ))
}

/// The files listed in a manifest, if they form a backup.
fn listed_files(manifest: &Manifest) -> StoreResult<Vec<ManifestFile>> {
    let odd = |why: String| Err(StoreError::Backup(format!("{MANIFEST_FILE} {why}")));
    for file in &manifest.files {
        if !is_backup_path(&file.path) || file.path == MANIFEST_FILE || file.path == STAGING_FOLDER
        {
            return odd(format!("names {}, which cannot be part of a backup", file.path));
        }
    }
    for name in [TELEMETRY_FILE, CATALOG_FILE] {
        if !manifest.files.iter().any(|file| file.path == name) {
            return odd(format!("does not name {name}"));
        }
    }
    Ok(manifest.files.clone())
}

/// The files of a backup without a manifest. Media are verified by their hash.
fn found(from: &Path) -> StoreResult<Vec<ManifestFile>> {
    let named = |path: String, sha256: String| ManifestFile { path, bytes: 0, sha256 };
    let wal = [TELEMETRY_FILE, CATALOG_FILE].map(|name| format!("{name}-wal"));
    let top = [TELEMETRY_FILE, CATALOG_FILE].into_iter().chain(SECRET_FILES);
    let top = top.map(str::to_owned).chain(wal);
    let mut files: Vec<_> = top.filter(|name| from.join(name).is_file()).collect();
    files.extend(tree::list(from)?.files.into_iter().map(|BackupFile { name, .. }| name));
    let mut files: Vec<_> = files.into_iter().map(|path| named(path, String::new())).collect();
    for media in MediaFiles::new(from.join(MEDIA_FOLDER), DiskReserve::Bytes(0)).list()? {
        let hash = hash_named(&media).unwrap_or_default();
        files.push(named(format!("{MEDIA_FOLDER}/{hash}"), hash));
    }
    Ok(files)
}

/// Copies all files, each of which must match its manifest entry.
fn fill(from: &Path, stage: &Path, files: &[ManifestFile]) -> StoreResult<u64> {
    let mut bytes = 0;
    for expected in files {
        let source = from.join(&expected.path);
        if !source.is_file() {
            return Err(StoreError::Backup(format!(
                "{} is missing: {MANIFEST_FILE} names it; copy the backup again",
                source.display()
            )));
        }
        let mode = mode_of(&source)?;
        let copied = copy(&source, &stage.join(&expected.path), &expected.path, mode)?;
        let is_said = !expected.sha256.is_empty();
        if is_said && copied.sha256 != expected.sha256 {
            return Err(StoreError::Backup(format!(
                "{} is damaged: its SHA-256 is {}, not {} as when the backup was made; use \
                 another copy of the backup",
                source.display(),
                copied.sha256,
                expected.sha256
            )));
        }
        bytes += copied.bytes;
    }
    Ok(bytes)
}

fn mode_of(file: &Path) -> StoreResult<CopyMode> {
    use std::os::unix::fs::PermissionsExt;
    let about = fs::metadata(file).map_err(failed("read", file))?;
    // A backup that was copied may have any permissions; only skills contain programs.
    let is_program = about.permissions().mode() & 0o100 != 0
        && file.file_name().is_some_and(|name| name != SECRET_FILE);
    Ok(if is_program { CopyMode::Program } else { CopyMode::Plain })
}

/// Checks that the copied databases are intact, ours, and of one folder.
fn check(stage: &Path) -> StoreResult<()> {
    let databases = [
        (TELEMETRY_FILE, TELEMETRY_MIGRATIONS.len(), ["project", "trace", "observation"]),
        (CATALOG_FILE, CATALOG_MIGRATIONS.len(), ["project", "api_key", "person"]),
    ];
    let mut open = Vec::new();
    for (name, known, tables) in databases {
        let file = stage.join(name);
        let known = u32::try_from(known).unwrap_or(u32::MAX);
        open.push(check_database(&file, known, tables)?);
    }
    let [telemetry, catalog] = open.as_slice() else { return Ok(()) };
    let unknown_projects = unknown_projects(telemetry, catalog);
    let unknown_projects =
        unknown_projects.map_err(|error| sqlite_error(&stage.join(CATALOG_FILE), error))?;
    match unknown_projects.first() {
        None => Ok(()),
        Some(project) => Err(StoreError::Backup(format!(
            "{CATALOG_FILE} does not know the project {project}, whose records {TELEMETRY_FILE} \
             holds: it is empty or of another data folder; use another copy of the backup"
        ))),
    }
}

fn check_database(file: &Path, known: u32, tables: [&str; 3]) -> StoreResult<Connection> {
    let failed = |error| sqlite_error(file, error);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let db = connection::open(file, Purpose::Read)?;
    let version = connection::version(&db).map_err(failed)?;
    if version > known {
        return Err(StoreError::TooNew { file: file.to_owned(), found: version, known });
    }
    let what: String =
        db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if what != "ok" {
        return Err(StoreError::Backup(format!(
            "{name} is damaged: {what}; use another copy of the backup"
        )));
    }
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (?, ?, ?)";
    let found: u32 = db.query_row(sql, tables, |row| row.get(0)).map_err(failed)?;
    if version == 0 || (found as usize) < tables.len() {
        return Err(StoreError::Backup(format!(
            "{name} is empty or not ratchet's; use another copy of the backup"
        )));
    }
    Ok(db)
}

/// Projects in the telemetry that are missing in the catalog.
pub(in crate::embedded) fn unknown_projects(
    telemetry: &Connection,
    catalog: &Connection,
) -> rusqlite::Result<Vec<String>> {
    let ids = |db: &Connection, sql: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = db.prepare(sql)?;
        let ids = statement.query_map([], |row| row.get(0))?;
        ids.collect()
    };
    // Projects marked for deletion have an id that no project can have.
    let recorded = "SELECT id FROM project WHERE traces > 0 AND instr(id, '#') = 0 ORDER BY id";
    let mut known = ids(catalog, "SELECT id FROM project")?;
    let is_younger: bool = catalog.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'deleted_project')",
        [],
        |row| row.get(0),
    )?;
    if is_younger {
        known.extend(ids(catalog, "SELECT id FROM deleted_project")?);
    }
    let mut recorded = ids(telemetry, recorded)?;
    recorded.retain(|id| !known.contains(id));
    Ok(recorded)
}

/// Moves everything into place; the catalog last, because a folder without it is not a data folder.
fn install(stage: &Path, to: &Path) -> StoreResult<()> {
    let entries = fs::read_dir(stage).map_err(failed("read", stage))?;
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in entries {
        names.push(entry.map_err(failed("read", stage))?.path());
    }
    let is_catalog = |path: &PathBuf| path.file_name().is_some_and(|name| name == CATALOG_FILE);
    names.sort_by_key(is_catalog);
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Left by reading the copies; nothing was written.
        if name.ends_with("-shm") || name.ends_with("-wal") && is_bare(&path) {
            continue;
        }
        let target = to.join(&name);
        fs::rename(&path, &target).map_err(failed("move", &target))?;
    }
    fs::remove_dir_all(stage).map_err(failed("remove", stage))?;
    sync(to)
}

fn is_bare(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.len() == 0)
}
