//! Returns free pages to the file system.

use std::path::Path;
use std::time::Duration;

use super::column::to_u64;
use super::writer::{Writer, WriterHandle};
use super::{connection, sqlite_error};
use crate::StoreResult;

/// Pages per slice.
const SLICE_PAGES: u64 = 2_000;
/// Pages per slice on a nearly full disk.
const MIN_SLICE_PAGES: u64 = 16;
/// How long to wait for readers when a checkpoint must make room; recording waits meanwhile.
const READER_TIMEOUT: Duration = Duration::from_millis(200);

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactReport {
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Moves free pages to the end of the file and truncates it, between transactions.
pub(super) async fn compact(writer: &WriterHandle, file: &Path) -> StoreResult<CompactReport> {
    let bytes_before = bytes_on_disk(file);
    while writer.run(free_slice).await? > 0 {}
    writer.run(checkpoint).await?;
    Ok(CompactReport { bytes_before, bytes_after: bytes_on_disk(file) })
}

/// Frees one slice; returns the number of free pages left.
///
/// Moved pages are written to the WAL first, so a slice is limited to what fits there; before the
/// next one, the writer checkpoints the WAL if the disk is low.
fn free_slice(writer: &mut Writer) -> StoreResult<i64> {
    let room = writer.free_bytes().map_or(u64::MAX, |space| space.free);
    let free = |db: &rusqlite::Connection| {
        let page: i64 = db.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let fitting = room / 4 / to_u64(page).max(1);
        let pages = fitting.clamp(MIN_SLICE_PAGES, SLICE_PAGES);
        // The pragma only works when its rows are stepped through.
        let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        db.query_row("PRAGMA freelist_count", [], |row| row.get(0))
    };
    free(&writer.db).map_err(|error| sqlite_error(&writer.file, error))
}

/// Like [`checkpoint`], with a short wait for readers.
pub(super) fn checkpoint_soon(writer: &mut Writer) -> StoreResult<()> {
    let patience =
        |time| writer.db.busy_timeout(time).map_err(|error| sqlite_error(&writer.file, error));
    patience(READER_TIMEOUT)?;
    let folded = writer.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    patience(connection::BUSY_TIMEOUT)?;
    folded.map_err(|error| sqlite_error(&writer.file, error))
}

/// Checkpoints and truncates the WAL, as far as readers allow.
pub(super) fn checkpoint(writer: &mut Writer) -> StoreResult<()> {
    let fold = writer.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    fold.map_err(|error| sqlite_error(&writer.file, error))
}

/// Bytes of a database and its WAL.
pub(super) fn bytes_on_disk(file: &Path) -> u64 {
    size(file) + log_bytes(file)
}

/// Bytes of a database's WAL.
pub(super) fn log_bytes(file: &Path) -> u64 {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    size(Path::new(&log))
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
