//! Skills: folders of text files that teach an agent something, with versions and labels.
//!
//! `SKILL.md` at the top of the folder begins with YAML between two lines of dashes: what the
//! skill is called and when it is of use, and whatever else its author keeps there.

/// YAML as JSON.
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The file that every skill has.
pub const MAIN_FILE: &str = "SKILL.md";

/// How many files a skill may have.
pub const MAX_FILES: usize = 500;

/// How many bytes a file may have.
pub const MAX_FILE_BYTES: usize = 1_000_000;

const MAX_PATH_BYTES: usize = 500;
pub(crate) const MAX_FRONT_BYTES: usize = 64_000;
const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// What the head of `SKILL.md` says.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatter {
    /// What the skill is called.
    pub name: String,
    /// What it does and when it is of use.
    pub description: String,
    /// All that stands there, these two included.
    pub all: Value,
}

/// Why the head of `SKILL.md` is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontError {
    /// No dashes, or only the first.
    #[error("must begin with YAML between two lines of three dashes")]
    Missing,
    /// More than anyone writes by hand.
    #[error("has more than {MAX_FRONT_BYTES} bytes of YAML at its head")]
    TooLong,
    /// Not YAML, or more of it than we take.
    #[error("has no good YAML at its head: {0}")]
    Yaml(String),
    /// A list or a text.
    #[error("must have keys and values at its head")]
    NoKeys,
    /// Agents find skills by their names.
    #[error(
        "needs a name at its head: 1 to {MAX_NAME_CHARS} of a-z 0-9 -, with no dash at either end \
         and no two in a row"
    )]
    Name,
    /// Agents choose skills by their descriptions.
    #[error("needs a description at its head, of 1 to {MAX_DESCRIPTION_CHARS} characters")]
    Description,
}

/// Why a path cannot be that of a file in a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing, or too much.
    #[error("must have 1 to {MAX_PATH_BYTES} bytes")]
    Len,
    /// Leads out of the folder, or nowhere.
    #[error("must be a relative path with slashes, without empty parts, '.' and '..'")]
    Parts,
    /// Line breaks, null bytes and the like; and what is a slash elsewhere.
    #[error("must not contain control characters, backslashes or colons")]
    Chars,
}

/// Why files together are no skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// None, or too many.
    #[error("must have 1 to {MAX_FILES} files")]
    Len,
    /// No `SKILL.md` at the top.
    #[error("must have a file {MAIN_FILE}")]
    NoMainFile,
    /// Two files that would be one, at least where case does not count.
    #[error("has {0} twice")]
    Twice(String),
    /// A file where a folder must be.
    #[error("has {0} as a file and as a folder")]
    FileAndFolder(String),
}

impl FrontMatter {
    /// Reads the head of `SKILL.md`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, FrontError> {
        let (yaml, _) = split_front(text).ok_or(FrontError::Missing)?;
        if yaml.len() > MAX_FRONT_BYTES {
            return Err(FrontError::TooLong);
        }
        let read = yaml::read(&yaml).map_err(|why| FrontError::Yaml(why.to_string()))?;
        let Value::Object(all) = read else { return Err(FrontError::NoKeys) };
        let name = text_of(&all, "name").filter(|name| is_name(name)).ok_or(FrontError::Name)?;
        let description = text_of(&all, "description").map(str::trim).filter(|description| {
            (1..=MAX_DESCRIPTION_CHARS).contains(&description.chars().count())
                && !description.contains('\0')
        });
        let description = description.ok_or(FrontError::Description)?;
        let (name, description) = (name.to_owned(), description.to_owned());
        Ok(Self { name, description, all: Value::Object(all) })
    }
}

/// The text between the first line of dashes and the next, and what comes after.
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
    let has_words = name.split('-').all(|word| !word.is_empty());
    name.len() <= MAX_NAME_CHARS && name.chars().all(is_plain) && has_words
}

/// Checks the path of a file.
///
/// # Errors
/// Says what is wrong with it.
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

/// Checks that files can stand in one folder on anyone's disk, and that one is the main file.
///
/// # Errors
/// Says which cannot.
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

/// The content type of a file, by the end of its name.
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
