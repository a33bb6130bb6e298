//! How much room the disk has, and how much of it recording leaves alone.
//!
//! To delete, to compact and to start again all take room before they give any. A disk that
//! recording has filled to the last byte would allow none of them, so recording stops earlier.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Store;
use crate::{StoreError, StoreResult, private_files};

/// What is kept free at most, if nobody says otherwise.
const USUAL_BYTES: u64 = 256 * 1024 * 1024;
/// On a small disk, this part of it.
const USUAL_SHARE: u64 = 8;

/// How much of the disk is kept free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskReserve {
    /// 256 MB, or an eighth of a disk that is smaller than 2 GB.
    #[default]
    Usual,
    /// So many bytes.
    Bytes(u64),
}

impl DiskReserve {
    /// What the disk of a folder has left; `None` where the file system does not say.
    pub fn look(self, folder: &Path) -> Option<DiskSpace> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let whole = disk.f_blocks.saturating_mul(disk.f_frsize);
        Some(DiskSpace { free, reserve: self.of(whole) })
    }

    fn of(self, disk: u64) -> u64 {
        match self {
            Self::Usual => USUAL_BYTES.min(disk / USUAL_SHARE),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// What the disk of a data folder has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes of them that recording leaves alone.
    pub reserve: u64,
}

impl DiskSpace {
    /// Whether recording has stopped.
    pub fn is_low(self) -> bool {
        self.free < self.reserve
    }

    /// Refuses what would go into the reserve.
    ///
    /// # Errors
    /// Says how much is free and what to do.
    pub fn check(self, wanted: u64) -> StoreResult<()> {
        let Self { free, reserve } = self;
        if free.saturating_sub(wanted) < reserve {
            return Err(StoreError::DiskLow { free, reserve });
        }
        Ok(())
    }
}

/// Looks after the room on the disk of a folder.
#[derive(Clone, Debug)]
pub(crate) struct DiskMonitor {
    folder: Arc<Path>,
    reserve: DiskReserve,
}

impl DiskMonitor {
    /// The room on the disk of a folder.
    pub(crate) fn new(folder: PathBuf, reserve: DiskReserve) -> Self {
        Self { folder: folder.into(), reserve }
    }

    /// What is left now; `None` where the file system does not say. Takes about a microsecond.
    pub(crate) fn look(&self) -> Option<DiskSpace> {
        self.reserve.look(&self.folder)
    }

    /// Refuses to write so many bytes if that would go into the reserve.
    pub(crate) fn check(&self, wanted: u64) -> StoreResult<()> {
        self.look().map_or(Ok(()), |space| space.check(wanted))
    }
}

impl Store {
    /// What the disk has left; `None` where the file system does not say.
    pub fn space(&self) -> Option<DiskSpace> {
        self.room.look()
    }

    /// Says whether there is room to record.
    ///
    /// # Errors
    /// Fails if the disk is full up to its reserve, or what came last did not fit.
    pub fn check_room(&self) -> StoreResult<()> {
        let wanted = self.engine.shared.writer.counters.refused_bytes.load(Ordering::Relaxed);
        self.room.check(wanted)
    }
}

/// The file that stands for room to open a folder in.
const BALLAST_FILE: &str = "ballast";
/// How large it is at most: to open a folder takes much less.
const BALLAST_BYTES: u64 = 4 * 1024 * 1024;
/// On a small disk, this part of it.
const BALLAST_SHARE: u64 = 32;

/// Room that nobody else can take: others may fill the disk to its last byte, and opening a folder
/// takes a few pages. The file is thrown out then, and made again when there is room.
#[derive(Debug)]
pub(super) struct ReserveFile<'a> {
    folder: &'a Path,
    reserve: DiskReserve,
}

impl<'a> ReserveFile<'a> {
    /// The ballast of a folder.
    pub(super) fn new(folder: &'a Path, reserve: DiskReserve) -> Self {
        Self { folder, reserve }
    }

    /// Makes room to open the folder, if there is none.
    pub(super) fn throw_out_if_full(&self) {
        let file = self.folder.join(BALLAST_FILE);
        let is_full = self
            .reserve
            .look(self.folder)
            .is_some_and(|space| space.free < BALLAST_BYTES.min(space.reserve));
        if is_full && std::fs::remove_file(file).is_ok() {
            tracing::warn!(
                "the disk is full; threw the file {BALLAST_FILE} out to open the folder"
            );
        }
    }

    /// Takes ballast in, where there is room for it and none yet.
    pub(super) fn take_in(&self) {
        let file = self.folder.join(BALLAST_FILE);
        let Ok(disk) = rustix::fs::statvfs(self.folder) else { return };
        let whole = disk.f_blocks.saturating_mul(disk.f_frsize);
        let bytes = BALLAST_BYTES.min(whole / BALLAST_SHARE);
        let has_room = self
            .reserve
            .look(self.folder)
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
        assert_eq!(DiskReserve::Usual.of(1 << 40), USUAL_BYTES);
        assert_eq!(DiskReserve::Bytes(5).of(1 << 40), 5);
    }

    #[test]
    fn what_would_go_into_the_reserve_is_refused() {
        let space = DiskSpace { free: 100, reserve: 60 };
        assert!(space.check(40).is_ok() && !space.is_low());
        let told = space.check(41).unwrap_err().to_string();
        assert!(told.contains("100 bytes") && told.contains("ratchet compact"), "{told}");
        assert!(DiskSpace { free: 59, reserve: 60 }.is_low());
    }
}
