use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use super::sanitize::plain;
use super::style::Marks;

/// A tool's input, every word of it, in lines behind a margin: a command as it would be typed, a
/// change as what goes and what comes, anything else as JSON.
pub(crate) fn exactly(input: &Value) -> Vec<(String, Marks)> {
    let Some(all) = input.as_object() else { return json(input) };
    let mut rest = all.clone();
    let mut lines = Vec::new();
    if let Some(command) = taken(&mut rest, "command") {
        // The agent's description of its command is not the command.
        rest.remove("description");
        lines.extend(behind_margin(&command, Marks::BOLD));
    }
    if let Some(path) = taken(&mut rest, "file_path") {
        lines.extend(behind_margin(&path, Marks::BOLD));
    }
    let old = taken(&mut rest, "old_string");
    let new = taken(&mut rest, "new_string");
    if old.is_some() || new.is_some() {
        lines.extend(change(&old.unwrap_or_default(), &new.unwrap_or_default()));
    }
    if let Some(content) = taken(&mut rest, "content") {
        lines.extend(change("", &content));
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.extend(json(&Value::Object(rest)));
    }
    lines
}

/// A text among others, which is shown in its own way.
fn taken(rest: &mut Map<String, Value>, key: &str) -> Option<String> {
    let text = rest.get(key)?.as_str()?.to_owned();
    rest.remove(key);
    Some(text)
}

fn behind_margin(text: &str, marks: Marks) -> Vec<(String, Marks)> {
    plain(text).lines().map(|line| (format!("    {line}"), marks)).collect()
}

fn json(value: &Value) -> Vec<(String, Marks)> {
    let text = match value {
        Value::Object(map) if map.len() == 1 => value.to_string(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    behind_margin(&text, Marks::NONE)
}

/// What goes and what comes, with everything between.
fn change(old: &str, new: &str) -> Vec<(String, Marks)> {
    let (old, new) = (plain(old), plain(new));
    let diff = TextDiff::from_lines(&old, &new);
    let lines = diff.iter_all_changes().map(|change| {
        let (sign, marks) = match change.tag() {
            ChangeTag::Delete => ("-", Marks::RED),
            ChangeTag::Insert => ("+", Marks::GREEN),
            ChangeTag::Equal => (" ", Marks::DIM),
        };
        (format!("  {sign} {}", change.value().trim_end_matches('\n')), marks)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(input: &Value) -> String {
        exactly(input).into_iter().map(|(line, _)| line + "\n").collect()
    }

    #[test]
    fn commands_and_changes_are_shown_to_the_letter() {
        let command = json!({"command": "rm -rf build\necho \u{1b}[2K\u{202e}done", "timeout": 5, "description": "tidy"});
        insta::assert_snapshot!(shown(&command), @r#"
            rm -rf build
            echo �[2K�done
            {"timeout":5}
        "#);
        let edit = json!({"file_path": "/w/a.rs", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree", "replace_all": true});
        insta::assert_snapshot!(shown(&edit), @r#"
            /w/a.rs
            one
          - two
          + 2
            three
            {"replace_all":true}
        "#);
        let write = json!({"file_path": "/w/b", "content": "new\n"});
        insta::assert_snapshot!(shown(&write), @r"
            /w/b
          + new
        ");
        assert_eq!(shown(&json!({"a": 1, "b": [2]})).lines().count(), 6);
        assert_eq!(shown(&json!({})), "    {}\n");
        assert_eq!(shown(&json!("x")), "    \"x\"\n");
    }
}
