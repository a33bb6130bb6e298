use std::path::Path;
use std::time::Duration;

use ratchet_agent::bounded_command::{BoundedCommand, CommandError};
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::calendar::Week;
use ratchet_core::improve::events::{EventKind, WeekEvent};
use ratchet_core::time::Timestamp;

/// Commits that are listed at most: the newest ones.
const MAX_COMMITS: usize = 100;
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_MEMORY: u64 = 1 << 30;
const MAX_OUTPUT: usize = 1_000_000;
/// Nothing that a repository's own settings name is run.
const SAFE: &[&str] = &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/// Returns the commits of a week of the branch that is checked out in a folder.
///
/// # Errors
/// Fails if git is not installed, or the folder is no repository.
pub async fn commits(
    folder: &Path,
    week: &Week,
    supervision: Supervision,
) -> Result<Vec<WeekEvent>, CommandError> {
    let folder = folder.canonicalize()?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let (since, until) = (format!("--since={}", week.start()), format!("--until={}", week.end()));
    let most = format!("--max-count={MAX_COMMITS}");
    let mut arguments: Vec<String> = SAFE.iter().map(ToString::to_string).collect();
    arguments.extend(["-C".to_owned(), folder.display().to_string()]);
    let log = [
        "log",
        "--no-show-signature",
        "--no-mailmap",
        "--format=%cI%x09%h%x09%s",
        &since,
        &until,
        &most,
    ];
    arguments.extend(log.map(str::to_owned));
    let command = BoundedCommand {
        command: vec!["git".to_owned()],
        arguments,
        timeout: TIMEOUT,
        max_memory: MAX_MEMORY,
        max_output: MAX_OUTPUT,
        supervision,
    };
    let printed = command.run(b"").await?;
    Ok(printed.lines().filter_map(|line| commit(name.as_deref()?, line)).collect())
}

fn commit(repository: &str, line: &str) -> Option<WeekEvent> {
    let mut parts = line.splitn(3, '\t');
    let at = Timestamp::parse(parts.next()?).ok()?;
    let (hash, subject) = (parts.next()?, parts.next()?);
    Some(WeekEvent::new(at, EventKind::Commit, None, &format!("{repository} {hash}: {subject}")))
}
