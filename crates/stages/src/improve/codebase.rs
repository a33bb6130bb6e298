use std::io;
use std::path::Path;

use ratchet_core::improve::code::CodeFile;

use crate::chat::confined_path::ConfinedFolder;

/// Files that are read at most, and their size.
const MAX_FILES: usize = 5_000;
const MAX_BYTES: usize = 500_000;
/// Folders without code of the agent.
const SKIPPED: &[&str] =
    &["node_modules", "target", "dist", "build", "venv", "__pycache__", "vendor"];
/// Endings of files that are read.
const READ: &[&str] = &[
    "py", "rs", "ts", "tsx", "js", "mjs", "go", "java", "kt", "rb", "cs", "php", "md", "txt",
    "yaml", "yml", "toml", "json", "prompt", "j2", "jinja",
];

/// A folder with an agent's code, which can only be read.
#[derive(Debug)]
pub struct CodeFolder(ConfinedFolder);

impl CodeFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// Fails if it is not there or no folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self(ConfinedFolder::open(&root.canonicalize()?).map_err(io::Error::other)?))
    }

    /// Reads a text file of the kinds that [`read`] takes.
    ///
    /// # Errors
    /// Fails if the path leads out of the folder or over a link, or if the file is not there, hidden, of
    /// another kind, too long or no text.
    pub fn text(&self, path: &str) -> io::Result<String> {
        if !is_read(path) {
            let why =
                format!("{path}: hidden files, files of other kinds and built ones are not read");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let bytes = self.0.read(path, MAX_BYTES).map_err(io::Error::other)?;
        let missing =
            || io::Error::new(io::ErrorKind::NotFound, format!("there is no file {path}"));
        let text = String::from_utf8(bytes.ok_or_else(missing)?);
        text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{path} is no text")))
    }
}

/// Reads the text files below a folder, which no path leaves: links are left out.
///
/// # Errors
/// Fails if the folder cannot be read, or has too many files.
pub fn read(root: &Path) -> io::Result<Vec<CodeFile>> {
    let root = root.canonicalize()?;
    let folder = ConfinedFolder::open(&root).map_err(io::Error::other)?;
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&root)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type()?;
        if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            let below = folder.files(&name, MAX_FILES).map_err(io::Error::other)?;
            paths.extend(below.into_iter().map(|path| format!("{name}/{path}")));
        } else if kind.is_file() {
            paths.push(name);
        }
    }
    paths.retain(|path| is_read(path));
    paths.sort();
    paths.truncate(MAX_FILES);
    let file = |path: String| {
        // A file that is too long or no longer there is left out.
        let bytes = folder.read(&path, MAX_BYTES).ok().flatten()?;
        Some(CodeFile { path, text: String::from_utf8(bytes).ok()? })
    };
    Ok(paths.into_iter().filter_map(file).collect())
}

fn is_read(path: &str) -> bool {
    let is_skipped = |part: &str| part.starts_with('.') || SKIPPED.contains(&part);
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    !path.split('/').any(is_skipped) && ending.is_some_and(|ending| READ.contains(&ending))
}
