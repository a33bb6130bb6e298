//! Files and folders that only their owner can read: everything in a data folder and in a backup of
//! one.
//!
//! Traces, chats and encrypted secrets are private, whatever the process's umask allows. Everything
//! in a data folder is created through this module.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Read, write and enter, for the owner alone.
const FOLDER_MODE: u32 = 0o700;
/// Read and write, for the owner alone.
const FILE_MODE: u32 = 0o600;
/// What the owner's group and everyone else may do.
const OTHERS: u32 = 0o077;

/// Creates a folder and its missing parents for their owner alone.
///
/// # Errors
/// Passes on the I/O error.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

/// Creates a new folder for its owner alone.
///
/// # Errors
/// Passes on the I/O error, such as `AlreadyExists`.
pub fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER_MODE).create(path)
}

/// Creates a new file for its owner alone.
///
/// # Errors
/// Passes on the I/O error, such as `AlreadyExists`.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Replaces a file at once by one for its owner alone, or creates it. Whoever reads it finds the old
/// content or the new one, also after a crash.
///
/// # Errors
/// Passes on the I/O error; the old file is then still there.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = || -> io::Result<()> {
        // Left by a process of the same id that was killed.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = create_new(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    written().inspect_err(|_| drop(std::fs::remove_file(&new)))
}

/// Returns options that create files for their owner alone.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Creates an empty file if there is none, so that a library that opens it later by name does not
/// create one that others can read.
///
/// # Errors
/// Passes on the I/O error.
pub fn ensure_file(path: &Path) -> io::Result<()> {
    options().write(true).create(true).truncate(false).open(path).map(drop)
}

/// Returns whether anyone but the owner has permissions.
///
/// # Errors
/// Passes on the I/O error.
pub fn is_open_to_others(path: &Path) -> io::Result<bool> {
    Ok(path.symlink_metadata()?.permissions().mode() & OTHERS != 0)
}

/// Removes the permissions of everyone but the owner from a folder and its content, if the folder
/// has any. Returns whether it had.
///
/// The folder itself is changed last: if interrupted, the next call repeats it.
///
/// # Errors
/// Passes on the I/O error, above all if the folder belongs to another user.
pub fn close_to_others(folder: &Path) -> io::Result<bool> {
    if !is_open_to_others(folder)? {
        return Ok(false);
    }
    close_tree(folder)?;
    Ok(true)
}

/// Restricts a folder that an earlier version left open to others. A folder of another user, such
/// as a mounted volume, cannot be restricted: that is logged and does not prevent the start.
pub(crate) fn restrict_folder(folder: &Path) {
    match close_to_others(folder) {
        Ok(true) => {
            tracing::info!(folder = %folder.display(), "restricted the data folder to its owner");
        }
        Ok(false) => {}
        Err(error) => tracing::warn!(
            folder = %folder.display(), error.cause = %error,
            "other users can read the data folder, and its permissions cannot be changed"
        ),
    }
}

fn close_tree(path: &Path) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    // A link has no permissions of its own, and its target is not ours to change.
    if metadata.is_symlink() {
        return Ok(());
    }
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            close_tree(&entry?.path())?;
        }
    }
    let mode = metadata.permissions().mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_its_owners_alone() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a/b");
        create_dir_all(&folder).unwrap();
        let file = folder.join("c");
        create_new(&file).unwrap();
        ensure_file(&folder.join("d")).unwrap();
        ensure_file(&folder.join("d")).unwrap();
        let modes = [top.path().join("a"), folder.clone(), file, folder.join("d")];
        assert_eq!(modes.map(|path| mode(&path)), [0o700, 0o700, 0o600, 0o600]);
    }

    #[test]
    fn a_file_is_replaced_by_one_of_its_owner_alone() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("a.toml");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        replace(&file, b"new").unwrap();
        assert_eq!((std::fs::read(&file).unwrap(), mode(&file)), (b"new".to_vec(), 0o600));
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn an_open_folder_is_closed_with_all_that_is_in_it_and_nothing_beyond() {
        let top = tempfile::tempdir().unwrap();
        let (folder, beyond) = (top.path().join("data"), top.path().join("beyond"));
        std::fs::create_dir_all(folder.join("media")).unwrap();
        std::fs::write(&beyond, "").unwrap();
        std::os::unix::fs::symlink(&beyond, folder.join("link")).unwrap();
        for path in [&folder.join("media/a"), &folder.join("b")] {
            std::fs::write(path, "").unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::set_permissions(&beyond, Permissions::from_mode(0o644)).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert!(close_to_others(&folder).unwrap());
        let names = ["", "media", "media/a", "b"];
        assert!(names.iter().all(|name| mode(&folder.join(name)) == 0o700), "others are in");
        assert_eq!(mode(&beyond), 0o644);
        assert!(!close_to_others(&folder).unwrap(), "there is nothing left to do");
    }
}
