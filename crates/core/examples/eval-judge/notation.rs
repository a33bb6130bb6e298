//! The same conversation in the notations of other agents.

use serde_json::{Value, json};

use crate::traffic::Shape;

/// Rewrites chat messages with tool calls.
pub(crate) fn rewrite(messages: &[Value], shape: Shape) -> Vec<Value> {
    let one: fn(&Value) -> Value = match shape {
        Shape::Turns | Shape::Whole => return messages.to_vec(),
        Shape::ExitCodes => exit_codes,
        Shape::Blocks => blocks,
        Shape::Tags => tags,
        Shape::Actions => actions,
    };
    messages.iter().map(one).collect()
}

fn text<'a>(message: &'a Value, key: &str) -> &'a str {
    message.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_result(message: &Value) -> bool {
    text(message, "role") == "tool"
}

/// Whether a result reports an error, in the notation of the data.
fn is_error(message: &Value) -> bool {
    text(message, "content").trim_start().starts_with("Error")
}

fn calls(message: &Value) -> Vec<(String, String, Value)> {
    let list = message.get("tool_calls").and_then(Value::as_array);
    let call = |call: &Value| {
        let function = call.get("function")?;
        let arguments = text(function, "arguments");
        let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
        Some((text(call, "id").to_owned(), text(function, "name").to_owned(), arguments))
    };
    list.into_iter().flatten().filter_map(call).collect()
}

fn exit_codes(message: &Value) -> Value {
    if !is_result(message) {
        return message.clone();
    }
    let printed = text(message, "content").trim_start_matches("Error: ");
    let result = match is_error(message) {
        true => json!({"exit_code": 1, "stdout": "", "stderr": printed}),
        false => json!({"exit_code": 0, "stdout": printed, "stderr": ""}),
    };
    let mut message = message.clone();
    message["content"] = Value::from(result.to_string());
    message
}

fn blocks(message: &Value) -> Value {
    if is_result(message) {
        return json!({"role": "user", "content": [{
            "type": "tool_result",
            "tool_use_id": text(message, "tool_call_id"),
            "is_error": is_error(message),
            "content": text(message, "content").trim_start_matches("Error: "),
        }]});
    }
    let calls = calls(message);
    if calls.is_empty() {
        return message.clone();
    }
    let said = json!({"type": "text", "text": text(message, "content")});
    let used = calls.into_iter().map(
        |(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}),
    );
    json!({"role": "assistant", "content": std::iter::once(said).chain(used).collect::<Vec<_>>()})
}

fn tags(message: &Value) -> Value {
    if is_result(message) {
        let content = text(message, "content");
        let content = format!("<tool_response>\n{content}\n</tool_response>");
        return json!({"role": "user", "content": content});
    }
    in_text(message, |name, input| {
        let call = json!({"name": name, "arguments": input});
        format!("<tool_call>\n{call}\n</tool_call>")
    })
}

fn actions(message: &Value) -> Value {
    if is_result(message) {
        let content = format!("Observation: {}", text(message, "content"));
        return json!({"role": "user", "content": content});
    }
    in_text(message, |name, input| format!("Action: {name}\nAction Input: {input}"))
}

/// Writes the calls of a message into its text.
fn in_text(message: &Value, write: fn(&str, &Value) -> String) -> Value {
    let calls = calls(message);
    if calls.is_empty() {
        return message.clone();
    }
    let calls = calls.iter().map(|(_, name, input)| write(name, input));
    let parts: Vec<String> =
        std::iter::once(text(message, "content").to_owned()).chain(calls).collect();
    json!({"role": "assistant", "content": parts.join("\n").trim()})
}
