use std::io::Read;
use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;

/// Maximum size of hook input: a few hundred bytes, sometimes with the agent's last message.
const MAX_BYTES: u64 = 4 << 20;

/// The fields of a hook's stdin that are used here.
#[derive(Deserialize)]
struct HookInput {
    transcript_path: PathBuf,
}

/// The transcript that a Claude Code hook names, and those of its sub-agents.
pub(super) fn transcripts(input: impl Read) -> anyhow::Result<Vec<PathBuf>> {
    let mut text = String::new();
    let read = input.take(MAX_BYTES).read_to_string(&mut text);
    read.context("cannot read the hook input on stdin")?;
    let HookInput { transcript_path } = serde_json::from_str(&text).context(
        "stdin is not Claude Code hook input: expected a JSON object with transcript_path",
    )?;
    let beside = transcript_path.with_extension("");
    let has_more = beside.is_dir() && beside != transcript_path;
    Ok(std::iter::once(transcript_path).chain(has_more.then_some(beside)).collect())
}
