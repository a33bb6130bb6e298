use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use crate::harness::{Reply, Request, TestServer, public_key};

fn thumb(server: &TestServer, trace: &str) -> Request {
    let body = json!({"traceId": trace, "name": "thumbs_feedback", "value": 1});
    let bearer = format!("Bearer {}", public_key(Role::IngestOnly));
    let post = server.post("/api/public/scores").header("authorization", &bearer);
    post.json(body.to_string())
}

#[tokio::test]
async fn the_snippet_is_small_and_says_what_it_is() {
    let server = TestServer::start().await;
    let script = server.get("/feedback.js").header("authorization", "").send().await;
    script.check(200, "/api/public/scores").check(200, "ratchetFeedback");
    assert!(script.body.len() < 1_100, "{} bytes", script.body.len());
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    server.stop().await;
}

#[tokio::test]
async fn pages_of_any_origin_may_send_thumbs_until_some_are_named() {
    let server = TestServer::start().await;
    let preflight = server.request("OPTIONS", "/api/public/scores");
    let preflight = preflight.header("origin", "https://app.example").send().await;
    assert_eq!(preflight.status.as_u16(), 204);
    assert!(preflight.header("access-control-allow-headers").contains("authorization"));
    let from = |origin: &str| thumb(&server, "t").header("origin", origin).send();
    let reply = from("https://app.example").await;
    reply.check(200, "");
    assert_eq!(reply.header("access-control-allow-origin"), "*");

    let origins = "/api/v1/projects/shop/origins";
    let set = |list: Value| {
        let put = server.request("PUT", origins).key(Role::Owner);
        put.json(json!({ "origins": list }).to_string()).send()
    };
    set(json!(["https://app.example/"])).await.check(200, r#"["https://app.example"]"#);
    from("https://app.example").await.check(200, "");
    let stranger: Reply = from("https://evil.example").await;
    stranger.check(403, "pages of https://evil.example may not call");
    from("null").await.check(403, "");
    thumb(&server, "t").send().await.check(200, "");
    let full = server.get("/api/public/traces").header("origin", "https://evil.example");
    full.send().await.check(403, "set-origins");
    set(json!(["app.example"])).await.check(400, "app.example is no origin");
    set(json!([])).await.check(200, "[]");
    from("https://evil.example").await.check(200, "");
    server.stop().await;
}

#[tokio::test]
async fn what_users_say_about_the_product_is_kept() {
    let server = TestServer::start().await;
    let submit = |body: Value| server.post("/api/public/feedback").json(body.to_string()).send();
    let said = json!({
        "targetType": "mcp-tool", "target": "queryMetrics", "feedback": "say the unit",
        "goal": null, "referenceUrl": "https://docs.example/x",
    });
    let first = submit(said.clone()).await.check(201, "").json()["id"].clone();
    assert_ne!(submit(said).await.check(201, "").json()["id"], first);
    for (field, value) in [
        ("targetType", json!("shoe")),
        ("target", json!("")),
        ("feedback", json!("x".repeat(3_001))),
        ("goal", json!("")),
        ("referenceUrl", json!("javascript:alert(1)")),
    ] {
        let mut said = json!({"targetType": "cli", "target": "serve", "feedback": "nice"});
        said[field] = value;
        submit(said).await.check(400, &format!(r#""path":["{field}"#));
    }
    server.stop().await;
}
