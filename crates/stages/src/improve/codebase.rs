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
