//! Overrides of the offline judge's signals: a file for each project.

use std::io;
use std::path::{Path, PathBuf};

use ratchet_core::judge::offline::SignalOverrides;
use ratchet_store::private_files;
use ratchet_store::project::ProjectId;

use super::judge::OwnSignals;
use super::judge_factory::own_signals;
use crate::user_files::{self, UserFileError};

/// The folder of overrides, in a data folder.
const FOLDER: &str = "offline/overrides";

/// Reads the overrides of a project with the text of their file; `None` if there are none.
///
/// # Errors
/// Fails if the file cannot be read or is invalid.
pub fn read(
    folder: &Path,
    project: &ProjectId,
) -> Result<Option<(SignalOverrides, String)>, UserFileError> {
    let file = file(folder, project);
    if !file.exists() {
        return Ok(None);
    }
    let text = user_files::read(&file)?;
    let invalid = UserFileError::invalid("the signal overrides ", &file);
    let overrides = SignalOverrides::parse(&text).map_err(invalid)?;
    Ok(Some((overrides, text)))
}

/// Writes the overrides of a project and returns their file. Judges that are created from now on use
/// them.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write(
    folder: &Path,
    project: &ProjectId,
    overrides: &SignalOverrides,
) -> io::Result<PathBuf> {
    let file = file(folder, project);
    private_files::create_dir_all(&folder.join(FOLDER))?;
    private_files::replace(&file, overrides.to_toml().as_bytes())?;
    Ok(file)
}

fn file(folder: &Path, project: &ProjectId) -> PathBuf {
    folder.join(FOLDER).join(format!("{}.toml", project.as_str()))
}

/// The signals of a project: the user's own, with overrides that are about them. `models` is the
/// folder that has the overrides. `None` where both are as they ship.
///
/// # Errors
/// Fails if a file cannot be read or is invalid.
pub fn signals_of(
    data: Option<&Path>,
    models: &Path,
    project: &ProjectId,
) -> Result<Option<OwnSignals>, UserFileError> {
    let own = own_signals(data)?;
    let Some((overrides, text)) = read(models, project)? else { return Ok(own) };
    let base = own.unwrap_or_default();
    if !overrides.fits(base.signals()) {
        tracing::warn!(
            "the signal overrides of project {} are about other signals and are not used; run \
             `ratchet calibrate` to draft them again",
            project.as_str()
        );
        return Ok(Some(base));
    }
    Ok(Some(base.with_overrides(&overrides, &text)))
}
