//! The benchmark as a fake `claude` program: it prints lines at a pace, each with its timestamp.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::clock::moment;

/// Its program name as the agent.
const NAME: &str = "claude";
/// Delimiter of a timestamp.
pub(super) const MARK: &str = "@@";
/// Filler text, as much as models send at a time.
const WORDS: &str = " the next few words";

/// Whether this process was started as the agent.
pub(crate) fn is_wanted() -> bool {
    let name = std::env::args_os().next().map(PathBuf::from);
    name.is_some_and(|path| path.file_name().is_some_and(|name| name == NAME))
}

/// Installs a program of that name in a folder.
pub(super) fn install(folder: &Path) -> anyhow::Result<PathBuf> {
    let program = folder.join(NAME);
    std::os::unix::fs::symlink(std::env::current_exe()?, &program)
        .with_context(|| format!("cannot make {}", program.display()))?;
    Ok(program)
}

/// The prompt for so many lines, one every so many milliseconds.
pub(super) fn order(lines: u64, pace_ms: u64) -> String {
    format!("say {lines} {pace_ms}")
}

/// Runs as the agent until the pipe is closed.
///
/// # Errors
/// Fails if the pipe breaks.
pub(crate) fn play() -> anyhow::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        match line["type"].as_str() {
            Some("control_request") => {
                let response = json!({"subtype": "success", "request_id": line["request_id"],
                    "response": {}});
                say(&json!({"type": "control_response", "response": response}))?;
            }
            Some("user") => turn(line["message"]["content"].as_str().unwrap_or_default())?,
            _ => {}
        }
    }
    Ok(())
}

fn say(line: &Value) -> anyhow::Result<()> {
    let mut text = line.to_string();
    text.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn turn(words: &str) -> anyhow::Result<()> {
    let mut numbers = words.split(' ').skip(1).map(|word| word.parse::<u64>().unwrap_or_default());
    let (lines, pace) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or_default());
    let pace = Duration::from_millis(pace);
    say(&json!({"type": "system", "subtype": "init", "model": "bench", "tools": []}))?;
    // Agents do not print in step.
    let phase = pace.mul_f64(f64::from(std::process::id() % 97) / 97.0);
    let mut next = Instant::now() + phase;
    for _ in 0..lines {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += pace;
        let text = format!("{MARK}{}{MARK}{WORDS}", moment().as_nanos());
        let delta = json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}});
        say(&json!({"type": "stream_event", "event": delta, "parent_tool_use_id": null}))?;
    }
    say(&json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
        "result": "", "total_cost_usd": 0}))
}
