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
