//! Rubrics by name: the built-in ones, and above them the user's own.

use std::path::{Path, PathBuf};

use ratchet_core::judge::rubric::{self, Rubric, RubricError};

use crate::user_files::{self, UserFileError};

/// All rubrics that can be named.
#[derive(Debug)]
pub struct Rubrics {
    entries: Vec<RubricFile>,
    /// Files that cannot be used.
    broken: Vec<BrokenFile>,
}

/// A rubric file of the user that cannot be used. It stops commands that use its rubric, and only
/// them.
#[derive(Debug)]
struct BrokenFile {
    path: PathBuf,
    /// The name that it gives, or that of the file.
    name: String,
    error: RubricsError,
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

/// The rubrics that can be read, and what is wrong with the other files.
#[derive(Clone, Debug)]
pub struct ReadableRubrics {
    /// The built-in rubrics, then the user's.
    pub rubrics: Vec<Rubric>,
    pub faults: Vec<RubricFileFault>,
}

/// What is wrong with a rubric file of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricFileFault {
    /// The name of the file, without its folder.
    pub file: String,
    /// Each with its line, where there is one.
    pub problems: Vec<String>,
}

/// Why a rubric cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RubricsError {
    #[error(transparent)]
    File(#[from] UserFileError),
    #[error(
        "{} and {} have the same name {name}; nothing is scored by it until one is renamed",
        file.display(),
        other.display()
    )]
    SameName { file: PathBuf, other: PathBuf, name: String },
    #[error("rubric {name} not found; available: {available}, or a .toml file")]
    NotFound { name: String, available: String },
}

