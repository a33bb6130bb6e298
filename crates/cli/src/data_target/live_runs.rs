//! A lock of the operating system for each run: it dies with its process, and says so to others.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Holds while a run lives.
#[derive(Debug)]
pub(super) struct Alive {
    _file: File,
    path: PathBuf,
}

impl Alive {
    /// Says that a run lives, until this is dropped or the process ends.
    pub(super) fn begin(state: &Path, run: &str) -> anyhow::Result<Self> {
        let path = place(state, run);
        let failed = || format!("cannot lock {}", path.display());
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(&path);
        let file = file.with_context(failed)?;
        file.try_lock().with_context(failed)?;
        Ok(Self { _file: file, path })
    }

    pub(super) fn is(state: &Path, run: &str) -> bool {
        let Ok(file) = File::open(place(state, run)) else { return false };
        file.try_lock().is_err()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // What stays behind is an empty file that nobody holds.
        drop(std::fs::remove_file(&self.path));
    }
}

fn place(state: &Path, run: &str) -> PathBuf {
    state.join(format!("{run}.run"))
}
