use serde_json::{Value, json};

use super::frame::frame;
use super::http::{Asked, ScriptedResponse};
use super::{Failure, Reply};

/// The tool that the model must call, if the request names one.
pub(super) fn tool(asked: &Value) -> Option<&str> {
    asked["toolConfig"]["toolChoice"]["tool"]["name"].as_str()
}

/// The response to `POST /model/{id}/converse`, or streamed to `…/converse-stream`.
pub(super) fn said(asked: &Asked, reply: &Reply, id: &str) -> ScriptedResponse {
    let said = if asked.path.ends_with("-stream") {
        let events = events(reply);
        ScriptedResponse::bytes(
            "application/vnd.amazon.eventstream",
            events.iter().flat_map(|(name, data)| frame(name, &data.to_string())).collect(),
        )
    } else {
        let message = json!({"role": "assistant", "content": content(reply)});
        let metrics = json!({"latencyMs": 1});
        let whole = json!({"output": {"message": message}, "stopReason": stop_reason(reply),
                           "usage": usage(reply), "metrics": metrics});
        ScriptedResponse::json(200, &whole)
    };
    said.with("x-amzn-requestid", format!("req_{id}"))
}

fn content(reply: &Reply) -> Vec<Value> {
    let text = Some(&reply.text).filter(|text| !text.is_empty()).map(|text| json!({"text": text}));
    let calls = reply.calls.iter().map(
        |call| json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.input}}),
    );
    text.into_iter().chain(calls).collect()
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.failure {
        Some(Failure::Refusal) => "content_filtered",
        _ if reply.calls.is_empty() => "end_turn",
        _ => "tool_use",
    }
}

fn usage(reply: &Reply) -> Value {
    let tokens = reply.tokens;
    let total = tokens.input + tokens.cache_read + tokens.cache_write + tokens.output;
    json!({
        "inputTokens": tokens.input,
        "outputTokens": tokens.output,
        "totalTokens": total,
        "cacheReadInputTokens": tokens.cache_read,
        "cacheWriteInputTokens": tokens.cache_write,
    })
}

/// The same message as stream events.
fn events(reply: &Reply) -> Vec<(&'static str, Value)> {
    let mut events = vec![("messageStart", json!({"role": "assistant"}))];
    for (index, block) in content(reply).into_iter().enumerate() {
        let deltas = match block.get("toolUse") {
            Some(call) => {
                let start =
                    json!({"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}});
                events.push((
                    "contentBlockStart",
                    json!({"contentBlockIndex": index, "start": start}),
                ));
                vec![json!({"toolUse": {"input": call["input"].to_string()}})]
            }
            None => reply.pieces().into_iter().map(|piece| json!({"text": piece})).collect(),
        };
        events.extend(deltas.into_iter().map(|delta| {
            ("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}))
        }));
        events.push(("contentBlockStop", json!({"contentBlockIndex": index})));
    }
    events.push(("messageStop", json!({"stopReason": stop_reason(reply)})));
    events.push(("metadata", json!({"usage": usage(reply), "metrics": {"latencyMs": 1}})));
    events
}
