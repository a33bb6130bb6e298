use std::path::{Path, PathBuf};

use anyhow::Context;

/// A folder for measurements, deleted at the end unless it should stay.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    cleanup: Cleanup,
}

/// What happens to measured folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cleanup {
    Removed,
    /// They stay, for inspection.
    Kept,
}

impl Scratch {
    /// Creates a folder, in the system's temporary folder by default. Results depend on its disk.
    ///
    /// # Errors
    /// Fails if it cannot be created.
    pub(crate) fn new(within: Option<&Path>, cleanup: Cleanup) -> anyhow::Result<Self> {
        let place = within.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = place.join(format!("ratchet-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path, cleanup })
    }

    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Deletes a folder's content.
    ///
    /// # Errors
    /// Fails if it cannot be deleted.
    pub(crate) fn clear(&self, name: &str) -> anyhow::Result<()> {
        if self.cleanup == Cleanup::Kept {
            return Ok(());
        }
        std::fs::remove_dir_all(self.place(name)).with_context(|| format!("cannot remove {name}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.cleanup == Cleanup::Kept {
            eprintln!("ratchet-bench: kept {}", self.path.display());
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            eprintln!("ratchet-bench: cannot remove {}: {error}", self.path.display());
        }
    }
}
