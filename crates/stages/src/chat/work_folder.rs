use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ratchet_core::chat::workspace::{
    AllowedWorkspace, BoundaryError, Roots, WorkspaceSource, overlap,
};

use super::confined_path::{ConfinedFolder, ConfinedPathError};

/// The folder an agent works in: under an allowed root, and held by a handle, so that it stays the
/// folder that was looked at.
#[derive(Debug)]
pub struct WorkFolder {
    admitted: AllowedWorkspace,
    files: ConfinedFolder,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Workspace roots.
    pub roots: Roots,
    /// Source of the workspace path of chats without a recorded one.
    pub workspace_source: WorkspaceSource,
    /// The data folder: forbidden, with all folders inside and around it.
    pub data: Option<PathBuf>,
}

impl Boundary {
    /// Opens a folder by its path.
    ///
    /// # Errors
    /// Fails if the folder is not allowed or does not exist.
    pub fn open(&self, named: &Path, by: WorkspaceSource) -> Result<WorkFolder, WorkFolderError> {
        let work = WorkFolder::open(named, &self.roots, by)?;
        match &self.data {
            Some(data) if touches(&work, data)? => Err(BoundaryError::DataFolder.into()),
            _ => Ok(work),
        }
    }

    /// Opens a folder again by the canonical path that it had.
    ///
    /// # Errors
    /// Fails if the path leads elsewhere now or does not exist, or if it is no longer allowed.
    pub fn reopen(
        &self,
        canonical: &Path,
        by: WorkspaceSource,
    ) -> Result<WorkFolder, WorkFolderError> {
        let work = self.open(canonical, by)?;
        match work.path() == canonical {
            true => Ok(work),
            false => Err(WorkFolderError::Moved(canonical.display().to_string())),
        }
    }

    /// Who named the folder of a chat, given whether it is noted to be its own root.
    pub fn workspace_source(&self, own_root: bool) -> WorkspaceSource {
        if own_root { WorkspaceSource::OwnMachine } else { self.workspace_source }
    }
}

/// Whether a workspace is the data folder, a part of it or a folder around it: by their paths, and
/// by what the system knows them by, since a mount gives one folder two paths.
fn touches(work: &WorkFolder, data: &Path) -> Result<bool, WorkFolderError> {
    // A data folder that is not there yet has a place all the same.
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let path = work.path();
    if overlap(&path, &data) {
        return Ok(true);
    }
    let identity = |folder: &Path| folder.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let own = Some(work.files.identity()?);
    let is_around = data.ancestors().any(|folder| identity(folder) == own);
    let of_data = identity(&data);
    let is_inside = of_data.is_some() && path.ancestors().any(|outer| identity(outer) == of_data);
    Ok(is_around || is_inside)
}

/// Why an agent cannot work in a folder.
#[derive(Debug, thiserror::Error)]
pub enum WorkFolderError {
    /// It may not.
    #[error(transparent)]
    Boundary(#[from] BoundaryError),
    /// It is not there, or is no folder.
    #[error("the workspace {path}: {cause}")]
    Missing { path: String, cause: io::Error },
    /// It can no longer be reached as it was.
    #[error("the workspace cannot be opened: {0}")]
    ConfinedFolder(#[from] ConfinedPathError),
    /// Another folder has taken its place.
    #[error("the workspace {0} is not the folder any more that it was")]
    Moved(String),
}

impl WorkFolder {
    /// Opens a folder by its path, if it is under an allowed root.
    ///
    /// Symbolic links and `..` in the name are resolved first, and what comes out is what counts.
    /// It is then opened component by component from the root without following links: a
    /// link created in between is an error.
    ///
    /// # Errors
    /// It is outside of all roots, not there, or changed while it was looked at.
    pub(super) fn open(
        named: &Path,
        roots: &Roots,
        workspace_source: WorkspaceSource,
    ) -> Result<Self, WorkFolderError> {
        if roots.is_empty() && workspace_source == WorkspaceSource::Network {
            return Err(BoundaryError::NoRoots.into());
        }
        let found = std::fs::canonicalize(named);
        let canonical = match found {
            Ok(path) => path,
            // Outside of the roots, the existence of files is not revealed.
            Err(_) if !roots.is_empty() && !is_missing_inside(named, &canonical_roots(roots)?) => {
                return Err(BoundaryError::Outside.into());
            }
            Err(cause) => {
                return Err(WorkFolderError::Missing { path: named.display().to_string(), cause });
            }
        };
        let admitted = canonical_roots(roots)?.admit(&canonical, workspace_source)?;
        Self::hold(admitted)
    }

    fn hold(admitted: AllowedWorkspace) -> Result<Self, WorkFolderError> {
        let files = ConfinedFolder::open(admitted.root())?.folder(admitted.inside())?;
        Ok(Self { admitted, files })
    }

    /// Its canonical path, to be shown and to be remembered.
    pub fn path(&self) -> PathBuf {
        self.admitted.path()
    }

    pub fn files(&self) -> &ConfinedFolder {
        &self.files
    }

    /// Checks that its path still leads to it; needed before each use of the path.
    ///
    /// # Errors
    /// The path leads elsewhere now, or nowhere.
    pub fn check(&self) -> Result<(), WorkFolderError> {
        let now = Self::hold(self.admitted.clone())?;
        match now.files.identity()? == self.files.identity()? {
            true => Ok(()),
            false => Err(WorkFolderError::Moved(self.path().display().to_string())),
        }
    }

    /// Where a process is to be started so that it is in this folder, whatever its path means by
    /// then. Good as long as this value lives, and only for processes that this one starts.
    pub fn start_path(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::{AsFd as _, AsRawFd as _};
            let handle = self.files.as_fd().as_raw_fd();
            PathBuf::from(format!("/proc/self/fd/{handle}"))
        }
        #[cfg(not(target_os = "linux"))]
        self.path()
    }
}

/// Whether what is not there is not there under a root: the last folder on the way is, and no link
/// leads on from it.
fn is_missing_inside(named: &Path, roots: &Roots) -> bool {
    let found = |part: &Path| Some((part.to_owned(), part.canonicalize().ok()?));
    let Some((part, folder)) = named.ancestors().skip(1).find_map(found) else { return false };
    let rest = named.strip_prefix(part).ok();
    let next = rest.and_then(|rest| rest.components().next());
    let is_dead_link = next.is_some_and(|next| folder.join(next).symlink_metadata().is_ok());
    !is_dead_link && roots.iter().any(|root| folder.starts_with(root))
}

/// The roots with their links resolved. One that is not there holds no workspace.
fn canonical_roots(roots: &Roots) -> Result<Roots, BoundaryError> {
    if roots.is_empty() {
        return Ok(Roots::default());
    }
    let there: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    // Were none of them there, the empty list would mean that any folder will do.
    if there.is_empty() {
        return Err(BoundaryError::Outside);
    }
    Roots::new(there)
}

#[cfg(test)]
mod tests;
