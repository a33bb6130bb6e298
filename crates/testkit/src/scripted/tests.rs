use serde_json::{Value, json};

use super::{Reply, ScriptedModel};
use crate::http::{self, Answer};

fn scripted(replies: &Value) -> ScriptedModel {
    let model = ScriptedModel::start().unwrap();
    let script = json!({"replies": replies});
    assert_eq!(ask(&model, "/script", &script).status, 200);
    model
}

fn ask(model: &ScriptedModel, path: &str, body: &Value) -> Answer {
    http::send(model.address, &http::post(path).json(body.to_string())).unwrap()
}

fn user(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

#[test]
fn a_reply_goes_to_the_request_it_is_meant_for() {
    let model = scripted(&json!([{"on": "second", "text": "two"}, {"text": "one"}]));
    let text = |said: Answer| said.json()["content"][0]["text"].clone();
    assert_eq!(text(ask(&model, "/v1/messages", &user("first"))), "one");
    assert_eq!(text(ask(&model, "/v1/messages", &user("a second"))), "two");
    assert_eq!(ask(&model, "/v1/messages", &user("a third")).status, 400);
    assert_eq!(model.requests().len(), 3);
}

#[test]
fn both_formats_say_the_same() {
    let replies = json!([{
        "text": "hm", "calls": [{"id": "t1", "name": "look", "input": {"at": "sky"}}],
        "tokens": {"input": 5, "cacheRead": 3, "output": 2}
    }]);
    let model = scripted(&replies);
    let message = ask(&model, "/v1/messages", &user("?")).json();
    assert_eq!(message["content"][1]["input"], json!({"at": "sky"}));
    assert_eq!(message["usage"]["input_tokens"], 5);
    model.script([Reply::from_json(&replies[0])]);
    let completion = ask(&model, "/v1/chat/completions", &user("?")).json();
    let call = &completion["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], r#"{"at":"sky"}"#);
    assert_eq!(completion["usage"]["prompt_tokens"], 8);
}

#[test]
fn streams_end_as_documented() {
    let model = scripted(&json!([{"text": "a"}, {"text": "b"}]));
    let mut body = user("?");
    body["stream"] = json!(true);
    let messages = ask(&model, "/v1/messages", &body).text();
    assert!(messages.starts_with("event: message_start\ndata: {"), "{messages}");
    assert!(messages.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    let chunks = ask(&model, "/v1/chat/completions", &body).text();
    assert!(chunks.ends_with("data: [DONE]\n\n"), "{chunks}");
}

#[test]
fn a_script_can_fail_as_models_do() {
    let model = scripted(&json!([{"failure": 529}]));
    assert_eq!(ask(&model, "/v1/messages", &user("?")).status, 529);
}
