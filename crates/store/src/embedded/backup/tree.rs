//! Selects the files of a data folder that are backed up besides databases and media.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::failed;
use super::manifest::CopyMode;
use crate::StoreResult;
use crate::embedded::MEDIA_FOLDER;

/// Folders that are copied whole: chat folders (an agent resumes from its transcript), weekly
/// reports, what the offline judge has learned, and the user's own texts.
const FOLDERS: [&str; 7] =
    ["chats", "offline", "prices", "prompts", "reports", "rubrics", "skills"];
/// Files with plain-text secrets. They are copied only with the server's encryption key.
pub(super) const SECRET_FILES: [&str; 3] =
    [crate::secrets::SECRET_FILE, "ratchet.toml", "mcp.json"];
/// The agent's own login: never copied, because it gives access to more than this server.
const SIGN_IN_FILE: &str = ".credentials.json";
/// Maximum folder depth.
const DEPTH: usize = 32;
/// Maximum number of omitted files that are listed by name.
const MAX_LISTED: usize = 100;

/// A file to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFile {
    pub path: PathBuf,
    /// Path in the backup.
    pub name: String,
    /// Whether it is executable.
    pub is_program: bool,
}

impl BackupFile {
    pub(super) fn mode(&self) -> CopyMode {
        if self.is_program { CopyMode::Program } else { CopyMode::Plain }
    }
}

/// Files that a backup contains, and those it omits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BackupTree {
    pub(super) files: Vec<BackupFile>,
    pub(super) left_out: Vec<String>,
}

/// Whether a path is allowed in a backup: inside the folder, and of a known kind.
pub fn is_backup_path(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |part: &&str| {
        !part.is_empty() && *part != "." && *part != ".." && !part.contains(['\\', '\0'])
    };
    let is_ours = match parts.as_slice() {
        [_] => true,
        [folder, _] if *folder == MEDIA_FOLDER => true,
        [folder, ..] => FOLDERS.contains(folder),
        [] => false,
    };
    is_ours && parts.iter().all(is_plain)
}

/// Lists the files to copy. A missing folder is empty.
pub(super) fn list(data: &Path) -> StoreResult<BackupTree> {
    let mut tree = BackupTree::default();
    for folder in FOLDERS {
        tree.add(&data.join(folder), folder, DEPTH)?;
    }
    tree.files.sort_by(|one, other| one.name.cmp(&other.name));
    tree.left_out.sort();
    Ok(tree)
}

impl BackupTree {
    fn add(&mut self, folder: &Path, name: &str, depth: usize) -> StoreResult<()> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            // A running agent creates and removes folders.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("read", folder)(error)),
        };
        for entry in entries {
            let path = entry.map_err(failed("read", folder))?.path();
            // Links are not followed: they may lead out of the folder.
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            let part = path.file_name().unwrap_or_default();
            let name = format!("{name}/{}", part.to_string_lossy());
            let is_named = part.to_str().is_some() && is_backup_path(&name);
            if about.is_dir() && is_named && depth > 0 {
                self.add(&path, &name, depth - 1)?;
            } else if about.is_file() && is_named && part != SIGN_IN_FILE {
                use std::os::unix::fs::PermissionsExt;
                let is_program = about.permissions().mode() & 0o100 != 0;
                self.files.push(BackupFile { path, name, is_program });
            } else if self.left_out.len() < MAX_LISTED {
                self.left_out.push(name);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_known_folders_are_taken() {
        let data = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = data.path().join(name);
            crate::private_files::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        for name in ["chats/f/projects/-w/a.jsonl", "rubrics/mine.toml", "tmp/scratch", "lock"] {
            write(name);
        }
        write("chats/f/.credentials.json");
        std::os::unix::fs::symlink("/etc", data.path().join("chats/f/etc")).unwrap();
        let tree = list(data.path()).unwrap();
        let names: Vec<_> = tree.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["chats/f/projects/-w/a.jsonl", "rubrics/mine.toml"]);
        assert_eq!(tree.left_out, ["chats/f/.credentials.json", "chats/f/etc"]);
    }

    #[test]
    fn paths_stay_in_the_backup() {
        for name in ["telemetry.db", "media/abc", "chats/a/b/c", "skills/x/run.sh"] {
            assert!(is_backup_path(name), "{name}");
        }
        for name in [
            "",
            "/etc/passwd",
            "../a",
            "a/b",
            "media/a/b",
            "chats/../../a",
            "chats//a",
            "a\\b",
            "..",
        ] {
            assert!(!is_backup_path(name), "{name}");
        }
    }
}
