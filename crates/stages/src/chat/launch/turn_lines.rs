use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use ratchet_core::record::claude_code::transcript::SubAgentMetadata;
use uuid::Uuid;

use super::thread::{TranscriptLine, file_of};

/// Maximum bytes of one turn; the rest is left to an import.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Suffix of the metadata file of a sub-agent's transcript.
const ABOUT: &str = ".meta.json";

/// Transcript lines of a turn, of the agent or one of its sub-agents.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct TurnFile {
    pub(in super::super) path: PathBuf,
    /// Metadata of the sub-agent.
    pub(in super::super) about: Option<String>,
    pub(in super::super) lines: Vec<String>,
}

impl TurnFile {
    /// The tool call that started the sub-agent.
    pub(in super::super) fn call(&self) -> Option<String> {
        SubAgentMetadata::parse(self.about.as_ref()?).tool_use
    }
}

/// Reads the transcript of the turn that a message started, or of the last turn: the conversation
/// first, then its sub-agents.
pub(in super::super) fn of_turn(
    config: &Path,
    conversation: Uuid,
    message: Option<Uuid>,
) -> Vec<TurnFile> {
    let Some(path) = file_of(config, conversation) else { return Vec::new() };
    let mut room = MAX_BYTES;
    let lines = match message {
        Some(message) => since(&path, message, &mut room),
        None => since_the_last_prompt(&path, &mut room),
    };
    let folder = path.with_extension("").join("subagents");
    let mut files = vec![TurnFile { path, about: None, lines }];
    let mut others = subagents(&folder);
    // Sub-agents start others.
    while let Some(call) = others.keys().find(|call| is_begun(&files, call)).cloned() {
        let Some((path, about)) = others.remove(&call) else { break };
        let lines = all(&path, &mut room);
        files.push(TurnFile { path, about: Some(about), lines });
    }
    files
}

fn is_begun(files: &[TurnFile], call: &str) -> bool {
    files.iter().flat_map(|file| &file.lines).any(|line| line.contains(call))
}

/// Takes lines while the byte limit permits.
fn taken(lines: impl Iterator<Item = String>, room: &mut usize) -> Vec<String> {
    let fits = |line: &String| {
        let left = room.checked_sub(line.len());
        *room = left.unwrap_or(0);
        left.is_some()
    };
    lines.take_while(fits).collect()
}

fn all(path: &Path, room: &mut usize) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    taken(BufReader::new(file).lines().map_while(Result::ok), room)
}

fn since(path: &Path, message: Uuid, room: &mut usize) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let id = message.to_string();
    let is_before = |line: &String| {
        // Searched before parsing: most lines do not contain it.
        let is_it = line.contains(&id) && read(line).and_then(|line| line.id()) == Some(message);
        !is_it
    };
    taken(BufReader::new(file).lines().map_while(Result::ok).skip_while(is_before), room)
}

fn since_the_last_prompt(path: &Path, room: &mut usize) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut lines: Vec<String> = Vec::new();
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        if read(&line).is_some_and(|line| line.is_prompt() && !line.is_sidechain) {
            lines.clear();
        }
        lines.push(line);
    }
    taken(lines.into_iter(), room)
}

fn read(line: &str) -> Option<TranscriptLine> {
    serde_json::from_str(line).ok()
}

/// Transcripts of sub-agents, by the calls that started them, with their metadata.
fn subagents(folder: &Path) -> BTreeMap<String, (PathBuf, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let known = entries.filter_map(|entry| {
        let name = entry.file_name().to_str()?.strip_suffix(ABOUT)?.to_owned();
        let about = std::fs::read_to_string(entry.path()).ok()?;
        let call = SubAgentMetadata::parse(&about).tool_use?;
        Some((call, (folder.join(format!("{name}.jsonl")), about)))
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn line(n: u128, kind: &str, content: &Value) -> String {
        json!({"type": kind, "uuid": id(n).to_string(), "message": {"content": content}})
            .to_string()
    }

    /// A conversation of two turns, the second with a sub-agent that started another.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let projects = folder.path().join("projects/work");
        let agents = projects.join(id(100).to_string()).join("subagents");
        std::fs::create_dir_all(&agents).unwrap();
        let call = |id: &str| json!([{"type": "tool_use", "id": id}]);
        let lines = [
            line(1, "user", &json!("First.")),
            line(2, "assistant", &call("toolu_old")),
            line(3, "user", &json!("Second.")),
            line(4, "assistant", &call("toolu_a")),
            "{\"type\":\"assistant\",\"mess".to_owned(),
        ];
        std::fs::write(projects.join(format!("{}.jsonl", id(100))), lines.join("\n")).unwrap();
        for (agent, began, says) in
            [("a", "toolu_a", "toolu_b"), ("b", "toolu_b", "x"), ("old", "toolu_old", "x")]
        {
            let about = json!({"agentType": "scout", "toolUseId": began}).to_string();
            std::fs::write(agents.join(format!("agent-{agent}.meta.json")), about).unwrap();
            let said = line(9, "assistant", &call(says));
            std::fs::write(agents.join(format!("agent-{agent}.jsonl")), said).unwrap();
        }
        folder
    }

    #[track_caller]
    fn check(message: Option<u128>, lines: &[usize], calls: &[&str]) {
        let files = of_turn(folder().path(), id(100), message.map(id));
        let found: Vec<usize> = files.iter().map(|file| file.lines.len()).collect();
        assert_eq!(found, lines);
        let called: Vec<String> = files.iter().filter_map(TurnFile::call).collect();
        assert_eq!(called, calls);
    }

    #[test]
    fn a_turn_is_what_follows_its_message_with_its_sub_agents() {
        check(Some(3), &[3, 1, 1], &["toolu_a", "toolu_b"]);
        check(None, &[3, 1, 1], &["toolu_a", "toolu_b"]);
    }

    #[test]
    fn a_message_that_was_never_kept_has_nothing() {
        check(Some(8), &[0], &[]);
        assert_eq!(of_turn(folder().path(), id(101), None), []);
    }
}
