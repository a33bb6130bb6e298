use serde_json::{Map, Value, json};

use crate::capabilities::{LimitName, StructuredOutput};
use crate::provider::ProviderRequest;
use crate::request::{CacheablePart, Turn};
use crate::response::OUTPUT_TOOL;

/// Builds the body of `POST /chat/completions`.
pub(super) fn body(provider_request: ProviderRequest<'_>) -> Value {
    let ProviderRequest { model, ask, capabilities } = provider_request;
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", model.into());
    let schema_prompt = capabilities.schema_prompt(ask).map(CacheablePart::new);
    let system: Vec<&str> =
        ask.system.iter().chain(&schema_prompt).map(|part| part.text.as_str()).collect();
    let system =
        (!system.is_empty()).then(|| json!({"role": "system", "content": system.join("\n\n")}));
    put("messages", system.into_iter().chain(ask.turns.iter().flat_map(messages)).collect());
    let tools: Vec<Value> = ask
        .tools
        .iter()
        .map(|tool| {
            let (name, description) = (&tool.name, &tool.description);
            let function =
                json!({"name": name, "description": description, "parameters": tool.input});
            json!({"type": "function", "function": function})
        })
        .collect();
    if !tools.is_empty() {
        put("tools", tools.into());
    }
    if let Some(schema) = ask.schema() {
        match capabilities.structured_output {
            StructuredOutput::Schema => {
                let document =
                    json!({"name": OUTPUT_TOOL, "schema": schema, "strict": is_strict(schema)});
                put("response_format", json!({"type": "json_schema", "json_schema": document}));
            }
            StructuredOutput::Tool => {
                put("response_format", json!({"type": "json_object"}));
            }
            StructuredOutput::PromptOnly => {}
        }
    }
    if let Some(temperature) = capabilities.temperature(ask) {
        put("temperature", temperature.into());
    }
    let limit = match capabilities.limit {
        LimitName::MaxTokens => "max_tokens",
        LimitName::MaxCompletionTokens => "max_completion_tokens",
    };
    put(limit, ask.max_tokens.into());
    body.into()
}

fn messages(turn: &Turn) -> Vec<Value> {
    match turn {
        Turn::User(parts) => {
            let text: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
            vec![json!({"role": "user", "content": text.join("\n\n")})]
        }
        Turn::Model { text, calls } => {
            let content = Some(text).filter(|text| !text.is_empty());
            let mut message = json!({"role": "assistant", "content": content});
            if !calls.is_empty() {
                let calls = calls.iter().map(|call| {
                    let arguments = call.input.to_string();
                    let function = json!({"name": call.name, "arguments": arguments});
                    json!({"id": call.id, "type": "function", "function": function})
                });
                message["tool_calls"] = calls.collect();
            }
            vec![message]
        }
        Turn::Tools(results) => {
            let message =
                |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
            results.iter().map(|result| message(&result.id, &result.text)).collect()
        }
    }
}

/// Returns whether a schema qualifies for strict mode: every object must list all its fields as
/// required and allow no others.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let is_object = fields.get("type").is_some_and(|kind| kind == "object");
            let is_closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
            let known = fields.get("properties").and_then(Value::as_object);
            let required = fields.get("required").and_then(Value::as_array);
            let is_required = |name: &String| {
                required.is_some_and(|names| names.iter().any(|known| known == name.as_str()))
            };
            let is_whole = known.is_some_and(|known| known.keys().all(is_required));
            (!is_object || is_closed && is_whole) && fields.values().all(is_strict)
        }
        Value::Array(parts) => parts.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_closed_objects_are_strict() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}},
                            "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&closed));
        let mut open = closed.clone();
        open["additionalProperties"] = json!(true);
        assert!(!is_strict(&open));
        let mut optional = closed.clone();
        optional["required"] = json!([]);
        assert!(!is_strict(&json!({"type": "array", "items": optional})));
    }
}
