use std::io::{self, Write as _};
use std::path::Path;

use ratchet_core::quality::learnings;
use ratchet_core::quality::suggestion::{Progress, Suggestion};

use super::WeekDone;

/// Appends new suggestions to a file, all of them or none: the file is replaced.
pub(super) fn append(file: &Path, done: &WeekDone) -> io::Result<()> {
    let is_wanted = |suggestion: &&Suggestion| {
        let kept = done.saved.suggestions.iter();
        let mut kept = kept.filter(|kept| kept.suggestion.key == suggestion.key);
        kept.all(|kept| kept.progress != Progress::Dismissed)
    };
    let wanted: Vec<Suggestion> =
        done.report.suggestions.iter().filter(is_wanted).cloned().collect();
    update(file, |before| learnings::appended(before, &done.report.week, &wanted))
}

/// Replaces a file by what becomes of its text; `None` leaves it as it is.
pub(crate) fn update(file: &Path, change: impl FnOnce(&str) -> Option<String>) -> io::Result<()> {
    // The target of a symbolic link is replaced, so that the link stays one.
    let file = match std::fs::canonicalize(file) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => file.to_owned(),
        Err(error) => return Err(error),
    };
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    match change(&before) {
        Some(after) => replace(&file, &after),
        None => Ok(()),
    }
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written = || -> io::Result<()> {
        let mut new = std::fs::File::create(&beside)?;
        new.write_all(text.as_bytes())?;
        if let Ok(known) = std::fs::metadata(file) {
            new.set_permissions(known.permissions())?;
        }
        new.sync_all()?;
        std::fs::rename(&beside, file)
    };
    written().inspect_err(|_| drop(std::fs::remove_file(&beside)))
}
