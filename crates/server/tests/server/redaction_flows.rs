//! Redaction of what several calls write together: none of it is in the data folder.

use std::path::Path;

use ratchet_core::id::SessionId;
use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use crate::harness::{TestServer, project};

const SECRET: &str = "ann@mail.example";
const RUNS: &str = "/api/v1/projects/shop/experiments";

/// The file of a folder that has a text, with what is around it.
pub(crate) fn kept_in(folder: &Path, secret: &str) -> Option<String> {
    std::fs::read_dir(folder).unwrap().map(Result::unwrap).find_map(|entry| {
        if entry.file_type().unwrap().is_dir() {
            return kept_in(&entry.path(), secret);
        }
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        let at = bytes.windows(secret.len()).position(|part| part == secret.as_bytes())?;
        let around = &bytes[at.saturating_sub(100)..bytes.len().min(at + 100)];
        Some(format!("{}: {}", entry.path().display(), String::from_utf8_lossy(around)))
    })
}

async fn strict() -> TestServer {
    let server = TestServer::start().await;
    let rule = server.post("/api/v1/projects/shop/redaction").key(Role::Owner);
    rule.json(json!({"preset": "email"}).to_string()).send().await.check(201, "");
    server
}

async fn post(server: &TestServer, path: &str, body: &Value) -> Value {
    let reply = server.post(path).json(body.to_string()).send().await;
    assert!(reply.status.is_success(), "{path}: {}", String::from_utf8_lossy(&reply.body));
    reply.json()
}

fn experiment(run: &str, more: &Value) -> Value {
    let target = json!({
        "name": "agent", "kind": "command", "fingerprint": "f", "version": "1", "environment": null,
    });
    let mut body = json!({
        "dataset": "d", "run": run, "target": target, "evaluators": ["exact"], "repeats": 3,
        "cache": true,
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn claimed(server: &TestServer, run: &str) -> Vec<Value> {
    let claim = json!({"runner": "r", "limit": 3, "leaseSeconds": 60});
    let claimed = post(server, &format!("{RUNS}/{run}/claim"), &claim).await;
    claimed["trials"].as_array().unwrap().clone()
}

#[tokio::test]
async fn trials_are_redacted_and_answers_that_would_be_are_not_cached() {
    let server = strict().await;
    post(&server, "/api/public/v2/datasets", &json!({"name": "d"})).await;
    let item = json!({"datasetName": "d", "id": "i", "input": "who?"});
    post(&server, "/api/public/dataset-items", &item).await;
    let secret = experiment("x", &json!({"description": SECRET})).to_string();
    server.post(RUNS).json(secret).send().await.check(400, "plan: holds");
    post(&server, RUNS, &experiment("first", &json!({}))).await;
    let trials = claimed(&server, "first").await;
    let at = "2026-11-15T11:00:00Z";
    let result = |number: usize, more: Value| {
        let mut result = json!({
            "id": trials[number]["id"], "lease": trials[number]["lease"], "call": 1,
            "answer": null, "fault": null, "startedAt": at, "endedAt": at, "model": null,
            "inputTokens": null, "outputTokens": null, "cost": 0.5,
        });
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result
    };
    let said = format!("no reply from {SECRET}");
    let results = [
        result(0, json!({"fault": said})),
        result(
            1,
            json!({"answer": said, "scores": [{"name": "exact", "value": 0.0, "comment": said}]}),
        ),
        result(2, json!({"answer": "nobody", "notJudged": [{"name": "exact", "reason": said}]})),
    ];
    post(&server, &format!("{RUNS}/first/finish"), &json!({"results": results})).await;
    let shown = server.get(&format!("{RUNS}/first/trials")).send().await.json()["trials"].clone();
    assert_eq!(shown[0]["fault"], "no reply from [email]", "{shown}");
    assert_eq!(shown[1]["scores"][0]["comment"], "no reply from [email]", "{shown}");
    assert_eq!(shown[2]["notJudged"][0]["reason"], "no reply from [email]", "{shown}");
    assert_eq!(shown[1]["cost"], 0.5, "{shown}");

    // A later run finds the answer that was clean, and only that one.
    post(&server, RUNS, &experiment("second", &json!({}))).await;
    let cached: Vec<_> = claimed(&server, "second")
        .await
        .iter()
        .map(|one| one["cached"]["answer"].clone())
        .collect();
    assert!(cached.contains(&json!("nobody")), "{cached:?}");
    assert!(cached.iter().all(|one| one.is_null() || one == "nobody"), "{cached:?}");

    let data = server.stop().await;
    assert_eq!(kept_in(data.path(), SECRET), None);
}

#[tokio::test]
async fn no_title_of_a_chat_is_cut_through_a_secret() {
    let server = strict().await;
    let (catalog, now) = (&server.app.store.catalog, server.app.clock.now());
    let chat = SessionId::parse("chat-1").unwrap();
    // The secret is where titles are cut.
    let message = format!("{} {SECRET} and more", "x".repeat(110));
    let named = ("agent".to_owned(), message);
    catalog.count_target_turn(project(), chat.clone(), named, now).await.unwrap();
    let title = catalog.target_chat(project(), chat).await.unwrap().unwrap().title;
    assert!(title.starts_with("xxx") && !title.contains("ann"), "{title}");
    let data = server.stop().await;
    assert_eq!(kept_in(data.path(), SECRET), None);
}
