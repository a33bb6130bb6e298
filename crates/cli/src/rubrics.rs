//! Rubrics by name: those that come with Ratchet, and above them the user's own.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ratchet_core::judge::rubric::{self, Rubric};

/// Every rubric that has a name here.
#[derive(Debug)]
pub(crate) struct Rubrics {
    entries: Vec<Shelved>,
}

/// A rubric and where it is from.
#[derive(Clone, Debug)]
pub(crate) struct Shelved {
    pub(crate) rubric: Rubric,
    /// Its file as it is written, remarks and all.
    pub(crate) text: String,
    /// The user's file; `None` for one that comes with Ratchet.
    pub(crate) file: Option<PathBuf>,
}

impl Rubrics {
    /// Reads the user's rubrics in `<data>/rubrics` and puts them above those that come with
    /// Ratchet: the same name is an override.
    pub(crate) fn open(data: &Path) -> anyhow::Result<Self> {
        let mut own: Vec<Shelved> = Vec::new();
        for file in crate::folder::overrides(data, "rubrics")? {
            let shelved = Shelved::read(&file)?;
            let name = &shelved.rubric.name;
            if let Some(other) = own.iter().find(|other| other.rubric.name == *name) {
                let other = other.file.as_deref().unwrap_or(data).display();
                bail!("{} and {other} have the same name {name}; rename one", file.display());
            }
            own.push(shelved);
        }
        Ok(Self::above_shipped(own))
    }

    /// Those that come with Ratchet alone, where there is no data folder.
    pub(crate) fn shipped() -> Self {
        Self::above_shipped(Vec::new())
    }

    fn above_shipped(own: Vec<Shelved>) -> Self {
        let is_overridden =
            |rubric: &Rubric| own.iter().any(|shelved| shelved.rubric.name == rubric.name);
        let shipped = rubric::shipped().filter(|rubric| !is_overridden(rubric)).map(|rubric| {
            let text = rubric::shipped_file(&rubric.name).unwrap_or_default().to_owned();
            Shelved { rubric: rubric.clone(), text, file: None }
        });
        let mut entries: Vec<_> = shipped.collect();
        entries.extend(own);
        Self { entries }
    }

    /// All of them: those that come with Ratchet, then the user's.
    pub(crate) fn all(&self) -> &[Shelved] {
        &self.entries
    }

    /// The rubric of that name, or in that file.
    pub(crate) fn find(&self, name_or_file: &str) -> anyhow::Result<Shelved> {
        if is_file(name_or_file) {
            return Shelved::read(Path::new(name_or_file));
        }
        let found = self.entries.iter().find(|shelved| shelved.rubric.name == name_or_file);
        let names: Vec<_> =
            self.entries.iter().map(|shelved| shelved.rubric.name.as_str()).collect();
        let names = names.join(", ");
        found.cloned().with_context(|| {
            format!("rubric {name_or_file} not found; available: {names}, or a .toml file")
        })
    }
}

impl Shelved {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let rubric = Rubric::parse(&text)
            .with_context(|| format!("the rubric file {} is not valid", file.display()))?;
        Ok(Self { rubric, text, file: Some(file.to_owned()) })
    }

    /// Where it is from, for people.
    pub(crate) fn origin(&self) -> String {
        match &self.file {
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
