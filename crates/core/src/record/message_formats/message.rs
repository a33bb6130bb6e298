use serde_json::{Map, Value};

use super::part::{arguments, part, parts, result_parts, text_at};
use super::{ChatMessage, MessageRole, Part, RecordedCall, RecordedResult};

/// Keys of requests and responses that contain messages.
const LISTS: [&str; 8] =
    ["messages", "contents", "choices", "candidates", "generations", "output", "input", "prompt"];
/// Keys of requests that contain the system prompt.
const SYSTEM: [&str; 5] =
    ["system", "instructions", "systemInstruction", "system_instruction", "system_instructions"];
/// The maximum nesting depth of message lists.
const MAX_DEPTH: usize = 6;

/// Parses messages; `None` if the value contains none.
pub(super) fn messages(value: &Value) -> Option<Vec<ChatMessage>> {
    read(value, 0).filter(|messages| !messages.is_empty())
}

fn read(value: &Value, depth: usize) -> Option<Vec<ChatMessage>> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            let read = items.iter().map(|item| read(item, depth + 1));
            Some(read.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
        }
        Value::Object(object) => {
            one(object).map(|message| vec![message]).or_else(|| wrapped(object, depth))
        }
        _ => None,
    }
}

/// Finds messages inside a request, a response or a framework's state.
fn wrapped(object: &Map<String, Value>, depth: usize) -> Option<Vec<ChatMessage>> {
    let system = SYSTEM.iter().filter_map(|key| object.get(*key)).next().map(system);
    for key in LISTS {
        let Some(list) = object.get(key) else { continue };
        let messages = match list {
            // Only a request has a system prompt beside the user text.
            Value::String(text) if system.is_some() => Some(vec![said(MessageRole::User, text)]),
            list => read(list, depth + 1),
        };
        if let Some(messages) = messages {
            return Some(system.into_iter().flatten().chain(messages).collect());
        }
    }
    let inner = ["message", "delta", "content"].iter().find_map(|key| object.get(*key));
    if let Some(inner @ Value::Object(_)) = inner {
        return read(inner, depth + 1);
    }
    bare(object).map(|message| vec![message])
}

fn system(value: &Value) -> Option<ChatMessage> {
    let parts = match value {
        Value::Object(object) => parts(object.get("parts").or_else(|| object.get("content"))?),
        other => parts(other),
    };
    (!parts.is_empty()).then_some(ChatMessage { role: MessageRole::System, name: None, parts })
}

/// Parses a model's answer without a role.
fn bare(object: &Map<String, Value>) -> Option<ChatMessage> {
    let calls = calls(object);
    let text = text_at(object, &["text"]);
    let is_answer = !calls.is_empty()
        || (text.is_some()
            && ["finishReason", "finish_reason", "generation_info", "logprobs"]
                .iter()
                .any(|key| object.contains_key(*key)));
    if !is_answer {
        return None;
    }
    let thinking = text_at(object, &["reasoning", "reasoningText"]).map(Part::Thinking);
    let text = text.or_else(|| text_at(object, &["content"])).map(Part::Text);
    let parts = thinking.into_iter().chain(text).chain(calls).collect();
    Some(ChatMessage { role: MessageRole::Assistant, name: None, parts })
}

fn said(role: MessageRole, text: &str) -> ChatMessage {
    ChatMessage { role, name: None, parts: vec![Part::Text(text.to_owned())] }
}

/// Parses one message.
fn one(object: &Map<String, Value>) -> Option<ChatMessage> {
    if let Some(item) = response_item(object) {
        return Some(item);
    }
    let (role, body) = speaker(object)?;
    let holds_something =
        ["content", "parts", "tool_calls", "toolCalls", "function_call", "toolInvocations"];
    if !holds_something.iter().any(|key| body.contains_key(*key)) {
        return None;
    }
    let thinking = text_at(body, &["reasoning_content", "reasoning"]).map(Part::Thinking);
    let said = body.get("parts").or_else(|| body.get("content")).map(parts).unwrap_or_default();
    let refusal = text_at(body, &["refusal"]).map(Part::Text);
    let said: Vec<Part> =
        thinking.into_iter().chain(said).chain(refusal).chain(calls(body)).collect();
    let name = text_at(body, &["name"]);
    let parts = match (&role, text_at(body, &["tool_call_id", "toolCallId"])) {
        (MessageRole::Tool, id @ Some(_)) => vec![answer(body, id, said)],
        // The first version of tools had functions, with a name and no id.
        (MessageRole::Tool, None) if name.is_some() && !has_result(&said) => {
            vec![answer(body, None, said)]
        }
        _ => said,
    };
    Some(ChatMessage { role, name, parts })
}

