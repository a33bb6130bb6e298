use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// Position in a conversation before its first message.
pub(in super::super) const BEGINNING: Uuid = Uuid::nil();

/// A transcript line, as far as its position in the conversation goes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TranscriptLine {
    uuid: String,
    r#type: String,
    #[serde(default)]
    pub(super) is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    message: Option<Value>,
}

impl TranscriptLine {
    pub(super) fn id(&self) -> Option<Uuid> {
        Uuid::parse_str(&self.uuid).ok()
    }

    /// Whether it is a message of a user.
    pub(super) fn is_prompt(&self) -> bool {
        let is_result = |block: &Value| block["type"] == "tool_result";
        let content = self.message.as_ref().map(|message| &message["content"]);
        let answers_tool =
            content.and_then(Value::as_array).is_some_and(|c| c.iter().any(is_result));
        self.r#type == "user" && !self.is_meta && !answers_tool
    }
}

/// Whether the agent has stored a conversation in its folder.
pub(in super::super) fn is_kept(config: &Path, conversation: Uuid) -> bool {
    file_of(config, conversation).is_some()
}

pub(super) fn file_of(config: &Path, conversation: Uuid) -> Option<PathBuf> {
    let name = format!("{conversation}.jsonl");
    let folders = std::fs::read_dir(config.join("projects")).into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join(&name)).find(|file| file.is_file())
}

/// Id of the last line of a conversation, now or when a message had been answered: the point to
/// fork at. `None` if there is no such message, or nothing is stored.
pub(in super::super) fn fork_point(
    config: &Path,
    conversation: Uuid,
    message: Option<Uuid>,
) -> Option<Uuid> {
    let file = BufReader::new(File::open(file_of(config, conversation)?).ok()?);
    let lines = file.lines().map_while(Result::ok);
    let lines = lines.filter_map(|line| serde_json::from_str::<TranscriptLine>(&line).ok());
    let mut lines = lines.filter(|line| !line.is_sidechain);
    let Some(message) = message else { return lines.last()?.id() };
    let named = lines.find(|line| line.id() == Some(message))?;
    if !named.is_prompt() {
        return named.id();
    }
    let answer = lines.take_while(|line| !line.is_prompt()).last();
    answer.unwrap_or(named).id()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    /// A folder with one conversation: two prompts, each answered, one with a tool.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let line = |n: u128, kind: &str, content: Value| {
            json!({"type": kind, "uuid": id(n).to_string(), "message": {"content": content}})
                .to_string()
        };
        let result = json!([{"type": "tool_result", "tool_use_id": "t"}]);
        let lines = [
            line(1, "user", json!("First.")),
            line(2, "assistant", json!([{"type": "tool_use", "id": "t"}])),
            line(3, "user", result),
            json!({"type": "assistant", "uuid": id(9).to_string(), "isSidechain": true})
                .to_string(),
            "not a line".to_owned(),
            line(4, "assistant", json!([{"type": "text", "text": "One."}])),
            json!({"type": "last-prompt"}).to_string(),
            line(5, "user", json!("Second.")),
            line(6, "assistant", json!([{"type": "text", "text": "Two."}])),
        ];
        std::fs::create_dir_all(folder.path().join("projects/work")).unwrap();
        let file = folder.path().join(format!("projects/work/{}.jsonl", id(100)));
        std::fs::write(file, lines.join("\n")).unwrap();
        folder
    }

    #[track_caller]
    fn check(message: Option<u128>, expected: Option<u128>) {
        let found = fork_point(folder().path(), id(100), message.map(id));
        assert_eq!(found, expected.map(id));
    }

    #[test]
    fn the_present_is_the_last_line() {
        check(None, Some(6));
    }

    #[test]
    fn a_prompt_stands_for_its_answer() {
        check(Some(1), Some(4));
        check(Some(5), Some(6));
    }

    #[test]
    fn any_other_line_stands_for_itself() {
        check(Some(2), Some(2));
        check(Some(3), Some(3));
    }

    #[test]
    fn what_was_not_said_has_no_place() {
        check(Some(7), None);
        check(Some(9), None);
        assert_eq!(fork_point(folder().path(), id(101), None), None);
        assert!(is_kept(folder().path(), id(100)) && !is_kept(folder().path(), id(101)));
    }
}
