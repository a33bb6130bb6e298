use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// A temporary folder of one request with an empty working directory inside, deleted on drop.
#[derive(Debug)]
pub(super) struct TempFolder {
    path: PathBuf,
    work: PathBuf,
}

impl TempFolder {
    /// Creates one that other users cannot read.
    pub(super) fn make() -> io::Result<Self> {
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

    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// Writes a file beside the working directory.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
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