fn has_result(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Result(_)))
}

fn answer(body: &Map<String, Value>, id: Option<String>, parts: Vec<Part>) -> Part {
    let is_error = text_at(body, &["status"]).as_deref() == Some("error")
        || body.get("is_error").and_then(Value::as_bool) == Some(true);
    Part::Result(RecordedResult { id, name: text_at(body, &["name"]), is_error, parts })
}

/// Returns the role, and the object that contains the content.
fn speaker(object: &Map<String, Value>) -> Option<(MessageRole, &Map<String, Value>)> {
    if let Some(Value::Object(kept)) = object.get("kwargs") {
        // LangChain serializes the name of the class.
        let class = object.get("id")?.as_array()?.last()?.as_str()?;
        return Some((role(class.strip_suffix("Chunk").unwrap_or(class)), kept));
    }
    if let Some(word) = object.get("role").and_then(Value::as_str) {
        return Some((role(word), object));
    }
    let word = object.get("type").and_then(Value::as_str)?;
    let role = role(word);
    if matches!(role, MessageRole::Other(_)) {
        return None;
    }
    match object.get("data") {
        Some(Value::Object(kept)) => Some((role, kept)),
        _ => Some((role, object)),
    }
}

fn role(word: &str) -> MessageRole {
    let plain = word.strip_suffix("Message").unwrap_or(word).to_ascii_lowercase();
    match plain.as_str() {
        "system" | "developer" => MessageRole::System,
        "user" | "human" => MessageRole::User,
        "assistant" | "ai" | "model" => MessageRole::Assistant,
        "tool" | "function" => MessageRole::Tool,
        _ => MessageRole::Other(word.to_owned()),
    }
}

/// Parses an item of OpenAI's Responses API that is not a message.
fn response_item(object: &Map<String, Value>) -> Option<ChatMessage> {
    let id = || text_at(object, &["call_id", "id"]);
    let (role, part) = match object.get("type")?.as_str()? {
        "function_call" | "custom_tool_call" => {
            let call = RecordedCall {
                id: id(),
                name: text_at(object, &["name"])?,
                arguments: arguments(object.get("arguments").or_else(|| object.get("input"))),
                result: None,
            };
            (MessageRole::Assistant, Part::Call(call))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let parts = result_parts(object.get("output")?);
            let result = RecordedResult { id: id(), name: None, is_error: false, parts };
            (MessageRole::Tool, Part::Result(result))
        }
        "reasoning" => {
            let summary = object.get("summary").or_else(|| object.get("content"))?;
            let texts = parts(summary).into_iter().filter_map(|part| match part {
                Part::Text(text) | Part::Thinking(text) => Some(text),
                _ => None,
            });
            (MessageRole::Assistant, Part::Thinking(texts.collect::<Vec<_>>().join("\n\n")))
        }
        _ => return None,
    };
    Some(ChatMessage { role, name: None, parts: vec![part] })
}

/// Returns the tool calls beside a message's content.
fn calls(body: &Map<String, Value>) -> Vec<Part> {
    let extra = body.get("additional_kwargs").and_then(Value::as_object);
    let lists = ["tool_calls", "toolCalls", "toolInvocations"];
    let is_list = |value: &&Value| value.as_array().is_some_and(|list| !list.is_empty());
    let list = lists.iter().filter_map(|key| body.get(*key)).find(is_list);
    let list = list.or_else(|| extra?.get("tool_calls").filter(is_list));
    if let Some(Value::Array(list)) = list {
        return list.iter().map(call).collect();
    }
    let single = body.get("function_call").or_else(|| extra?.get("function_call"));
    single.filter(|call| call.is_object()).map(call).into_iter().collect()
}

/// Parses one call, in OpenAI's format or flat.
fn call(value: &Value) -> Part {
    let Value::Object(outer) = value else { return part(value) };
    let inner = outer.get("function").and_then(Value::as_object).unwrap_or(outer);
    let Some(name) = text_at(inner, &["name", "toolName"]) else { return part(value) };
    let sent = ["arguments", "args", "input"].iter().find_map(|key| inner.get(*key));
    let id = text_at(outer, &["id", "toolCallId", "call_id"]);
    let result = outer.get("result").map(|result| RecordedResult {
        id: id.clone(),
        name: Some(name.clone()),
        is_error: false,
        parts: result_parts(result),
    });
    Part::Call(RecordedCall { id, name, arguments: arguments(sent), result })
}
