use serde_json::{Value, json};

use super::http::{Asked, ScriptedResponse};
use super::{Failure, Reply};

/// The tool that the model must call, if the request names one.
pub(super) fn tool(asked: &Value) -> Option<&str> {
    asked["tool_choice"]["name"].as_str()
}

/// The response to `POST /v1/messages`, whole or streamed as requested.
pub(super) fn said(asked: &Asked, reply: &Reply, id: &str) -> ScriptedResponse {
    let asked = &asked.body;
    let message = message(asked, reply, id);
    let is_streamed = asked["stream"].as_bool().unwrap_or(false);
    let said = if is_streamed {
        let events = events(&message, reply);
        ScriptedResponse::events(
            events
                .iter()
                .map(|event| (event["type"].as_str().unwrap_or_default(), event.to_string())),
        )
    } else {
        ScriptedResponse::json(200, &message)
    };
    said.with("request-id", format!("req_{id}"))
}

fn message(asked: &Value, reply: &Reply, id: &str) -> Value {
    let mut content = Vec::new();
    if !reply.thinking.is_empty() {
        content.push(json!({"type": "thinking", "thinking": reply.thinking, "signature": "c2ln"}));
    }
    if !reply.text.is_empty() {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    for call in &reply.calls {
        content.push(
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}),
        );
    }
    let stop_reason = match reply.failure {
        Some(Failure::Refusal) => "refusal",
        _ if reply.calls.is_empty() => "end_turn",
        _ => "tool_use",
    };
    json!({
        "id": format!("msg_{id}"),
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage(reply),
    })
}

fn usage(reply: &Reply) -> Value {
    let tokens = reply.tokens;
    json!({
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": tokens.output,
        "service_tier": "standard",
    })
}

/// The same message as stream events.
fn events(message: &Value, reply: &Reply) -> Vec<Value> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    // The output tokens are not known yet when the message starts.
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let (opening, deltas) = pieces(block, reply);
        events
            .push(json!({"type": "content_block_start", "index": index, "content_block": opening}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": null},
        "usage": message["usage"],
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

fn pieces(block: &Value, reply: &Reply) -> (Value, Vec<Value>) {
    match block["type"].as_str() {
        Some("thinking") => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                json!({"type": "signature_delta", "signature": block["signature"]}),
            ],
        ),
        Some("tool_use") => {
            let mut opening = block.clone();
            opening["input"] = json!({});
            let input = block["input"].to_string();
            (opening, vec![json!({"type": "input_json_delta", "partial_json": input})])
        }
        _ => {
            let delta = |text: String| json!({"type": "text_delta", "text": text});
            let deltas = reply.pieces().into_iter().map(delta).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
    }
}
