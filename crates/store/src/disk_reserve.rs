//! Free disk space, and the reserve that recording leaves.
//!
//! Deleting, compacting and starting need space before they free any. On a disk that recording has
//! filled completely none of them would work, so recording stops earlier.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{StoreError, StoreResult, private_files};

/// Default reserve.
const DEFAULT_BYTES: u64 = 256 * 1024 * 1024;
/// Default reserve on a small disk, as a fraction of its size.
const DEFAULT_SHARE: u64 = 8;

/// Disk space that recording leaves free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskReserve {
    /// 256 MB, or an eighth of a disk smaller than 2 GB.
    #[default]
    Usual,
    Bytes(u64),
}

impl DiskReserve {
    /// Free space on a folder's disk; `None` if the file system does not report it.
    pub fn free_space(self, folder: &Path) -> Option<DiskSpace> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let whole = disk.f_blocks.saturating_mul(disk.f_frsize);
        Some(DiskSpace { free, reserve: self.of(whole) })
    }

    fn of(self, disk: u64) -> u64 {
        match self {
            Self::Usual => DEFAULT_BYTES.min(disk / DEFAULT_SHARE),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Free space on the disk of a data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    pub free: u64,
    /// Bytes of `free` that recording leaves.
    pub reserve: u64,
}

impl DiskSpace {
    /// Whether recording has stopped.
    pub fn is_low(self) -> bool {
        self.free < self.reserve
    }

    /// Rejects a write that would use the reserve.
    ///
    /// # Errors
    /// The error reports the free space and what to do.
    pub fn check(self, wanted: u64) -> StoreResult<()> {
        let Self { free, reserve } = self;
        if free.saturating_sub(wanted) < reserve {
            return Err(StoreError::DiskLow { free, reserve });
        }
        Ok(())
    }
}

/// Monitors free disk space.
#[derive(Clone, Debug)]
pub(crate) struct DiskMonitor {
    folder: Arc<Path>,
    reserve: DiskReserve,
}

impl DiskMonitor {
    pub(crate) fn new(folder: PathBuf, reserve: DiskReserve) -> Self {
        Self { folder: folder.into(), reserve }
    }

    /// Current free space; `None` if the file system does not report it. Takes about a microsecond.
    pub(crate) fn free_space(&self) -> Option<DiskSpace> {
        self.reserve.free_space(&self.folder)
    }

    /// Rejects a write that would use the reserve.
    pub(crate) fn check(&self, wanted: u64) -> StoreResult<()> {
        self.free_space().map_or(Ok(()), |space| space.check(wanted))
    }
}

/// A file that reserves the space for opening a folder.
const BALLAST_FILE: &str = "ballast";
/// Its maximum size: opening a folder takes much less.
const BALLAST_BYTES: u64 = 4 * 1024 * 1024;
/// Its maximum size on a small disk, as a fraction of the disk.
const BALLAST_SHARE: u64 = 32;

/// A file that reserves disk space: other programs may fill the disk completely, and opening a
/// folder needs a few pages. It is deleted then, and created again when there is space.
#[derive(Debug)]
pub(crate) struct ReserveFile<'a> {
    folder: &'a Path,
    reserve: DiskReserve,
}

impl<'a> ReserveFile<'a> {
    pub(crate) fn new(folder: &'a Path, reserve: DiskReserve) -> Self {
        Self { folder, reserve }
    }

    /// Deletes the file if the disk is full, so that the folder can be opened.
    pub(crate) fn delete_if_full(&self) {
        let file = self.folder.join(BALLAST_FILE);
        let is_full = self
            .reserve
            .free_space(self.folder)
            .is_some_and(|space| space.free < BALLAST_BYTES.min(space.reserve));
        if is_full && std::fs::remove_file(file).is_ok() {
            tracing::warn!("the disk is full; deleted the file {BALLAST_FILE} to open the folder");
        }
    }

    /// Creates the file if it is missing and there is space.
    pub(crate) fn create_if_missing(&self) {
        let file = self.folder.join(BALLAST_FILE);
        let Ok(disk) = rustix::fs::statvfs(self.folder) else { return };
        let whole = disk.f_blocks.saturating_mul(disk.f_frsize);
        let bytes = BALLAST_BYTES.min(whole / BALLAST_SHARE);
        let has_room = self
            .reserve
            .free_space(self.folder)
            .is_some_and(|space| space.check(bytes.saturating_mul(2)).is_ok());
        if !has_room || file.exists() {
            return;
        }
        let zeros = vec![0; usize::try_from(bytes).unwrap_or(0)];
        let written = private_files::create_new(&file).and_then(|mut file| file.write_all(&zeros));
        if let Err(error) = written {
            tracing::warn!(error.cause = %error, "cannot write the file {BALLAST_FILE}");
            drop(std::fs::remove_file(&file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_keeps_an_eighth_and_a_large_one_a_fixed_size() {
        assert_eq!(DiskReserve::Usual.of(8_000_000), 1_000_000);
        assert_eq!(DiskReserve::Usual.of(1 << 40), DEFAULT_BYTES);
        assert_eq!(DiskReserve::Bytes(5).of(1 << 40), 5);
    }

    #[test]
    fn what_would_go_into_the_reserve_is_refused() {
        let space = DiskSpace { free: 100, reserve: 60 };
        assert!(space.check(40).is_ok() && !space.is_low());
        let error = space.check(41).unwrap_err().to_string();
        assert!(error.contains("100 bytes") && error.contains("ratchet compact"), "{error}");
        assert!(DiskSpace { free: 59, reserve: 60 }.is_low());
    }
}
