use ratchet_server::app::{Access, Limits, Settings};
use ratchet_server::rate_limit::Rate;
use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::Client;
use crate::harness::{Reply, TestServer, basic, project, public_key};

const PATH: &str = "/api/public/mcp";

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn list() -> String {
    message("tools/list", &json!({}))
}

async fn post(server: &TestServer, key: &str, body: String) -> Reply {
    server.post(PATH).header("authorization", key).json(body).send().await
}

#[tokio::test]
async fn a_client_without_the_whole_key_is_refused() {
    let server = TestServer::start().await;
    for (key, status, words) in [
        (String::new(), 401, "neither Basic nor Bearer"),
        ("Basic cGstbWVtYmVyOndyb25n".to_owned(), 401, "unknown or revoked key"),
        (format!("Bearer {}", public_key(Role::Owner)), 403, "a public key alone"),
    ] {
        post(&server, &key, list()).await.check(status, words);
    }
    let token = format!("Bearer {}:sk", public_key(Role::Viewer));
    post(&server, &token, list()).await.check(200, "getPrompt");
    server.stop().await;
}

#[tokio::test]
async fn messages_are_answered_as_json_without_a_session() {
    let server = TestServer::start().await;
    let key = basic(Role::Viewer);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let reply = post(&server, &key, message("initialize", &hello)).await;
    assert_eq!(reply.check(200, "").header("content-type"), "application/json");
    assert_eq!(reply.header("mcp-session-id"), "");
    assert_eq!(reply.json()["result"]["protocolVersion"], "2025-06-18");
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    post(&server, &key, notice.to_string()).await.check(202, "");
    post(&server, &key, message("resources/read", &json!({"uri": "x"}))).await.check(200, "-32");
    // There are no streams to open, and no sessions to end.
    for method in ["GET", "DELETE"] {
        let request = server.request(method, PATH).header("accept", "text/event-stream");
        request.send().await.check(405, "");
    }
    server.stop().await;
}

#[tokio::test]
async fn nonsense_is_refused_in_the_form_of_every_route() {
    let server = TestServer::start().await;
    let key = basic(Role::Owner);
    for body in ["", "{", "[]", "{}", r#"{"jsonrpc": "2.0"}"#, "\"hello\""] {
        post(&server, &key, body.to_owned()).await.check(400, "not a JSON-RPC message");
    }
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}1{}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    post(&server, &key, deep).await.check(400, "");
    let wrong = server.post(PATH).json(list()).header("mcp-protocol-version", "1999-01-01");
    wrong.send().await.check(400, "1999-01-01").check(400, "InvalidRequestError");
    let long = message("ping", &json!({"padding": "x".repeat(5_000_000)}));
    post(&server, &key, long).await.check(413, "4000000 bytes");
    server.stop().await;
    let limits = Limits { body_bytes: 100, ..Limits::default() };
    let small = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let long = message("ping", &json!({"padding": "x".repeat(100)}));
    post(&small, &key, long).await.check(413, "more than 100 bytes");
    small.stop().await;
}

#[tokio::test]
async fn one_request_counts_once_against_the_rate_limit() {
    let limits = Limits { rate: Some(Rate { per_second: 0.5, burst: 2.0 }), ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let call = message("tools/call", &json!({"name": "listPrompts", "arguments": {}}));
    for _ in 0..2 {
        post(&server, &basic(Role::Member), call.clone()).await.check(200, "totalItems");
    }
    post(&server, &basic(Role::Member), call.clone()).await.check(429, "retry in 2 s");
    server.stop().await;
}

#[tokio::test]
async fn our_own_rules_decide_about_hosts_and_origins() {
    let server = TestServer::start().await;
    let named = server.post(PATH).header("host", "ratchet.example").json(list());
    named.send().await.check(200, "getPrompt");
    let page = server.post(PATH).header("origin", "https://inspector.example").json(list());
    let reply = page.send().await;
    assert_eq!(reply.check(200, "").header("access-control-allow-origin"), "*");
    server.stop().await;
    let settings = Settings { access: Access::Open(project()), ..Settings::default() };
    let open = TestServer::start_with(settings).await;
    Client::with_key(&open, "").await.close().await;
    let rebound = open.post(PATH).header("host", "evil.example").json(list());
    rebound.send().await.check(403, "without keys");
    let page = open.post(PATH).header("origin", "https://evil.example").json(list());
    page.send().await.check(403, "without keys");
    open.stop().await;
}

#[tokio::test]
async fn a_compressed_message_is_read() {
    use std::io::Write;
    let server = TestServer::start().await;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(list().as_bytes()).unwrap();
    let request = server.post(PATH).header("content-encoding", "gzip");
    request.bytes(&gzip.finish().unwrap()).send().await.check(200, "getPrompt");
    server.stop().await;
}
