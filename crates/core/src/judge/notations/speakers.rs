use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use super::Notations;

/// What a message in the role of the user is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Meaning {
    /// The result of a call.
    Result,
    /// The framework's own words.
    Note,
}

/// The notation of a message in the role of the user that no user wrote.
#[derive(Clone, Debug)]
pub(super) struct UserRoleNotation {
    pub(super) is: Meaning,
    pub(super) pattern: Regex,
}

/// The notation of a call in an agent's text.
#[derive(Clone, Debug)]
pub(super) struct CallNotation {
    pub(super) pattern: Regex,
    pub(super) tool: Option<String>,
    /// Whether a text has it only if it is a call.
    pub(super) sure: bool,
}

/// Who wrote a message in the role of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserRole {
    User,
    /// A framework, which reports the result of a call.
    Result,
    /// A framework, which speaks for itself.
    Note,
}

/// A call that an agent wrote as text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextCall {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Where it starts in the text.
    pub(crate) start: usize,
    /// Whether it is a call even without a result.
    pub(crate) is_sure: bool,
}

impl Notations {
    /// Returns who wrote a message in the role of the user.
    pub(crate) fn user_role(&self, text: &str) -> UserRole {
        let known = self.user_roles.iter().find(|notation| notation.pattern.is_match(text));
        match known.map(|notation| notation.is) {
            None => UserRole::User,
            Some(Meaning::Result) => UserRole::Result,
            Some(Meaning::Note) => UserRole::Note,
        }
    }

    /// Returns the call that an agent's text ends with.
    pub(crate) fn text_call(&self, text: &str) -> Option<TextCall> {
        self.calls.iter().find_map(|notation| {
            let found = notation.pattern.captures_iter(text).last()?;
            call(&found, notation)
        })
    }
}

fn call(found: &Captures<'_>, notation: &CallNotation) -> Option<TextCall> {
    let (tool, is_sure) = (notation.tool.as_deref(), notation.sure);
    let start = found.get(0)?.start();
    if let Some(command) = found.name("command") {
        let input = json!({"command": command.as_str().trim()});
        return Some(TextCall { tool: tool?.to_owned(), input, start, is_sure });
    }
    if let Some(text) = found.name("json") {
        let object: Map<String, Value> = serde_json::from_str(text.as_str()).ok()?;
        let tool = object.get("name")?.as_str()?.to_owned();
        let input = object.get("arguments").or_else(|| object.get("parameters"));
        let input = input.cloned().unwrap_or_default();
        return Some(TextCall { tool, input, start, is_sure });
    }
    let tool = found.name("tool").map(|name| name.as_str()).or(tool)?.to_owned();
    Some(TextCall { tool, input: arguments(found.name("input")?.as_str()), start, is_sure })
}

/// Reads arguments as JSON, as parameters in tags, or else as text.
fn arguments(text: &str) -> Value {
    let text = text.trim();
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return value;
    }
    let mut object = Map::new();
    let mut rest = text;
    while let Some((name, value, after)) = parameter(rest) {
        object.insert(name.to_owned(), Value::from(value.trim()));
        rest = after;
    }
    if object.is_empty() { Value::from(text) } else { Value::Object(object) }
}

/// Splits off the first `<parameter=name>value</parameter>` or `<name>value</name>`.
fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (_, opened) = text.split_once('<')?;
    let (tag, inside) = opened.split_once('>')?;
    let (name, close) = match tag.strip_prefix("parameter=") {
        Some(name) => (name, "</parameter>".to_owned()),
        None => (tag, format!("</{tag}>")),
    };
    let (value, after) = inside.split_once(&close)?;
    Some((name, value, after))
}
