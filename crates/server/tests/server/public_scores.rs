//! Scores with a public key alone: a client can create its own, and nothing else.

use std::time::Duration;

use ratchet_core::network::Networks;
use ratchet_server::app::Settings;
use ratchet_stages::record::retention_sweep::sweep;
use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use crate::harness::{Reply, Request, TestServer, public_key};
use crate::langfuse::{event, read, record};

fn public(server: &TestServer, path: &str) -> Request {
    let bearer = format!("Bearer {}", public_key(Role::IngestOnly));
    server.post(path).header("authorization", &bearer)
}

async fn thumb(server: &TestServer, body: Value) -> Reply {
    public(server, "/api/public/scores").json(body.to_string()).send().await
}

async fn scores_of(server: &TestServer, trace: &str) -> Vec<Value> {
    let trace = read(server, &format!("/api/public/traces/{trace}")).await;
    trace["scores"].as_array().unwrap().clone()
}

async fn listed(server: &TestServer) -> u64 {
    let list = read(server, "/api/public/v2/scores").await;
    list["meta"]["totalItems"].as_u64().unwrap()
}

#[tokio::test]
async fn a_public_key_cannot_touch_a_judges_verdict() {
    let server = TestServer::start().await;
    record(
        &server,
        &[
            event("trace-create", 0, json!({"id": "t"})),
            event(
                "score-create",
                1,
                json!({"id": "verdict", "traceId": "t", "name": "quality",
                "value": 0.2, "source": "EVAL", "comment": "poor"}),
            ),
        ],
    )
    .await;
    let verdict = json!({"id": "verdict", "traceId": "t", "name": "quality", "value": 1,
        "comment": "great", "timestamp": "2200-01-01T00:00:00Z"});
    thumb(&server, verdict.clone()).await.check(200, r#"{"id":"public-"#);
    let batch = json!({"batch": [{"id": "e", "timestamp": "2200-01-01T00:00:00Z",
        "type": "score-create", "body": verdict}]});
    let sent = public(&server, "/api/public/ingestion").json(batch.to_string()).send().await;
    sent.check(207, r#""successes":[{"id":"e","status":201}]"#);
    let kept = read(&server, "/api/public/scores/verdict").await;
    assert_eq!((&kept["value"], &kept["comment"]), (&json!(0.2), &json!("poor")), "{kept}");
    assert_eq!(scores_of(&server, "t").await.len(), 2, "both ways in lead to one public score");
    server.stop().await;
}

#[tokio::test]
async fn a_changed_thumb_replaces_itself_and_nobody_elses() {
    let server = TestServer::start().await;
    record(&server, &[event("trace-create", 0, json!({"id": "t"}))]).await;
    let given = |token: &str, value: u8| json!({"id": token, "traceId": "t", "name": "thumbs_feedback", "value": value});
    let first = thumb(&server, given("ann", 1)).await.check(200, "").json();
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(thumb(&server, given("ann", 0)).await.check(200, "").json(), first);
    thumb(&server, given("bob", 1)).await.check(200, "");
    let scores = scores_of(&server, "t").await;
    let sum: f64 = scores.iter().map(|score| score["value"].as_f64().unwrap()).sum();
    assert_eq!((scores.len(), sum), (2, 1.0), "{scores:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_public_score_waits_an_hour_for_its_trace_and_then_goes() {
    let server = TestServer::start().await;
    let given = |trace: &str| json!({"id": "x", "traceId": trace, "name": "n", "value": 1});
    thumb(&server, given("late")).await.check(200, "");
    thumb(&server, json!({"id": "x", "sessionId": "s", "name": "n", "value": 1}))
        .await
        .check(200, "");
    assert_eq!(listed(&server).await, 0, "nobody sees a score on nothing");
    server.clock.advance(Duration::from_secs(3_599));
    let late = json!({"id": "late", "sessionId": "s"});
    record(&server, &[event("trace-create", 0, late)]).await;
    assert_eq!(scores_of(&server, "late").await.len(), 1);
    assert_eq!(listed(&server).await, 2, "the session's too");
    thumb(&server, given("never")).await.check(200, "");
    thumb(&server, given("too late")).await.check(200, "");
    server.clock.advance(Duration::from_secs(3_601));
    record(&server, &[event("trace-create", 0, json!({"id": "too late"}))]).await;
    assert_eq!(scores_of(&server, "too%20late").await.len(), 0);
    let swept = sweep(&server.app.store, server.app.clock.now()).await.unwrap();
    assert_eq!(swept.scores, 1);
    record(&server, &[event("trace-create", 0, json!({"id": "never"}))]).await;
    assert_eq!(listed(&server).await, 2);
    server.stop().await;
}

#[tokio::test]
async fn a_program_with_a_whole_key_may_score_what_is_yet_to_come() {
    let server = TestServer::start().await;
    let early = json!({"id": "early", "traceId": "t", "name": "n", "value": 1});
    server.post("/api/public/scores").json(early.to_string()).send().await.check(200, "early");
    assert_eq!(listed(&server).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn the_role_of_a_key_holds_for_its_public_half() {
    let server = TestServer::start().await;
    let body = json!({"traceId": "t", "name": "n", "value": 1}).to_string();
    let bearer = format!("Bearer {}", public_key(Role::Viewer));
    let post = server.post("/api/public/scores").header("authorization", &bearer);
    post.json(body).send().await.check(403, "a key with the role viewer may not record");
    server.stop().await;
}

#[tokio::test]
async fn public_callers_have_a_rate_by_address() {
    let trusted_proxies: Networks = "127.0.0.1".parse().unwrap();
    let server = TestServer::start_with(Settings { trusted_proxies, ..Settings::default() }).await;
    let body = json!({"id": "x", "traceId": "t", "name": "n", "value": 1}).to_string();
    let from = |address: &str| {
        let post = public(&server, "/api/public/scores").header("x-forwarded-for", address);
        post.json(body.clone()).send()
    };
    for _ in 0..50 {
        from("203.0.113.1").await.check(200, "public-");
    }
    let refused = from("203.0.113.1").await;
    refused.check(429, "");
    assert_eq!(refused.header("retry-after"), "1");
    from("203.0.113.2").await.check(200, "public-");
    server.post("/api/public/scores").json(body.clone()).send().await.check(200, "");
    server.clock.advance(Duration::from_secs(1));
    from("203.0.113.1").await.check(200, "public-");
    let many: Vec<_> = (0..21).map(|_| json!({"traceId": "t", "name": "n", "value": 1})).collect();
    thumb(&server, json!(many)).await.check(413, "21 events in one request, at most 20 are taken");
    server.stop().await;
}

#[tokio::test]
async fn a_stamp_from_the_far_future_loses_to_the_next_honest_one() {
    let server = TestServer::start().await;
    let batch = json!({"batch": [
        {"id": "1", "timestamp": "2200-01-01T00:00:00Z", "type": "trace-create",
         "body": {"id": "t", "name": "stuck"}},
        {"id": "2", "timestamp": "2200-01-01T00:00:00Z", "type": "span-create",
         "body": {"id": "o", "traceId": "t", "name": "stuck", "startTime": "2200-01-01T00:00:00Z"}},
        {"id": "3", "timestamp": "2200-01-01T00:00:01Z", "type": "span-update",
         "body": {"id": "o", "traceId": "t", "name": "later in the same request"}},
        {"id": "4", "timestamp": "2200-01-01T00:00:00Z", "type": "score-create",
         "body": {"id": "s", "traceId": "t", "name": "n", "value": 0}},
    ]});
    let send = |batch: &Value| server.post("/api/public/ingestion").json(batch.to_string()).send();
    send(&batch).await.check(207, r#""errors":[]"#);
    let seen = read(&server, "/api/public/observations/o").await;
    assert_eq!(seen["name"], "later in the same request");
    assert_eq!(seen["startTime"], "2200-01-01T00:00:00.000Z", "data stays as it was sent");
    server.clock.advance(Duration::from_secs(2));
    let honest = json!({"batch": [
        {"id": "5", "timestamp": "2026-11-15T12:00:01Z", "type": "trace-create",
         "body": {"id": "t", "name": "mended"}},
        {"id": "6", "timestamp": "2026-11-15T12:00:01Z", "type": "span-update",
         "body": {"id": "o", "traceId": "t", "name": "mended"}},
        {"id": "7", "timestamp": "2026-11-15T12:00:01Z", "type": "score-create",
         "body": {"id": "s", "traceId": "t", "name": "n", "value": 1}},
    ]});
    send(&honest).await.check(207, r#""errors":[]"#);
    let trace = read(&server, "/api/public/traces/t").await;
    assert_eq!(trace["name"], "mended");
    assert_eq!(trace["observations"][0]["name"], "mended");
    assert_eq!(trace["scores"][0]["value"], 1.0);
    server.stop().await;
}
