//! Reports as files: Markdown and JSON, in the `reports` folder of a data folder.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ratchet_core::quality::report::WeekReport;
use ratchet_store::private_files;
use ratchet_store::project::ProjectId;

/// The folder of reports in a data folder.
pub const REPORTS_FOLDER: &str = "reports";

/// Writes a report as `reports/PROJECT/WEEK.md` and `.json`, for their owner alone. Each file is
/// replaced at once. Returns the Markdown file.
pub(super) fn write(data: &Path, project: &ProjectId, report: &WeekReport) -> io::Result<PathBuf> {
    let folder = data.join(REPORTS_FOLDER).join(project.as_str());
    private_files::create_dir_all(&folder)?;
    let json = serde_json::to_string_pretty(report).map_err(io::Error::other)? + "\n";
    replace(&folder, &format!("{}.json", report.week), &json)?;
    let name = format!("{}.md", report.week);
    replace(&folder, &name, &report.to_markdown())?;
    Ok(folder.join(name))
}

fn replace(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let new = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written = || -> io::Result<()> {
        // Left by a process of the same id that was killed.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = private_files::create_new(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, folder.join(name))
    };
    written().inspect_err(|_| drop(std::fs::remove_file(&new)))
}
