use serde_json::Value;

use super::{PermissionPromptView, ToolView};

/// Input fields that describe a tool call best, in this order.
const TELLING: [&str; 10] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "prompt",
];

/// The most descriptive field of a tool's input, if known.
pub fn best_known(input: &Value) -> Option<&str> {
    TELLING.iter().find_map(|key| input[*key].as_str())
}

impl ToolView {
    /// Short description of a tool's input.
    pub fn gist(&self) -> String {
        best_known(&self.input).map_or_else(|| in_words(&self.input), str::to_owned)
    }

    /// Text of a tool's result.
    pub fn output_text(&self) -> String {
        match &self.output {
            Some(Value::Array(blocks)) => {
                let say = |block: &Value| match block["text"].as_str() {
                    Some(text) => text.to_owned(),
                    None => format!("({})", block["type"].as_str().unwrap_or("something else")),
                };
                blocks.iter().map(say).collect::<Vec<_>>().join("\n")
            }
            Some(other) => in_words(other),
            None => String::new(),
        }
    }
}

impl PermissionPromptView {
    /// Who answered and how; `None` while it is open.
    pub fn outcome(&self) -> Option<String> {
        self.answer.as_ref().map(outcome)
    }
}

/// Text of an answer.
pub fn outcome(answer: &Value) -> String {
    let what = match answer["decision"].as_str() {
        Some("allow") if answer["always"] == true => "allowed for this chat",
        Some("allow") => "allowed",
        Some("deny") => "denied",
        Some("answer") => "answered",
        Some("timeout") => "nobody answered in time",
        _ => "no longer asked",
    };
    match answer["by"].as_str() {
        Some(by) => format!("{what} by {by}"),
        None => what.to_owned(),
    }
}

/// Reason of a turn that was interrupted before the agent received its message.
pub const ABORTED_START: &str = "aborted_start";

/// Why a turn ended early: the reason, and its message if that adds something.
///
/// The agent may repeat a text in several fields; each is shown once.
pub fn early_end(end: &Value) -> (String, Option<&str>) {
    let text = |key: &str| end[key].as_str().filter(|text| !text.is_empty());
    let word = match text("reason").or_else(|| text("subtype")).unwrap_or("failed") {
        "aborted_streaming" | "aborted_tools" | ABORTED_START => "interrupted".to_owned(),
        word => word.replace('_', " "),
    };
    let said = text("result").filter(|said| end["subtype"] != *said && *said != word);
    (word, said)
}

/// Any JSON value as text.
pub fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Object(map) if map.is_empty() => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn why_a_turn_ended_is_said_once() {
        let labels_of = |end: Value| {
            let (word, said) = early_end(&end);
            [Some(word), said.map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>()
        };
        let same = json!({"subtype": "error_during_execution", "result": "error_during_execution"});
        assert_eq!(labels_of(same), ["error during execution"]);
        let more = json!({"subtype": "success", "reason": "api_error", "result": "API Error: 400"});
        assert_eq!(labels_of(more), ["api error", "API Error: 400"]);
        let stopped = json!({"reason": "aborted_tools", "result": "interrupted"});
        assert_eq!(labels_of(stopped), ["interrupted"]);
        assert_eq!(labels_of(json!({"subtype": "error_max_turns"})), ["error max turns"]);
        assert_eq!(labels_of(json!({})), ["failed"]);
    }
}
