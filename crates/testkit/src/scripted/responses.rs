use serde_json::{Value, json};

use super::Reply;
use super::http::{Asked, ScriptedResponse};

/// The tool that the model must call, if the request names one.
pub(super) fn tool(asked: &Value) -> Option<&str> {
    asked["tool_choice"]["name"].as_str()
}

/// The response to `POST /v1/responses`, whole or streamed as requested.
pub(super) fn said(asked: &Asked, reply: &Reply, id: &str) -> ScriptedResponse {
    let asked = &asked.body;
    let response = response(asked, reply, id);
    let said = if asked["stream"].as_bool().unwrap_or(false) {
        let events = events(&response, reply);
        let numbered = events.into_iter().enumerate().map(|(number, (name, mut event))| {
            event["type"] = json!(name);
            event["sequence_number"] = json!(number);
            (name, event.to_string())
        });
        ScriptedResponse::events(numbered)
    } else {
        ScriptedResponse::json(200, &response)
    };
    said.with("x-request-id", format!("req_{id}"))
}

fn response(asked: &Value, reply: &Reply, id: &str) -> Value {
    let mut output = Vec::new();
    if !reply.text.is_empty() {
        let text = json!({"type": "output_text", "text": reply.text, "annotations": []});
        output.push(json!({
            "type": "message", "id": format!("msg_{id}"), "status": "completed",
            "role": "assistant", "content": [text],
        }));
    }
    output.extend(reply.calls.iter().map(|call| {
        json!({
            "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
            "name": call.name, "arguments": call.input.to_string(), "status": "completed",
        })
    }));
    let or = |name: &str, otherwise: Value| asked.get(name).cloned().unwrap_or(otherwise);
    json!({
        "id": format!("resp_{id}"), "object": "response", "created_at": 1_763_200_000,
        "status": "completed", "model": asked["model"], "output": output,
        "usage": usage(reply), "error": null, "incomplete_details": null,
        "instructions": asked["instructions"], "metadata": or("metadata", json!({})),
        "parallel_tool_calls": or("parallel_tool_calls", json!(true)),
        "temperature": or("temperature", json!(1.0)), "top_p": or("top_p", json!(1.0)),
        "tool_choice": or("tool_choice", json!("auto")), "tools": or("tools", json!([])),
    })
}

/// Cached tokens are part of the input here, those of reasoning part of the output.
fn usage(reply: &Reply) -> Value {
    let tokens = reply.tokens;
    let input = tokens.input + tokens.cache_read + tokens.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": input + tokens.output,
    })
}

fn events(response: &Value, reply: &Reply) -> Vec<(&'static str, Value)> {
    let mut begun = response.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![("response.created", json!({"response": begun}))];
    for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
        events.push(("response.output_item.added", json!({"output_index": index, "item": item})));
        let at = |name: &str, value: &Value| {
            let item = &item["id"];
            json!({"output_index": index, "content_index": 0, "item_id": item, name: value})
        };
        if item["type"] == "message" {
            let part = &item["content"][0];
            events.push(("response.content_part.added", at("part", part)));
            for piece in reply.pieces() {
                events.push(("response.output_text.delta", at("delta", &json!(piece))));
            }
            events.push(("response.output_text.done", at("text", &part["text"])));
            events.push(("response.content_part.done", at("part", part)));
        } else {
            let done = at("arguments", &item["arguments"]);
            events.push(("response.function_call_arguments.done", done));
        }
        events.push(("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    events.push(("response.completed", json!({"response": response})));
    events
}
