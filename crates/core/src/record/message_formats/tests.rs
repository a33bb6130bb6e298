//! One conversation in the format of every provider and framework: a question, reasoning, a tool
//! call with its result, an answer.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The messages, one line each.
fn outline(reading: &Reading) -> Vec<String> {
    let Reading::Messages(messages) = reading else { return vec![format!("{reading:?}")] };
    messages.iter().map(line).collect()
}

fn line(message: &ChatMessage) -> String {
    let role = match &message.role {
        MessageRole::System => "system",
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::Tool => "tool",
        MessageRole::Other(role) => role,
    };
    let parts: Vec<String> = message.parts.iter().map(words).collect();
    format!("{role}: {}", parts.join(" + "))
}

fn words(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking(text) => format!("({text})"),
        Part::Picture(Picture::Inline { mime, data }) => format!("[{mime} {data}]"),
        Part::Picture(Picture::Kept { mime, id }) => format!("[{mime} kept {id}]"),
        Part::Picture(Picture::Elsewhere(address)) => format!("[at {address}]"),
        Part::Call(call) => {
            let result = call.result.as_ref().map(|result| format!(" -> {}", came_back(result)));
            format!("{}({}){}", call.name, call.arguments, result.unwrap_or_default())
        }
        Part::Result(result) => format!("-> {}", came_back(result)),
        Part::Data(value) => value.to_string(),
    }
}

fn came_back(result: &RecordedResult) -> String {
    let parts: Vec<String> = result.parts.iter().map(words).collect();
    format!("{}{}", if result.is_error { "failed: " } else { "" }, parts.join(" + "))
}

#[track_caller]
fn check(payload: &Value, expected: &[&str]) {
    assert_eq!(outline(&read(&payload.to_string())), expected);
}

#[test]
fn openai_chat() {
    check(
        &json!([
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
            {"role": "assistant", "content": "A cat.", "refusal": null}
        ]),
        &[
            "system: Be brief.",
            "user: What is this? + [image/png AAAA]",
            r#"assistant: look({"at":1}) -> a cat"#,
            "assistant: A cat.",
        ],
    );
    check(
        &json!({"id": "x", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hi"}}]}),
        &["assistant: Hi"],
    );
}

#[test]
fn openai_responses() {
    check(
        &json!({"instructions": "Be brief.", "input": "Weather?"}),
        &["system: Be brief.", "user: Weather?"],
    );
    check(
        &json!({"output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look it up."}]},
            {"type": "function_call", "call_id": "c", "name": "sky", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "rain"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]}
        ]}),
        &["assistant: (Look it up.)", "assistant: sky({}) -> rain", "assistant: Rain."],
    );
}

#[test]
fn anthropic_messages() {
    check(
        &json!({"model": "claude", "system": [{"type": "text", "text": "Be brief."}], "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "BBBB"}},
                {"type": "text", "text": "Who?"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "A face.", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "faces", "input": {"n": 2}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": true,
                 "content": [{"type": "text", "text": "no camera"}]}]}
        ]}),
        &[
            "system: Be brief.",
            "user: [image/jpeg BBBB] + Who?",
            r#"assistant: (A face.) + faces({"n":2}) -> failed: no camera"#,
        ],
    );
}

#[test]
fn gemini_contents() {
    check(
        &json!({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
            {"role": "user", "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/webp", "data": "CC"}}]},
            {"role": "model", "parts": [{"text": "Hm", "thought": true}, {"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"ok": true}}}]}
        ]}),
        &[
            "system: Be brief.",
            "user: Hi + [image/webp CC]",
            r#"assistant: (Hm) + f({"a":1}) -> {"ok":true}"#,
        ],
    );
    check(
        &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Yo"}]}}]}),
        &["assistant: Yo"],
    );
}

#[test]
fn open_telemetry_messages() {
    check(
        &json!([
            {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
            {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
            {"role": "assistant", "parts": [
                {"type": "reasoning", "content": "Think."},
                {"type": "tool_call", "id": "1", "name": "f", "arguments": {"a": 1}}], "finish_reason": "tool_call"},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "ok"}]}
        ]),
        &["system: Be brief.", "user: Hi", r#"assistant: (Think.) + f({"a":1}) -> ok"#],
    );
}

