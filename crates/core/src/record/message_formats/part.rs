use serde_json::{Map, Value};

use super::picture;
use super::{Part, RecordedCall, RecordedResult};

/// Returns the text of the first key that has one.
pub(super) fn text_at(object: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let texts = keys.iter().filter_map(|key| object.get(*key)?.as_str());
    texts.into_iter().find(|text| !text.is_empty()).map(str::to_owned)
}

/// Parses the content of a message: a text, a list of parts, one part, or nothing.
pub(super) fn parts(content: &Value) -> Vec<Part> {
    match content {
        Value::Null => Vec::new(),
        Value::String(text) => picture::split(text),
        Value::Array(list) => list.iter().flat_map(several).collect(),
        other => several(other),
    }
}

/// A text part may contain media references.
fn several(value: &Value) -> Vec<Part> {
    match part(value) {
        Part::Text(text) => picture::split(&text),
        other => vec![other],
    }
}

/// Parses a tool result: parts where it has them, else text or JSON.
pub(super) fn result_parts(content: &Value) -> Vec<Part> {
    let is_parts = content.as_array().is_some_and(|list| {
        !list.is_empty()
            && list.iter().all(|part| part.get("type").is_some() || part.get("text").is_some())
    });
    match content {
        Value::Null => Vec::new(),
        Value::String(text) => picture::split(text),
        list @ Value::Array(_) if is_parts => parts(list),
        Value::Object(object) if object.len() <= 2 && object.contains_key("value") => {
            // Vercel wraps results: {"type": "json", "value": …}.
            object.get("value").map(result_parts).unwrap_or_default()
        }
        other => vec![Part::Data(other.clone())],
    }
}

/// Parses the arguments of a call, which are JSON or JSON in a string.
pub(super) fn arguments(sent: Option<&Value>) -> Value {
    match sent {
        Some(Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

/// Parses one part; unknown formats are data.
pub(super) fn part(value: &Value) -> Part {
    let read = match value {
        Value::String(text) => Some(Part::Text(text.clone())),
        Value::Object(object) => match object.get("type").and_then(Value::as_str) {
            Some(kind) => typed(kind, object),
            None => untyped(object),
        },
        _ => None,
    };
    read.unwrap_or_else(|| Part::Data(value.clone()))
}

/// Parses a part with a type.
fn typed(kind: &str, object: &Map<String, Value>) -> Option<Part> {
    match kind {
        "text" | "input_text" | "output_text" | "refusal" | "summary_text" | "reasoning_text" => {
            text_at(object, &["text", "content", "refusal"]).map(Part::Text)
        }
        "thinking" | "reasoning" | "redacted_thinking" => {
            let thought = text_at(object, &["thinking", "text", "content", "reasoning"]);
            let hidden = || "(not shown by the provider)".to_owned();
            Some(Part::Thinking(thought.unwrap_or_else(hidden)))
        }
        "image_url" | "input_image" | "image" | "file" | "blob" | "uri" | "document"
        | "input_file" | "input_audio" | "media" => picture::read(object).map(Part::Picture),
        "tool_use" | "server_tool_use" | "tool-call" | "tool_call" => call(object),
        "tool_result" | "tool-result" | "tool_call_response" => Some(result(object)),
        "tool-invocation" => match object.get("toolInvocation")? {
            Value::Object(invocation) => invoked(invocation, text_at(invocation, &["toolName"])?),
            _ => None,
        },
        "step-start" => Some(Part::Text(String::new())),
        _ => {
            let name = kind.strip_prefix("tool-")?;
            object.get("toolCallId").and_then(|_| invoked(object, name.to_owned()))
        }
    }
}

/// Parses a part without a type, by its keys: Gemini's and Bedrock's.
fn untyped(object: &Map<String, Value>) -> Option<Part> {
    if let Some(text) = object.get("text").and_then(Value::as_str) {
        let is_thought = object.get("thought").and_then(Value::as_bool) == Some(true);
        let text = text.to_owned();
        return Some(if is_thought { Part::Thinking(text) } else { Part::Text(text) });
    }
    let (key, inner) = object.iter().find_map(|(key, value)| Some((key, value.as_object()?)))?;
    match key.as_str() {
        "functionCall" | "function_call" | "toolUse" => call(inner),
        "functionResponse" | "function_response" | "toolResult" => Some(result(inner)),
        "inlineData" | "inline_data" | "fileData" | "file_data" | "image" => {
            picture::read(inner).map(Part::Picture)
        }
        "reasoningContent" => {
            let thought = inner.get("reasoningText").and_then(Value::as_object);
            text_at(thought.unwrap_or(inner), &["text"]).map(Part::Thinking)
        }
        _ => None,
    }
}

fn call(object: &Map<String, Value>) -> Option<Part> {
    let sent = ["input", "args", "arguments"].iter().find_map(|key| object.get(*key));
    Some(Part::Call(RecordedCall {
        id: text_at(object, &["id", "toolCallId", "toolUseId", "tool_call_id"]),
        name: text_at(object, &["name", "toolName"])?,
        arguments: arguments(sent),
        result: None,
    }))
}

fn result(object: &Map<String, Value>) -> Part {
    let keys = ["content", "result", "output", "response"];
    let content = keys.iter().find_map(|key| object.get(*key));
    let is_true = |key: &str| object.get(key).and_then(Value::as_bool) == Some(true);
    Part::Result(RecordedResult {
        id: text_at(object, &["tool_use_id", "toolCallId", "toolUseId", "id", "tool_call_id"]),
        name: text_at(object, &["name", "toolName"]),
        is_error: is_true("is_error")
            || is_true("isError")
            || text_at(object, &["status"]).as_deref() == Some("error"),
        parts: content.map(result_parts).unwrap_or_default(),
    })
}

/// Parses a call that contains its own result.
fn invoked(object: &Map<String, Value>, name: String) -> Option<Part> {
    let id = text_at(object, &["toolCallId"])?;
    let sent = object.get("input").or_else(|| object.get("args"));
    let error = object.get("errorText").filter(|text| text.is_string());
    let output = error.or_else(|| object.get("output")).or_else(|| object.get("result"));
    let result = output.map(|output| RecordedResult {
        id: Some(id.clone()),
        name: Some(name.clone()),
        is_error: error.is_some(),
        parts: result_parts(output),
    });
    Some(Part::Call(RecordedCall { id: Some(id), name, arguments: arguments(sent), result }))
}