impl Rubrics {
    /// Reads the user's rubrics in `<data>/rubrics`; the name of a built-in one overrides it. A file
    /// that is invalid, or has the name of another one, is reported by [`Self::find`] and
    /// [`Self::faults`]: an error in one of them must not take the others away. Of two files of one
    /// name, pages show the first by file name; neither is used for scores, because which of them
    /// was meant is a guess that scores would keep.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn open(data: &Path) -> Result<Self, RubricsError> {
        let (mut own, mut broken): (Vec<RubricFile>, Vec<BrokenFile>) = Default::default();
        for path in user_files::overrides(data, "rubrics")? {
            match RubricFile::read(&path) {
                Ok(read) => match own.iter().find(|it| it.rubric.name == read.rubric.name) {
                    None => own.push(read),
                    Some(first) => {
                        let name = read.rubric.name;
                        let other = first.path.as_deref().unwrap_or(data).to_owned();
                        let (file, named) = (path.clone(), name.clone());
                        let error = RubricsError::SameName { file, other, name: named };
                        broken.push(BrokenFile { path, name, error });
                    }
                },
                Err(error) => {
                    let name = claimed_name(&path);
                    broken.push(BrokenFile { path, name, error: error.into() });
                }
            }
        }
        Ok(Self { broken, ..Self::above_shipped(own) })
    }

    /// Reads the same files, for pages: they show what is wrong beside the rubrics.
    pub fn readable(data: &Path) -> ReadableRubrics {
        match Self::open(data) {
            Ok(rubrics) => {
                let faults = rubrics.faults();
                let all = rubrics.entries.into_iter().map(|file| file.rubric);
                ReadableRubrics { rubrics: all.collect(), faults }
            }
            Err(error) => {
                let shipped = Self::shipped().entries.into_iter().map(|file| file.rubric);
                let fault = RubricFileFault::new(&data.join("rubrics"), problems(&error));
                ReadableRubrics { rubrics: shipped.collect(), faults: vec![fault] }
            }
        }
    }

    /// What is wrong with the user's files.
    pub fn faults(&self) -> Vec<RubricFileFault> {
        let fault = |file: &BrokenFile| RubricFileFault::new(&file.path, problems(&file.error));
        self.broken.iter().map(fault).collect()
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
        Self { entries, broken: Vec::new() }
    }

    /// The built-in rubrics, then the user's.
    pub fn all(&self) -> &[RubricFile] {
        &self.entries
    }

    /// Returns the rubric of that name, or in that file.
    ///
    /// # Errors
    /// Fails if there is none, or if its file cannot be used.
    pub fn find(mut self, name_or_file: &str) -> Result<RubricFile, RubricsError> {
        if is_file(name_or_file) {
            return Ok(RubricFile::read(Path::new(name_or_file))?);
        }
        if let Some(at) = self.broken.iter().position(|file| file.name == name_or_file) {
            return Err(self.broken.swap_remove(at).error);
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

impl RubricFileFault {
    fn new(path: &Path, problems: Vec<String>) -> Self {
        Self { file: file_name(path), problems }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name that a broken file gives to its rubric, or that of the file.
fn claimed_name(path: &Path) -> String {
    let text = user_files::read(path).unwrap_or_default();
    let given = text.lines().find_map(|line| {
        let value = line.trim().strip_prefix("name")?.trim_start().strip_prefix('=')?.trim();
        Some(value.trim_matches('"').to_owned())
    });
    given.unwrap_or_else(|| {
        path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    })
}

/// What is wrong with a file, without the path of the data folder.
fn problems(error: &RubricsError) -> Vec<String> {
    match error {
        RubricsError::File(UserFileError::Invalid { source, .. }) => {
            match source.downcast_ref::<RubricError>() {
                Some(RubricError { faults }) => faults.iter().map(ToString::to_string).collect(),
                None => vec![source.to_string()],
            }
        }
        RubricsError::File(UserFileError::Read { source, .. }) => {
            vec![format!("cannot be read: {source}")]
        }
        RubricsError::SameName { other, name, .. } => {
            vec![format!(
                "{} has the same name {name}; pages show that one, and nothing is scored by it \
                 until one is renamed",
                file_name(other)
            )]
        }
        RubricsError::NotFound { .. } => vec![error.to_string()],
    }
}

/// Whether a word names a file rather than a rubric.
fn is_file(word: &str) -> bool {
    let has_extension = Path::new(word).extension().is_some_and(|extension| extension == "toml");
    has_extension || word.contains(std::path::MAIN_SEPARATOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_an_error_leaves_the_others() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("rubrics");
        std::fs::create_dir(&folder).unwrap();
        let shipped = rubric::shipped_file(rubric::DEFAULT).unwrap();
        let named = |name: &str| shipped.replace("\"session-quality\"", &format!("\"{name}\""));
        std::fs::write(folder.join("fine.toml"), named("fine")).unwrap();
        std::fs::write(folder.join("wrong.toml"), named("wrong").replace("0.30", "0.90")).unwrap();
        std::fs::write(folder.join("zwei.toml"), named("fine")).unwrap();
        std::fs::write(folder.join("broken.toml"), "name = \"x\"\nversion =\n").unwrap();
        let ReadableRubrics { rubrics, faults } = Rubrics::readable(data.path());
        let names: Vec<&str> = rubrics.iter().map(|rubric| rubric.name.as_str()).collect();
        assert_eq!(names, ["session-quality", "session-quality-v0", "fine"]);
        let files: Vec<&str> = faults.iter().map(|fault| fault.file.as_str()).collect();
        assert_eq!(files, ["broken.toml", "wrong.toml", "zwei.toml"]);
        let [broken, wrong, twice] = faults.as_slice() else { panic!("{faults:?}") };
        assert!(broken.problems[0].starts_with("line 2"), "{broken:?}");
        assert!(wrong.problems[0].contains("weight"), "{wrong:?}");
        assert_eq!(
            twice.problems,
            ["fine.toml has the same name fine; pages show that one, and nothing is scored by it \
              until one is renamed"]
        );
        let open = || Rubrics::open(data.path()).unwrap();
        assert!(open().find(rubric::DEFAULT).is_ok(), "other files are no reason to stop");
        for (name, reason) in [("x", "broken.toml"), ("wrong", "wrong.toml"), ("fine", "zwei.toml")]
        {
            let error = open().find(name).unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
        let place = data.path().display().to_string();
        assert!(!format!("{faults:?}").contains(&place), "the folder is nobody's business");
    }
}
