//! Files in a data folder with which users override what comes with Ratchet: prices, rubrics,
//! prompts and signals of the offline judge.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_core::record::price::PriceTable;

/// Why a user's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UserFileError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{kind}{} is not valid", path.display())]
    Invalid {
        /// Such as "the price file ".
        kind: &'static str,
        path: PathBuf,
        source: Box<dyn Error + Send + Sync>,
    },
}

impl UserFileError {
    pub(crate) fn invalid<E: Error + Send + Sync + 'static>(
        kind: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |error| Self::Invalid { kind, path, source: Box::new(error) }
    }
}

/// Reads a file.
///
/// # Errors
/// Fails if it cannot be read.
pub(crate) fn read(path: &Path) -> Result<String, UserFileError> {
    std::fs::read_to_string(path)
        .map_err(|source| UserFileError::Read { path: path.to_owned(), source })
}

/// Returns the text of a prompt: the user's in `<data>/prompts`, or the built-in one.
///
/// # Errors
/// Fails if the user's file cannot be read.
pub fn prompt(data: Option<&Path>, file: &str, builtin: &str) -> Result<String, UserFileError> {
    let own = data.map(|data| data.join("prompts").join(file)).filter(|file| file.exists());
    own.map_or_else(|| Ok(builtin.to_owned()), |file| read(&file))
}

/// Returns the prices of models: the built-in table, and above it the files in `<data>/prices`, by
/// name.
///
/// # Errors
/// Fails if a file cannot be read or is invalid.
pub fn prices(data: &Path) -> Result<Arc<PriceTable>, UserFileError> {
    let mut table = PriceTable::builtin();
    for file in overrides(data, "prices")? {
        let parsed = PriceTable::parse(&read(&file)?);
        let invalid = UserFileError::invalid("the price file ", &file);
        table = table.with_overrides(parsed.map_err(invalid)?);
    }
    Ok(Arc::new(table))
}

/// Returns the user's files of a kind: those in `<data>/<kind>` that end in .toml, by name.
///
/// # Errors
/// Fails if the folder cannot be read.
pub(crate) fn overrides(data: &Path, kind: &str) -> Result<Vec<PathBuf>, UserFileError> {
    let folder = data.join(kind);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|source| UserFileError::Read { path: folder, source })?;
    let mut files: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}
