//! A lock of the operating system for each run: it ends with its process, which others can see.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Shows that a run is alive, until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct LiveRun {
    _file: File,
    path: PathBuf,
}

impl LiveRun {
    pub(super) fn begin(state: &Path, run: &str) -> io::Result<Self> {
        let path = lock_file(state, run);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(&path)?;
        file.try_lock()?;
        Ok(Self { _file: file, path })
    }

    pub(super) fn is_alive(state: &Path, run: &str) -> bool {
        let Ok(file) = File::open(lock_file(state, run)) else { return false };
        file.try_lock().is_err()
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        // A file that stays behind is empty and unlocked.
        drop(std::fs::remove_file(&self.path));
    }
}

pub(super) fn lock_file(state: &Path, run: &str) -> PathBuf {
    state.join(format!("{run}.run"))
}
