use serde_json::{Value, json};

use super::{Failure, Reply, ScriptedModel};
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
fn responses_say_it_in_their_format() {
    let calls = json!([{"id": "c1", "name": "look", "input": {"at": "sky"}}]);
    let tokens = json!({"input": 5, "cacheRead": 3, "output": 4, "reasoning": 2});
    let call = json!({"on": "Where", "calls": calls, "tokens": tokens});
    let model = scripted(&json!([call, {"on": "blue", "text": "Up."}]));
    let response = ask(&model, "/v1/responses", &json!({"model": "m", "input": "Where?"})).json();
    assert_eq!(response["output"][0]["arguments"], r#"{"at":"sky"}"#);
    assert_eq!(response["usage"]["input_tokens"], 8);
    assert_eq!(response["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
    let input = json!([{"role": "user", "content": "Where?"}, {"type": "function_call"},
                       {"type": "function_call_output", "output": "blue"}]);
    let body = json!({"model": "m", "input": input, "stream": true});
    let events = ask(&model, "/v1/responses", &body).text();
    assert!(events.starts_with("event: response.created\ndata: {"), "{events}");
    assert!(events.contains(r#""delta":"U""#), "{events}");
    assert!(events.contains("event: response.completed\n"), "{events}");
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

#[test]
fn failures_come_as_they_are_told() {
    let model = scripted(&json!([{"failure": 429, "retryAfter": 7}, {"failure": "refusal"}]));
    let busy = ask(&model, "/v1/messages", &user("?"));
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("7")));
    let refused = ask(&model, "/v1/messages", &user("?")).json();
    assert_eq!(refused["stop_reason"], "refusal");
    model.say(Reply { failure: Some(Failure::Cut), ..Reply::text("half") });
    let cut = http::send(model.address, &http::post("/v1/messages").json(user("?").to_string()));
    assert!(cut.is_err(), "{cut:?}");
}

#[test]
fn a_document_comes_as_the_request_asks() {
    let model = scripted(&json!([]));
    model.say_always(Reply::document(json!({"score": 1})));
    let mut body = user("?");
    let words = ask(&model, "/v1/messages", &body).json();
    assert_eq!(words["content"][0]["text"], r#"{"score":1}"#);
    body["tool_choice"] = json!({"type": "tool", "name": "hand_in"});
    let called = ask(&model, "/v1/messages", &body).json();
    assert_eq!(called["content"][0]["name"], "hand_in");
    let converse = ask(&model, "/model/m/converse", &user("?")).json();
    assert_eq!(converse["output"]["message"]["content"][0]["text"], r#"{"score":1}"#);
}

#[test]
fn a_batch_is_answered_once_it_was_looked_at() {
    let model = scripted(&json!([{"on": "first", "text": "one"}]));
    let requests = json!([{"custom_id": "a", "params": user("first")},
                          {"custom_id": "b", "params": user("second")}]);
    let made = ask(&model, "/v1/messages/batches", &json!({"requests": requests})).json();
    assert_eq!(made["processing_status"], "in_progress");
    let get = |path: &str| http::send(model.address, &http::get(path)).unwrap();
    let path = format!("/v1/messages/batches/{}", made["id"].as_str().unwrap());
    assert_eq!(get(&format!("{path}/results")).status, 404);
    let done = get(&path).json();
    assert_eq!(done["request_counts"]["succeeded"], 1);
    let lines = get(&format!("{path}/results")).text();
    assert_eq!(lines.lines().count(), 2);
    assert!(lines.contains(r#""custom_id":"b""#) && lines.contains("errored"), "{lines}");
    assert_eq!(get("/v1/messages/batches?limit=1").json()["data"][0]["id"], made["id"]);
    assert_eq!(model.requests().len(), 2);
}
