use std::io;
use std::path::Path;

use ratchet_core::improve::report::FeedbackReport;

use crate::weekly_report::learnings_file;

/// Appends the proposals that a file does not have yet, all of them or none.
///
/// # Errors
/// Fails if the file cannot be read or replaced.
pub fn append(file: &Path, report: &FeedbackReport) -> io::Result<()> {
    learnings_file::update(file, |before| report.appended_to(before))
}
