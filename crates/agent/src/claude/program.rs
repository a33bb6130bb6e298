use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::environment::Variables;

/// The variable that names the program.
pub const PROGRAM_VARIABLE: &str = "RATCHET_CLAUDE_BIN";

/// Variables of every run: only model requests, and no update.
const QUIET: [(&str, &str); 2] =
    [("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")];

/// The program that the environment names, else `claude` from `PATH`.
pub fn named(variables: Variables<'_>) -> PathBuf {
    let said = variables(PROGRAM_VARIABLE).filter(|path| !path.trim().is_empty());
    located(said.unwrap_or_else(|| "claude".to_owned()).into())
}

/// The program at a path, or of that name in `PATH`.
///
/// It runs in a folder of its own, where a path from here would lead nowhere.
pub(crate) fn located(path: PathBuf) -> PathBuf {
    let is_name = path.components().count() == 1;
    let absolute = if is_name { None } else { std::path::absolute(&path).ok() };
    absolute.unwrap_or(path)
}

/// Prepares a command with pipes, which is killed on drop.
pub(crate) fn with_pipes(command: &mut Command) -> &mut Command {
    command
        .envs(QUIET)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
}

/// Says that the program does not start, and what to do.
pub(crate) fn start_error(path: &Path, why: &str) -> String {
    format!(
        "{} does not start ({why}); install Claude Code, or name the program in \
         {PROGRAM_VARIABLE}",
        path.display()
    )
}
