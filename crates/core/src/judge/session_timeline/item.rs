use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::payload::Payload;
use crate::record::message_formats::{self, ChatMessage, Part, Reading, RecordedResult, Role};

/// What begins a text in a user's place that no person wrote: notes that harnesses leave.
const NOTES: [&str; 9] = [
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<command-",
    "<bash-input>",
    "<user-memory-input>",
    "<task-notification>",
    "Caveat: The messages below",
    "This session is being continued from a previous conversation",
];
/// What harnesses put into the words of a user.
const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");
/// Where applications keep what they were asked and what they answered.
const WORDS: [&str; 14] = [
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
/// How deep those are looked for.
const MAX_DEPTH: usize = 4;

/// A thing said or done, as a payload tells it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    User(String),
    Agent(String),
    /// The agent calls a tool.
    Call(Called),
    /// What a tool gave back, apart from its call.
    Back(Option<String>, Given),
}

/// A call of a tool in a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Called {
    /// What its result refers to.
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) input: Value,
    /// What it gave back, where the same payload says so.
    pub(super) given: Option<Given>,
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    pub(super) text: String,
    /// Whether the recording calls it an error.
    pub(super) is_error: bool,
}

impl Item {
    /// What makes it the same as another; `None` for what only completes another.
    pub(super) fn key(&self) -> Option<u64> {
        match self {
            Self::User(text) => Some(key_of(&('u', text.trim()))),
            Self::Agent(text) => Some(key_of(&('a', text.trim()))),
            Self::Call(call) => Some(key_of(&('c', &call.tool, call.input.to_string()))),
            Self::Back(..) => None,
        }
    }
}

/// A short stand-in for a thing. It need not be kept from those who look for collisions: all they
/// could do is to hide what they themselves said.
pub(super) fn key_of(thing: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// What a payload tells; words that nobody claims are `speaker`'s.
pub(super) fn items(payload: &Payload, speaker: &Role) -> Vec<Item> {
    let payload = payload.to_json();
    if payload.as_str().trim() == "null" {
        return Vec::new();
    }
    match message_formats::read(payload.as_str()) {
        Reading::Messages(messages) => messages.into_iter().flat_map(of_message).collect(),
        Reading::Text(text) => said(speaker, text).into_iter().collect(),
        Reading::Data(text) => {
            let value = serde_json::from_str(&text).unwrap_or(Value::Null);
            let words = words(&value, 0).map_or(text, str::to_owned);
            said(speaker, words).into_iter().collect()
        }
    }
}

/// The words in a record of an application's own.
fn words(value: &Value, depth: usize) -> Option<&str> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::String(text) => Some(text),
        Value::Array(list) if list.len() == 1 => words(&list[0], depth + 1),
        Value::Object(object) if object.len() == 1 => words(object.values().next()?, depth + 1),
        Value::Object(object) => {
            let known = WORDS.iter().find_map(|key| words(object.get(*key)?, depth + 1));
            known.or_else(|| words(object.get("kwargs")?, depth + 1))
        }
        _ => None,
    }
}

fn of_message(message: ChatMessage) -> Vec<Item> {
    let ChatMessage { role, parts, .. } = message;
    let mut told: Vec<Item> = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => told.extend(said(&role, text)),
            Part::Call(call) => told.push(Item::Call(Called {
                id: call.id,
                tool: call.name,
                input: call.arguments,
                given: call.result.map(given),
            })),
            Part::Result(result) => {
                told.push(Item::Back(result.id.clone(), given(result)));
            }
            Part::Thinking(_) | Part::Picture(_) | Part::Data(_) => {}
        }
    }
    told
}

/// Words in someone's mouth. Who wrote the agent is not part of what happened.
fn said(role: &Role, text: String) -> Option<Item> {
    if text.trim().is_empty() {
        return None;
    }
    match role {
        Role::User => person(&text).map(Item::User),
        Role::Assistant => Some(Item::Agent(text)),
        Role::Tool => Some(Item::Back(None, Given { text, is_error: false })),
        Role::System | Role::Other(_) => None,
    }
}

/// What a person wrote of a text in a user's place.
fn person(text: &str) -> Option<String> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(REMINDER.0) {
        kept.push_str(before);
        rest = inside.split_once(REMINDER.1).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    let words = kept.trim();
    let is_note = words.is_empty() || NOTES.iter().any(|note| words.starts_with(note));
    (!is_note).then(|| words.to_owned())
}

fn given(result: RecordedResult) -> Given {
    let texts = result.parts.into_iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Data(value) => Some(value.to_string()),
        _ => None,
    });
    Given { text: texts.collect::<Vec<_>>().join("\n"), is_error: result.is_error }
}
