use serde_json::{Value, json};

use super::http::{Asked, ScriptedResponse};
use super::{Failure, Reply, Tokens};

/// Numbers of a vector.
const WIDTH: usize = 256;

/// The tool that the model must call, if the request names one.
pub(super) fn tool(asked: &Value) -> Option<&str> {
    asked["tool_choice"]["function"]["name"].as_str()
}

/// The response to `POST /v1/chat/completions`, whole or streamed as requested.
pub(super) fn said(asked: &Asked, reply: &Reply, id: &str) -> ScriptedResponse {
    let asked = &asked.body;
    let head = json!({
        "id": format!("chatcmpl-{id}"),
        "created": 1_763_200_000,
        "model": asked["model"],
        "system_fingerprint": "scripted",
    });
    let is_streamed = asked["stream"].as_bool().unwrap_or(false);
    let said = if is_streamed {
        let wants_usage = asked["stream_options"]["include_usage"].as_bool().unwrap_or(false);
        let mut chunks: Vec<String> =
            chunks(&head, reply, wants_usage).iter().map(Value::to_string).collect();
        chunks.push("[DONE]".to_owned());
        ScriptedResponse::events(chunks.into_iter().map(|chunk| ("", chunk)))
    } else {
        let choice = json!({
            "index": 0,
            "message": message(reply),
            "logprobs": null,
            "finish_reason": finish_reason(reply),
        });
        let rest = json!({
            "object": "chat.completion",
            "choices": [choice],
            "usage": usage(reply),
        });
        ScriptedResponse::json(200, &with(&head, &rest))
    };
    said.with("x-request-id", format!("req_{id}"))
}

/// The response to `POST /v1/embeddings`: of a text always the same vector, of a list those of the
/// words of each text; for eight tokens.
pub(super) fn embedding(asked: &Asked) -> ScriptedResponse {
    let vectors: Vec<Vec<f64>> = match asked.body["input"].as_array() {
        Some(texts) => texts.iter().map(|text| of_words(text.as_str().unwrap_or(""))).collect(),
        None => vec![vec![0.25, 0.5, 0.75]],
    };
    let row = |(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector});
    let data: Vec<Value> = vectors.into_iter().enumerate().map(row).collect();
    let usage = json!({"prompt_tokens": 8, "total_tokens": 8});
    let model = &asked.body["model"];
    let body = json!({"object": "list", "data": data, "model": model, "usage": usage});
    ScriptedResponse::json(200, &body)
}

/// Words by a hash, above a part that all texts have alike, as real models have.
fn of_words(text: &str) -> Vec<f64> {
    let mut vector = vec![0.5; WIDTH];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3) {
        let start = 0xcbf2_9ce4_8422_2325_u64;
        let hash = word
            .to_lowercase()
            .bytes()
            .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        vector[usize::try_from(hash % WIDTH as u64).unwrap()] += 1.0;
    }
    vector
}

fn with(head: &Value, rest: &Value) -> Value {
    let mut whole = head.clone();
    for (key, value) in rest.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    whole
}

fn finish_reason(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn message(reply: &Reply) -> Value {
    let text = Some(&reply.text).filter(|text| !text.is_empty());
    let (text, refusal) = match reply.failure {
        Some(Failure::Refusal) => (None, text),
        _ => (text, None),
    };
    let mut message = json!({"role": "assistant", "content": text, "refusal": refusal});
    if !reply.calls.is_empty() {
        message["tool_calls"] = reply.calls.iter().map(call).collect();
    }
    message
}

fn call(call: &super::Call) -> Value {
    let function = json!({"name": call.name, "arguments": call.input.to_string()});
    json!({"id": call.id, "type": "function", "function": function})
}

/// Cached tokens are part of the prompt here. A reply without tokens reports no usage.
fn usage(reply: &Reply) -> Value {
    let tokens = reply.tokens;
    if tokens == Tokens::default() {
        return Value::Null;
    }
    let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": tokens.output,
        "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning, "audio_tokens": 0},
    })
}

fn chunks(head: &Value, reply: &Reply, wants_usage: bool) -> Vec<Value> {
    let chunk = |delta: Value, finish_reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
        with(head, &json!({"object": "chat.completion.chunk", "choices": [choice]}))
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    if !reply.text.is_empty() {
        let word = if reply.failure == Some(Failure::Refusal) { "refusal" } else { "content" };
        let pieces = reply.pieces();
        chunks.extend(pieces.into_iter().map(|piece| chunk(json!({word: piece}), None)));
    }
    for (index, called) in reply.calls.iter().enumerate() {
        let mut called = call(called);
        called["index"] = json!(index);
        chunks.push(chunk(json!({"tool_calls": [called]}), None));
    }
    chunks.push(chunk(json!({}), Some(finish_reason(reply))));
    if wants_usage {
        let rest = json!({"object": "chat.completion.chunk", "choices": [], "usage": usage(reply)});
        chunks.push(with(head, &rest));
    }
    chunks
}