#[test]
fn vercel_ai() {
    check(
        &json!({"messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "f", "args": {}}]},
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "1", "toolName": "f",
                "output": {"type": "json", "value": {"ok": 1}}}]}
        ]}),
        &["user: Hi", r#"assistant: f({}) -> {"ok":1}"#],
    );
    check(
        &json!([{"role": "assistant", "parts": [
            {"type": "step-start"},
            {"type": "tool-f", "toolCallId": "1", "state": "output-error", "input": 7, "errorText": "down"}]}]),
        &["assistant: f(7) -> failed: down"],
    );
    check(
        &json!({"text": "Done", "toolCalls": [{"toolCallId": "1", "toolName": "f", "args": {"x": 2}}]}),
        &[r#"assistant: Done + f({"x":2})"#],
    );
}

#[test]
fn lang_chain() {
    check(
        &json!([[
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "SystemMessage"],
             "kwargs": {"content": "Be brief.", "type": "system"}},
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
             "kwargs": {"content": "Hi"}}
        ]]),
        &["system: Be brief.", "user: Hi"],
    );
    check(
        &json!({"messages": [
            {"type": "human", "content": "Hi"},
            {"type": "ai", "content": "", "tool_calls": [{"id": "1", "name": "f", "args": {"a": 1}, "type": "tool_call"}]},
            {"type": "tool", "content": "broke", "tool_call_id": "1", "name": "f", "status": "error"}
        ]}),
        &["user: Hi", r#"assistant: f({"a":1}) -> failed: broke"#],
    );
    check(
        &json!({"generations": [[{"text": "Yo", "message": {"type": "ai", "data": {"content": "Yo"}},
            "generation_info": {}}]]}),
        &["assistant: Yo"],
    );
}

#[test]
fn bedrock_converse() {
    check(
        &json!([
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "ok"}], "status": "error"}}]}
        ]),
        &["assistant: f({}) -> failed: ok"],
    );
}

#[test]
fn media_that_were_sent_apart() {
    check(
        &json!([{"role": "user", "content": "See @@@langfuseMedia:type=image/png|id=abc|source=bytes@@@ here"}]),
        &["user: See  + [image/png kept abc] +  here"],
    );
    check(
        &json!([{"role": "user", "content": [{"type": "image_url", "image_url":
            {"url": "@@@langfuseMedia:type=image/png|id=abc|source=base64_data_uri@@@"}}]}]),
        &["user: [image/png kept abc]"],
    );
}

#[test]
fn what_is_no_conversation_stays_what_it_is() {
    assert_eq!(read("Hello *you*"), Reading::Text("Hello *you*".into()));
    assert_eq!(read("\"quoted\""), Reading::Text("quoted".into()));
    assert_eq!(read("42"), Reading::Text("42".into()));
    for data in [r#"{"city":"Bonn"}"#, "[1,2]", "[]", "{}", r#"[{"role":"user","content":"a"},7]"#]
    {
        assert_eq!(read(data), Reading::Data(data.into()));
    }
}

#[test]
fn results_without_a_call_are_kept() {
    check(&json!([{"role": "tool", "tool_call_id": "z", "content": "late"}]), &["tool: -> late"]);
}

#[test]
fn pictures_are_counted_in_reading_order() {
    let payload = json!([
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,1"}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source":
                {"type": "base64", "media_type": "image/gif", "data": "2"}}]}]}
    ]);
    let reading = read(&payload.to_string());
    let found: Vec<String> = pictures(&reading)
        .into_iter()
        .map(|picture| words(&Part::Picture(picture.clone())))
        .collect();
    assert_eq!(found, ["[image/png 1]", "[image/gif 2]"]);
}

/// Strategy for JSON that resembles a conversation.
fn nearly() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "user",
        "tool",
        "text",
        "tool_use",
        "x",
        "function_call",
        "data:",
    ]);
    let leaf = prop_oneof![
        word.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null)
    ];
    let key = prop::sample::select(vec![
        "role",
        "type",
        "content",
        "parts",
        "text",
        "id",
        "name",
        "tool_calls",
        "messages",
        "kwargs",
        "tool_use_id",
        "toolCallId",
        "output",
        "source",
        "data",
        "function",
        "image_url",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_input_makes_the_reader_panic(value in nearly()) {
        let reading = read(&value.to_string());
        prop_assert!(!matches!(reading, Reading::Messages(messages) if messages.is_empty()));
    }
}
