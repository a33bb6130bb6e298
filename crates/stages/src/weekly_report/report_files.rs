//! Reports as files: Markdown and JSON, in the `reports` folder of a data folder.

use std::io;
use std::path::{Path, PathBuf};

use ratchet_core::quality::report::WeekReport;
use ratchet_store::private_files;
use ratchet_store::project::ProjectId;
use sha2::{Digest, Sha256};

/// The folder of reports in a data folder.
pub const REPORTS_FOLDER: &str = "reports";
/// The maximum number of characters of a scope in a file name.
const MAX_SCOPE_CHARS: usize = 60;

/// Writes a report as `reports/PROJECT/WEEK.md` and `.json`, for their owner alone; the report of a
/// part of the project as `WEEK-SCOPE.md`. Each file is replaced at once. Returns the Markdown file.
pub(super) fn write(data: &Path, project: &ProjectId, report: &WeekReport) -> io::Result<PathBuf> {
    let folder = data.join(REPORTS_FOLDER).join(project.as_str());
    private_files::create_dir_all(&folder)?;
    let json = serde_json::to_string_pretty(report).map_err(io::Error::other)? + "\n";
    let stem = stem(report);
    private_files::replace(&folder.join(format!("{stem}.json")), json.as_bytes())?;
    let file = folder.join(format!("{stem}.md"));
    private_files::replace(&file, report.to_markdown().as_bytes())?;
    Ok(file)
}

/// `2026-11-08`, or `2026-11-08-agent-support-bot-1f3a5c7e`: the hash separates what the letters do
/// not.
fn stem(report: &WeekReport) -> String {
    if report.scope.is_all() {
        return report.week.clone();
    }
    let words = report.scope.words();
    let plain = |char: char| if char.is_ascii_alphanumeric() { char } else { '-' };
    let letters: String = words.chars().map(plain).take(MAX_SCOPE_CHARS).collect();
    let hash = Sha256::digest(words.as_bytes());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{letters}-{hash}", report.week)
}
