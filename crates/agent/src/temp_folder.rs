//! Temporary folders of calls of the `claude` program.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// A temporary folder of one call with an empty working directory inside, deleted on drop.
#[derive(Debug)]
pub struct TempFolder {
    path: PathBuf,
    work: PathBuf,
}

impl TempFolder {
    /// Creates one that other users cannot read.
    ///
    /// # Errors
    /// Fails if the system's temporary folder cannot be written to.
    pub fn make() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("ratchet-claude-{}", Uuid::new_v4()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        let work = path.join("empty");
        let folder = Self { path, work };
        builder.create(&folder.work)?;
        Ok(folder)
    }

    /// Returns the working directory.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Returns a path beside the working directory.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file beside the working directory.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.beside(name);
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Leftovers are in the system's temporary folder.
        drop(fs::remove_dir_all(&self.path));
    }
}
