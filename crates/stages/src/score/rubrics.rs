//! Rubrics by name: the built-in ones, and above them the user's own.

use std::path::{Path, PathBuf};

use ratchet_core::judge::rubric::{self, Rubric};

use crate::user_files::{self, UserFileError};

/// All rubrics that can be named.
#[derive(Debug)]
pub struct Rubrics {
    entries: Vec<RubricFile>,
}

/// A rubric and its file.
#[derive(Clone, Debug)]
pub struct RubricFile {
    pub rubric: Rubric,
    /// The file as it is written, with comments.
    pub text: String,
    /// The user's file; `None` for a built-in one.
    pub path: Option<PathBuf>,
}

/// Why a rubric cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RubricsError {
    #[error(transparent)]
    File(#[from] UserFileError),
    #[error("{} and {} have the same name {name}; rename one", file.display(), other.display())]
    SameName { file: PathBuf, other: PathBuf, name: String },
    #[error("rubric {name} not found; available: {available}, or a .toml file")]
    NotFound { name: String, available: String },
}

impl Rubrics {
    /// Reads the user's rubrics in `<data>/rubrics`; the name of a built-in one overrides it.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is invalid, and if two have the same name.
    pub fn open(data: &Path) -> Result<Self, RubricsError> {
        let mut own: Vec<RubricFile> = Vec::new();
        for file in user_files::overrides(data, "rubrics")? {
            let read = RubricFile::read(&file)?;
            let name = &read.rubric.name;
            if let Some(other) = own.iter().find(|other| other.rubric.name == *name) {
                let other = other.path.as_deref().unwrap_or(data).to_owned();
                return Err(RubricsError::SameName { file, other, name: name.clone() });
            }
            own.push(read);
        }
        Ok(Self::above_shipped(own))
    }

    /// The built-in rubrics, where there is no data folder.
    pub fn shipped() -> Self {
        Self::above_shipped(Vec::new())
    }

    fn above_shipped(own: Vec<RubricFile>) -> Self {
        let is_overridden =
            |rubric: &Rubric| own.iter().any(|file| file.rubric.name == rubric.name);
        let shipped = rubric::shipped().filter(|rubric| !is_overridden(rubric)).map(|rubric| {
            let text = rubric::shipped_file(&rubric.name).unwrap_or_default().to_owned();
            RubricFile { rubric: rubric.clone(), text, path: None }
        });
        let mut entries: Vec<_> = shipped.collect();
        entries.extend(own);
        Self { entries }
    }

    /// The built-in rubrics, then the user's.
    pub fn all(&self) -> &[RubricFile] {
        &self.entries
    }

    /// Returns the rubric of that name, or in that file.
    ///
    /// # Errors
    /// Fails if there is none, or if the file is invalid.
    pub fn find(&self, name_or_file: &str) -> Result<RubricFile, RubricsError> {
        if is_file(name_or_file) {
            return Ok(RubricFile::read(Path::new(name_or_file))?);
        }
        let found = self.entries.iter().find(|file| file.rubric.name == name_or_file);
        found.cloned().ok_or_else(|| {
            let names: Vec<_> = self.entries.iter().map(|it| it.rubric.name.as_str()).collect();
            RubricsError::NotFound { name: name_or_file.to_owned(), available: names.join(", ") }
        })
    }
}

impl RubricFile {
    fn read(path: &Path) -> Result<Self, UserFileError> {
        let text = user_files::read(path)?;
        let invalid = UserFileError::invalid("the rubric file ", path);
        let rubric = Rubric::parse(&text).map_err(invalid)?;
        Ok(Self { rubric, text, path: Some(path.to_owned()) })
    }

    /// Its file, for people.
    pub fn origin(&self) -> String {
        match &self.path {
            Some(file) => file.display().to_string(),
            None => "built-in".to_owned(),
        }
    }
}

/// Whether a word names a file rather than a rubric.
fn is_file(word: &str) -> bool {
    let has_extension = Path::new(word).extension().is_some_and(|extension| extension == "toml");
    has_extension || word.contains(std::path::MAIN_SEPARATOR)
}
