use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::judge::notations::{Notations, UserRole};
use crate::payload::Payload;
use crate::record::message_formats::{
    self, ChatMessage, MessageRole, Part, Reading, RecordedResult,
};

/// Tags of text that harnesses insert into user messages.
const REMINDER_TAGS: (&str, &str) = ("<system-reminder>", "</system-reminder>");
/// The start of the message that records an interruption by the user.
const INTERRUPTION: &str = "[Request interrupted";
/// Keys under which applications record questions and answers.
const TEXT_KEYS: [&str; 14] = [
    "question",
    "query",
    "prompt",
    "user_prompt",
    "message",
    "input",
    "task",
    "request",
    "answer",
    "response",
    "output",
    "result",
    "text",
    "content",
];
/// The maximum depth at which those keys are searched.
const MAX_DEPTH: usize = 4;

/// A message or tool call in a payload.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    User(String),
    Agent(String),
    /// A tool call of the agent.
    Call(MessageCall),
    /// A tool result, separate from its call.
    Result(Option<String>, ToolOutput),
}

/// A tool call in a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MessageCall {
    /// The id that its result refers to.
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) input: Value,
    /// The result, where the same payload contains it.
    pub(super) output: Option<ToolOutput>,
}

/// A tool result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolOutput {
    pub(super) text: String,
    /// Whether it is recorded as an error.
    pub(super) is_error: bool,
}

impl Item {
    /// Returns a key for deduplication; `None` for results, which only complete a call.
    pub(super) fn key(&self) -> Option<u64> {
        match self {
            Self::User(text) => Some(key_of(&('u', text.trim()))),
            Self::Agent(text) => Some(key_of(&('a', text.trim()))),
            Self::Call(call) => Some(key_of(&('c', &call.tool, call.input.to_string()))),
            Self::Result(..) => None,
        }
    }
}

/// Hashes an item. Collision resistance is not needed: a crafted collision only hides the
/// attacker's own text.
pub(super) fn key_of(thing: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// Returns the items of a payload; text without a role is attributed to `speaker`.
pub(super) fn items(payload: &Payload, speaker: &MessageRole, notations: &Notations) -> Vec<Item> {
    let payload = payload.to_json();
    if payload.as_str().trim() == "null" {
        return Vec::new();
    }
    let mut items = Items { notations, list: Vec::new() };
    match message_formats::read(payload.as_str()) {
        Reading::Messages(messages) => {
            for message in messages {
                items.message(message);
            }
        }
        Reading::Text(text) => items.text(speaker, text),
        Reading::Data(text) => {
            let value = serde_json::from_str(&text).unwrap_or(Value::Null);
            let found = find_text(&value, 0).map(str::to_owned);
            items.text(speaker, found.unwrap_or(text));
        }
    }
    items.list
}

/// Returns the text in an application's own record.
fn find_text(value: &Value, depth: usize) -> Option<&str> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::String(text) => Some(text),
        Value::Array(list) if list.len() == 1 => find_text(&list[0], depth + 1),
        Value::Object(object) if object.len() == 1 => find_text(object.values().next()?, depth + 1),
        Value::Object(object) => {
            let known = TEXT_KEYS.iter().find_map(|key| find_text(object.get(*key)?, depth + 1));
            known.or_else(|| find_text(object.get("kwargs")?, depth + 1))
        }
        _ => None,
    }
}

/// The items of a payload so far.
struct Items<'a> {
    notations: &'a Notations,
    list: Vec<Item>,
}

impl Items<'_> {
    fn message(&mut self, message: ChatMessage) {
        let is_beside_result = is_beside_result(&message);
        let ChatMessage { role, parts, .. } = message;
        for part in parts {
            match part {
                Part::Text(_) if is_beside_result => {}
                Part::Text(text) => self.text(&role, text),
                Part::Call(call) => self.list.push(Item::Call(MessageCall {
                    id: call.id,
                    tool: call.name,
                    input: call.arguments,
                    output: call.result.map(tool_output),
                })),
                Part::Result(result) => {
                    self.list.push(Item::Result(result.id.clone(), tool_output(result)));
                }
                Part::Thinking(_) | Part::Picture(_) | Part::Data(_) => {}
            }
        }
    }

    /// Adds a text of a message. System messages are not part of the timeline.
    fn text(&mut self, role: &MessageRole, text: String) {
        if text.trim().is_empty() {
            return;
        }
        match role {
            MessageRole::User => self.user_role(&text),
            MessageRole::Assistant => self.list.push(Item::Agent(text)),
            MessageRole::Tool => {
                self.list.push(Item::Result(None, ToolOutput { text, is_error: false }));
            }
            MessageRole::System | MessageRole::Other(_) => {}
        }
    }

    /// Adds a text in the role of the user: what a person wrote, or the result of a call.
    fn user_role(&mut self, text: &str) {
        let written = without_reminders(text);
        let written = written.trim();
        if written.is_empty() {
            return;
        }
        match self.notations.user_role(written) {
            UserRole::User => self.list.push(Item::User(written.to_owned())),
            UserRole::Result => self.result(written),
            UserRole::Note => {}
        }
    }

    /// Adds a result that is a message of its own: to the call in the agent's text before.
    fn result(&mut self, text: &str) {
        let output = ToolOutput { text: text.to_owned(), is_error: false };
        let call = match self.list.last() {
            Some(Item::Agent(before)) => self.notations.text_call(before),
            _ => None,
        };
        self.list.push(match call {
            Some(call) => Item::Call(MessageCall {
                id: None,
                tool: call.tool,
                input: call.input,
                output: Some(output),
            }),
            None => Item::Result(None, output),
        });
    }
}

/// Returns whether the text of a message stands beside tool results. A user has no turn while calls
/// are answered, unless by an interruption.
fn is_beside_result(message: &ChatMessage) -> bool {
    let is_result = |part: &Part| match part {
        Part::Result(_) => true,
        // Results that were moved to their calls leave an empty text.
        Part::Text(text) => text.is_empty(),
        _ => false,
    };
    let interrupts =
        |part: &Part| matches!(part, Part::Text(text) if text.starts_with(INTERRUPTION));
    message.role == MessageRole::User
        && message.parts.iter().any(is_result)
        && !message.parts.iter().any(interrupts)
}

/// Returns a message without the text that harnesses insert.
fn without_reminders(text: &str) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(REMINDER_TAGS.0) {
        written.push_str(before);
        rest = inside.split_once(REMINDER_TAGS.1).map_or("", |(_, after)| after);
    }
    written.push_str(rest);
    written
}

fn tool_output(result: RecordedResult) -> ToolOutput {
    let texts = result.parts.into_iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Data(value) => Some(value.to_string()),
        _ => None,
    });
    ToolOutput { text: texts.collect::<Vec<_>>().join("\n"), is_error: result.is_error }
}
