use std::time::Duration;

use serde_json::{Map, Value, json};

/// A moment at which the program asks us before it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRule {
    /// The name of the moment: `PreToolUse`, `Stop` …; the program knows which there are.
    pub event: String,
    /// Which tools, as the program matches them (`Bash|Edit`); all when `None`.
    pub matcher: Option<String>,
    /// What the program calls us by, once for each.
    pub callbacks: Vec<String>,
    /// How long it waits for us; as long as it does by itself when `None`.
    pub timeout: Option<Duration>,
    /// What it does when no answer comes.
    pub on_failure: HookFailure,
}

/// What the program does when a hook gives no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookFailure {
    #[default]
    GoOn,
    /// It does not.
    Block,
}

impl HookRule {
    /// A moment of every tool, under one name.
    pub fn new(event: &str, callback: &str) -> Self {
        Self {
            event: event.to_owned(),
            matcher: None,
            callbacks: vec![callback.to_owned()],
            timeout: None,
            on_failure: HookFailure::GoOn,
        }
    }

    /// The same, only for tools that match.
    #[must_use]
    pub fn matching(self, tools: &str) -> Self {
        Self { matcher: Some(tools.to_owned()), ..self }
    }
}

/// The rules as `initialize` takes them: by event, in the order they were given.
pub(super) fn registration(rules: &[HookRule]) -> Value {
    let mut events: Map<String, Value> = Map::new();
    for rule in rules {
        let mut entry = json!({"matcher": rule.matcher, "hookCallbackIds": rule.callbacks});
        if let Some(timeout) = rule.timeout {
            entry["timeout"] = json!(timeout.as_secs().max(1));
        }
        if rule.on_failure == HookFailure::Block {
            entry["onFailure"] = json!("block");
        }
        let entries = events.entry(&rule.event).or_insert_with(|| json!([]));
        if let Value::Array(entries) = entries {
            entries.push(entry);
        }
    }
    Value::Object(events)
}

/// Continues without a decision.
pub fn go_on() -> Value {
    json!({})
}

/// Refuses a tool before it runs, and tells the model why.
pub fn deny(reason: &str) -> Value {
    decision("deny", reason)
}

/// Lets a person decide about a tool.
pub fn ask(reason: &str) -> Value {
    decision("ask", reason)
}

/// Allows a tool call with another input, without a permission prompt.
pub fn allow_with(input: &Value) -> Value {
    let mut said = decision("allow", "");
    said["hookSpecificOutput"]["updatedInput"] = input.clone();
    said
}

/// Adds something the model reads, at a moment that takes it (`UserPromptSubmit`, `PostToolUse`,
/// `SessionStart` …).
pub fn add_context(event: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}

/// Stops a prompt, or keeps the agent from stopping, and says why.
pub fn block(reason: &str) -> Value {
    json!({"decision": "block", "reason": reason})
}

fn decision(word: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": word,
        "permissionDecisionReason": reason,
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_one_moment_stay_in_order() {
        let slow = HookRule { timeout: Some(Duration::from_secs(5)), ..HookRule::new("Stop", "c") };
        let strict = HookRule { on_failure: HookFailure::Block, ..slow };
        let rules = [
            HookRule::new("PreToolUse", "a").matching("Bash"),
            HookRule::new("PreToolUse", "b"),
            strict,
        ];
        assert_eq!(
            registration(&rules),
            json!({
                "PreToolUse": [
                    {"matcher": "Bash", "hookCallbackIds": ["a"]},
                    {"matcher": null, "hookCallbackIds": ["b"]},
                ],
                "Stop": [{"matcher": null, "hookCallbackIds": ["c"], "timeout": 5, "onFailure": "block"}],
            })
        );
    }
}
