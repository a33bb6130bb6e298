//! Gives freed pages back to the file system.

use std::path::Path;

use super::sqlite_error;
use super::writer::{Writer, WriterHandle};
use crate::StoreResult;

/// Pages moved by one slice.
const SLICE_PAGES: u32 = 2_000;

/// What compaction gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactReport {
    /// Bytes on disk before.
    pub bytes_before: u64,
    /// Bytes on disk after.
    pub bytes_after: u64,
}

/// Moves free pages to the end of the file and cuts them off, between transactions.
pub(super) async fn compact(writer: &WriterHandle, file: &Path) -> StoreResult<CompactReport> {
    let bytes_before = bytes_on_disk(file);
    while writer.run(free_slice).await? > 0 {}
    writer.run(checkpoint).await?;
    Ok(CompactReport { bytes_before, bytes_after: bytes_on_disk(file) })
}

/// Frees one slice; says how many free pages are left.
fn free_slice(writer: &mut Writer) -> StoreResult<i64> {
    let free = |db: &rusqlite::Connection| {
        // The pragma works by being stepped through.
        let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({SLICE_PAGES})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        db.query_row("PRAGMA freelist_count", [], |row| row.get(0))
    };
    free(&writer.db).map_err(|error| sqlite_error(&writer.file, error))
}

/// Folds the log into the database and empties it, as far as readers allow.
pub(super) fn checkpoint(writer: &mut Writer) -> StoreResult<()> {
    let fold = writer.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    fold.map_err(|error| sqlite_error(&writer.file, error))
}

/// The bytes of a database and its log.
pub(super) fn bytes_on_disk(file: &Path) -> u64 {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    size(file) + size(Path::new(&log))
}
