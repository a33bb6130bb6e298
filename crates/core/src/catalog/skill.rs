//! Skills: folders of text files with instructions for an agent, with versions and labels.
//!
//! `SKILL.md` at the root starts with YAML front matter: the skill's name, its description and any
//! further keys of its author.

/// Conversion of YAML to JSON.
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The required main file.
pub const MAIN_FILE: &str = "SKILL.md";

/// The maximum number of files.
pub const MAX_FILES: usize = 500;

/// The maximum size of a file, in bytes.
pub const MAX_FILE_BYTES: usize = 1_000_000;

const MAX_PATH_BYTES: usize = 500;
pub(crate) const MAX_FRONT_BYTES: usize = 64_000;
const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// The front matter of `SKILL.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatter {
    pub name: String,
    /// What the skill does and when to use it.
    pub description: String,
    /// All keys, name and description included.
    pub all: Value,
}

/// Error of parsing front matter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontMatterError {
    /// One or both `---` lines are missing.
    #[error("must start with YAML front matter between two lines of three dashes")]
    Missing,
    #[error("has more than {MAX_FRONT_BYTES} bytes of front matter")]
    TooLong,
    /// Invalid or unsupported YAML.
    #[error("has invalid YAML front matter: {0}")]
    Yaml(String),
    /// A list or a text instead of keys.
    #[error("must have keys and values in its front matter")]
    NoKeys,
    /// Agents find skills by their names.
    #[error(
        "needs a name in its front matter: 1 to {MAX_NAME_CHARS} of a-z 0-9 -, with no dash at either end \
         and no two in a row"
    )]
    Name,
    /// Agents choose skills by their descriptions.
    #[error("needs a description in its front matter, of 1 to {MAX_DESCRIPTION_CHARS} characters")]
    Description,
}

/// Validation error of a file path in a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Empty or too long.
    #[error("must have 1 to {MAX_PATH_BYTES} bytes")]
    Len,
    /// Leaves the folder, or has empty parts.
    #[error("must be a relative path with slashes, without empty parts, '.' and '..'")]
    Parts,
    /// Control characters and backslashes.
    #[error("must not contain control characters, backslashes or colons")]
    Chars,
}

/// Validation error of a set of files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// None, or too many.
    #[error("must have 1 to {MAX_FILES} files")]
    Len,
    /// No `SKILL.md` at the top.
    #[error("must have a file {MAIN_FILE}")]
    NoMainFile,
    /// Two paths that are equal on a case-insensitive file system.
    #[error("has {0} twice")]
    Twice(String),
    /// A path that is both a file and a folder.
    #[error("has {0} as a file and as a folder")]
    FileAndFolder(String),
}

impl FrontMatter {
    /// Parses the front matter of `SKILL.md`.
    ///
    /// # Errors
    /// Fails where front matter is missing, invalid or lacks a name or description.
    pub fn read(text: &str) -> Result<Self, FrontMatterError> {
        let (yaml, _) = split_front(text).ok_or(FrontMatterError::Missing)?;
        if yaml.len() > MAX_FRONT_BYTES {
            return Err(FrontMatterError::TooLong);
        }
        let read = yaml::read(&yaml).map_err(|why| FrontMatterError::Yaml(why.to_string()))?;
        let Value::Object(all) = read else { return Err(FrontMatterError::NoKeys) };
        let name =
            text_of(&all, "name").filter(|name| is_name(name)).ok_or(FrontMatterError::Name)?;
        let description = text_of(&all, "description").map(str::trim).filter(|description| {
            (1..=MAX_DESCRIPTION_CHARS).contains(&description.chars().count())
                && !description.contains('\0')
        });
        let description = description.ok_or(FrontMatterError::Description)?;
        let (name, description) = (name.to_owned(), description.to_owned());
        Ok(Self { name, description, all: Value::Object(all) })
    }
}

/// Returns the text between the `---` lines, and the rest.
pub(crate) fn split_front(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut read = first.len();
    let mut yaml = String::new();
    for line in lines {
        read += line.len();
        if line.trim_end() == "---" {
            return Some((yaml, text.get(read..).unwrap_or_default()));
        }
        yaml.push_str(line.strip_suffix('\n').map_or(line, |line| line.trim_end_matches('\r')));
        yaml.push('\n');
    }
    None
}

fn text_of<'a>(all: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    all.get(key).and_then(Value::as_str)
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let has_parts = name.split('-').all(|part| !part.is_empty());
    name.len() <= MAX_NAME_CHARS && name.chars().all(is_plain) && has_parts
}

/// Validates the path of a file.
///
/// # Errors
/// Rejects paths that are empty, too long, absolute or that leave the folder.
pub fn check_path(path: &str) -> Result<(), PathError> {
    if !(1..=MAX_PATH_BYTES).contains(&path.len()) {
        return Err(PathError::Len);
    }
    if path.contains(|c: char| c.is_control() || c == '\\' || c == ':') {
        return Err(PathError::Chars);
    }
    let leads_on = |part: &str| !matches!(part.trim(), "" | "." | "..");
    if path.split('/').all(leads_on) { Ok(()) } else { Err(PathError::Parts) }
}

/// Validates that the files can be stored in one folder on any file system and include the main
/// file.
///
/// # Errors
/// Names the offending path.
pub fn check_folder(paths: &[&str]) -> Result<(), FolderError> {
    if !(1..=MAX_FILES).contains(&paths.len()) {
        return Err(FolderError::Len);
    }
    if !paths.contains(&MAIN_FILE) {
        return Err(FolderError::NoMainFile);
    }
    let mut files = BTreeSet::new();
    for path in paths {
        if !files.insert(path.to_lowercase()) {
            return Err(FolderError::Twice((*path).to_owned()));
        }
    }
    let is_file = |folder: &str| files.contains(&folder.to_lowercase());
    for path in paths {
        let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        if let Some(folder) = folders.into_iter().find(|folder| is_file(folder)) {
            return Err(FolderError::FileAndFolder(folder.to_owned()));
        }
    }
    Ok(())
}

/// Returns the content type of a file by its extension.
pub fn content_type(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "md" | "markdown" => "text/markdown",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" => "text/x-typescript",
        "py" => "text/x-python",
        "sh" | "bash" => "text/x-shellscript",
        _ => "text/plain",
    }
}
