use std::io;
use std::path::{Path, PathBuf};

use ratchet_core::id::SessionId;
use ratchet_core::judge::offline::success::{SessionFeatures, features};
use ratchet_core::judge::offline::{SignalSet, SuccessModel};
use ratchet_core::judge::rubric::Rubric;
use ratchet_store::private_files;
use ratchet_store::project::ProjectId;

use super::evidence;
use super::judge::Judge;
use super::peers::PeerCache;
use crate::source::{Source, SourceResult};
use crate::user_files::{self, UserFileError};

/// The folder of models, in a data folder.
const FOLDER: &str = "offline/success";

/// Reads the model of a project with the text of its file; `None` if there is none.
///
/// # Errors
/// Fails if the file cannot be read or is invalid.
pub fn read(
    folder: &Path,
    project: &ProjectId,
) -> Result<Option<(SuccessModel, String)>, UserFileError> {
    let file = file(folder, project);
    if !file.exists() {
        return Ok(None);
    }
    let text = user_files::read(&file)?;
    let invalid = UserFileError::invalid("the success model ", &file);
    let model = SuccessModel::parse(&text).map_err(invalid)?;
    Ok(Some((model, text)))
}

/// Writes the model of a project and returns its file. Judges that are created from now on use it.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write(folder: &Path, project: &ProjectId, model: &SuccessModel) -> io::Result<PathBuf> {
    let file = file(folder, project);
    private_files::create_dir_all(&folder.join(FOLDER))?;
    private_files::replace(&file, model.to_toml().as_bytes())?;
    Ok(file)
}

fn file(folder: &Path, project: &ProjectId) -> PathBuf {
    folder.join(FOLDER).join(format!("{}.toml", project.as_str()))
}

/// Returns what a regression sees of sessions. Those that are no longer there are left out.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn of_sessions(
    source: &Source,
    (signals, rubric): (&SignalSet, &Rubric),
    sessions: &[SessionId],
) -> SourceResult<Vec<(SessionId, SessionFeatures)>> {
    let cache = PeerCache::default();
    let mut found = Vec::with_capacity(sessions.len());
    for session in sessions {
        let evidence = evidence::evidence(source, session).await?;
        if evidence.traces.is_empty() {
            continue;
        }
        let peers = cache.of((source, signals.notations()), &evidence).await?;
        found.push((session.clone(), features(signals, rubric, &evidence, &peers)));
    }
    Ok(found)
}

impl Judge {
    /// Returns the signals that it goes by; `None` unless it is the offline judge.
    pub fn signals(&self) -> Option<&SignalSet> {
        match self {
            Self::Offline => Some(SignalSet::shipped()),
            Self::OwnSignals(own) => Some(own.signals()),
            Self::Model(_) | Self::HandedIn(_) => None,
        }
    }
}
