use ratchet_testkit::http;
use serde_json::json;

use crate::server;

/// A key as a provider gives it, with characters that some encoders escape.
const KEY: &str = "sk-acme-0123456789/abcdef+XYZ==";

#[test]
fn keys_in_the_servers_environment_are_not_kept_in_traces() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).env("ACME_API_KEY", KEY).env("SHORT_API_KEY", "word").start();
    let said = json!({"batch": [
        {"id": "1", "timestamp": "2026-11-15T10:00:00Z", "type": "trace-create",
         "body": {"id": "t", "name": "a word", "input": format!("env: ACME_API_KEY={KEY}")}},
        {"id": "2", "timestamp": "2026-11-15T10:00:00Z", "type": "generation-create",
         "body": {"id": "o", "traceId": "t", "output": {"headers": [format!("Bearer {KEY}")]},
                  "usageDetails": {"input": 1, KEY: 2}}},
    ]});
    // As some clients escape it.
    let said = said.to_string().replace("0123456789/abcdef+", "0123456789\\/abcdef\\u002b");
    assert!(!said.contains(KEY));
    let kept = running.send(http::post("/api/public/ingestion").json(said));
    assert_eq!(kept.status, 207, "{}", kept.text());
    let seen = running.send(http::get("/api/public/traces/t"));
    assert_eq!(seen.status, 200);
    assert!(!seen.text().contains("0123456789"), "{}", seen.text());
    let trace = seen.json();
    assert_eq!(trace["input"], "env: ACME_API_KEY=[secret]");
    assert_eq!(trace["name"], "a word", "what is short stays");
    let step = &trace["observations"][0];
    assert_eq!(step["output"], json!({"headers": ["Bearer [secret]"]}));
    assert_eq!(step["usageDetails"], json!({"[secret]": 2, "input": 1, "total": 3}));
}

/// Without a rule: what is used as it is written is refused, what people say is redacted.
#[test]
fn keys_in_the_servers_environment_are_not_kept_in_the_catalog() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).env("ACME_API_KEY", KEY).start();
    let post =
        |path: &str, body: serde_json::Value| running.send(http::post(path).json(body.to_string()));
    let text = format!("Call the billing API with {KEY}.");
    let prompts = "/api/public/v2/prompts";
    let chat = json!([{"role": "system", "content": text}]);
    for (body, field) in [
        (json!({"name": "p", "type": "text", "prompt": text}), "prompt: "),
        (json!({"name": "p", "type": "chat", "prompt": chat}), "prompt: "),
        (json!({"name": "p", "prompt": "Hi", "config": {"headers": {"key": KEY}}}), "config: "),
        (json!({"name": "p", "prompt": "Hi", "commitMessage": text}), "commitMessage: "),
        (json!({"name": "p", "prompt": "Hi", "tags": [KEY]}), "tags: "),
    ] {
        let refused = post(prompts, body);
        assert_eq!(refused.status, 400, "{field}{}", refused.text());
        let why = format!("{field}holds a secret of the server's environment");
        assert!(refused.text().contains(&why), "{}", refused.text());
        assert!(!refused.text().contains("0123456789"), "{}", refused.text());
    }
    assert_eq!(running.send(http::get("/api/public/v2/prompts/p")).status, 404);
    let fine = post(prompts, json!({"name": "p", "prompt": "Call the billing API."}));
    assert_eq!(fine.status, 200, "{}", fine.text());
    let dataset = post("/api/public/v2/datasets", json!({"name": "d", "description": text}));
    assert_eq!(dataset.status, 200, "{}", dataset.text());
    assert_eq!(dataset.json()["description"], "Call the billing API with [secret].");
    let named = post("/api/public/v2/datasets", json!({"name": KEY}));
    assert_eq!(named.status, 400, "{}", named.text());
}
