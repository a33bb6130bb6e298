//! The lock of a data folder. It is held by the operating system, so it is released with the
//! process.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::{StoreError, StoreResult, private_files};

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or fails with the name of its holder.
    pub(super) fn take(folder: &Path, holder: &str) -> StoreResult<Self> {
        let path = folder.join("lock");
        let failed = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(folder.to_owned())
            }
            _ => StoreError::File { what: "lock", path: path.clone(), source },
        };
        let mut options = private_files::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder).map_err(failed)?;
                let holder = holder.trim().to_owned();
                return Err(StoreError::Locked { folder: folder.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        match file.write_all(holder.as_bytes()) {
            // Without a name, the error of the next process is less specific; the lock is held all
            // the same.
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {}
            written => written.map_err(failed)?,
        }
        Ok(Self { _file: file })
    }
}
