use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratchet_server::app::{Access, Limits, Settings};
use ratchet_server::rate_limit::Rate;
use ratchet_store::catalog::Role;
use ratchet_testkit::otlp::{request, span};
use serde_json::json;

use crate::harness::{TestServer, basic, project, public_key};

#[tokio::test]
async fn strangers_are_told_what_to_send() {
    let server = TestServer::start().await;
    for (authorization, words) in [
        ("", "neither Basic nor Bearer"),
        ("Basic !!!", "not base64"),
        ("Basic cGstbWVtYmVyOndyb25n", "unknown or revoked key"),
        ("Bearer pk-nobody", "unknown public key"),
    ] {
        let post = server.post("/v1/traces").json("{}".to_owned());
        let reply = post.header("authorization", authorization).send().await;
        reply.check(401, words).check(401, "public key as user");
        assert!(reply.header("www-authenticate").starts_with("Basic"));
    }
    server.stop().await;
}

#[tokio::test]
async fn roles_decide_who_may_record() {
    let server = TestServer::start().await;
    for (role, status) in
        [(Role::Owner, 200), (Role::Member, 200), (Role::IngestOnly, 200), (Role::Viewer, 403)]
    {
        let reply = server.post("/v1/traces").key(role).json("{}".to_owned()).send().await;
        reply.check(status, "");
    }
    let bearer = format!("Bearer {}", public_key(Role::Owner));
    let post = server.post("/v1/traces").json("{}".to_owned());
    post.header("authorization", &bearer).send().await.check(403, "may only write scores");
    server.stop().await;
}

#[tokio::test]
async fn a_revoked_key_opens_nothing() {
    let server = TestServer::start().await;
    let post = || server.post("/v1/traces").json("{}".to_owned());
    post().send().await.check(200, "");
    let (catalog, now) = (&server.app.store.catalog, server.app.clock.now());
    catalog.revoke_key(project(), public_key(Role::Member), now).await.unwrap();
    post().send().await.check(401, "revoked");
    server.stop().await;
}

#[tokio::test]
async fn permissions_are_granted_and_withdrawn_at_once() {
    let server = TestServer::start().await;
    let backup = || server.post("/api/v1/backup").key(Role::Viewer).send();
    let permit = |key: String, words: &str| {
        let path = format!("/api/v1/projects/{}/keys/{key}/permissions", project());
        let body = format!(r#"{{"permissions": [{words}]}}"#);
        server.request("PUT", &path).key(Role::Owner).json(body).send()
    };
    let viewer = public_key(Role::Viewer);
    backup().await.check(403, "ratchet keys grant").check(403, "permission backup");
    permit(viewer.clone(), r#""backup""#).await.check(200, r#""permissions":["backup"]"#);
    backup().await.check(200, "");
    permit(viewer.clone(), "").await.check(200, r#""permissions":[]"#);
    backup().await.check(403, "");
    for (words, why) in [
        (r#""chat""#, "permissions: chat does not fit the role viewer; it takes member or owner"),
        (r#""administration""#, "it takes owner"),
        (r#""fly""#, "permissions: fly is none of chat, backup or administration"),
    ] {
        permit(viewer.clone(), words).await.check(400, why);
    }
    permit("pk-nobody".to_owned(), "").await.check(404, "pk-nobody");
    server.stop().await;
}

#[tokio::test]
async fn a_new_key_has_the_least_that_an_sdk_needs() {
    let server = TestServer::start().await;
    let path = format!("/api/v1/projects/{}/keys", project());
    let make = |body: &str| server.post(&path).key(Role::Owner).json(body.to_owned()).send();
    let made = make("{}").await.check(201, "").json();
    assert_eq!((&made["role"], &made["permissions"]), (&json!("member"), &json!([])));
    let made = make(r#"{"role": "owner", "permissions": []}"#).await.check(201, "").json();
    assert_eq!(made["permissions"], json!([]));
    let (public, secret) = (made["publicKey"].as_str(), made["secretKey"].as_str());
    let pair = STANDARD.encode(format!("{}:{}", public.unwrap(), secret.unwrap()));
    let get = server.get(&path).header("authorization", &format!("Basic {pair}"));
    get.send().await.check(403, "without the permission administration");
    let all = make(r#"{"role": "owner"}"#).await.check(201, "").json();
    assert_eq!(all["permissions"], json!(["chat", "backup", "administration"]));
    make(r#"{"role": "viewer", "permissions": ["chat"]}"#).await.check(400, "does not fit");
    server.stop().await;
}

#[tokio::test]
async fn a_key_that_calls_too_often_is_told_when_to_come_back() {
    let rate = Some(Rate { per_second: 0.5, burst: 2.0 });
    let limits = Limits { rate, ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let post = |role| server.post("/v1/traces").key(role).json("{}".to_owned()).send();
    post(Role::Member).await.check(200, "");
    post(Role::Member).await.check(200, "");
    let reply = post(Role::Member).await;
    reply.check(429, "retry in 2 s");
    assert_eq!(reply.header("retry-after"), "2");
    post(Role::Owner).await.check(200, "");
    server.clock.advance(Duration::from_secs(2));
    post(Role::Member).await.check(200, "");
    server.stop().await;
}

#[tokio::test]
async fn an_open_server_asks_for_no_key_but_lets_no_other_site_in() {
    let access = Access::Open(project());
    let server = TestServer::start_with(Settings { access, ..Settings::default() }).await;
    let post = || server.post("/v1/traces").header("authorization", "nonsense");
    let body = request("shop").with(span(1, 1)).to_json();
    post().json(body.clone()).send().await.check(200, "");
    assert!(server.trace(1).await.is_some());
    let reply = post().json(body).header("origin", "http://evil.example").send().await;
    reply.check(403, "localhost");
    assert_eq!(reply.header("access-control-allow-origin"), "");
    server.stop().await;
}

#[tokio::test]
async fn browsers_may_call_with_a_key() {
    let server = TestServer::start().await;
    let raw = "OPTIONS /api/public/scores HTTP/1.1\r\nhost: x\r\norigin: http://shop.example\r\n\
               access-control-request-method: POST\r\nconnection: close\r\n\r\n";
    let reply = server.raw(raw.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 204") && reply.contains("access-control-allow-origin: *"));
    assert!(reply.contains("access-control-allow-headers: authorization"), "{reply}");
    let reply =
        server.get("/api/public/health").header("origin", "http://shop.example").send().await;
    assert_eq!(reply.check(200, "OK").header("access-control-allow-origin"), "*");
    let reply = server.get("/metrics").header("origin", "http://shop.example").send().await;
    assert_eq!(reply.header("access-control-allow-origin"), "");
    server.stop().await;
}

#[tokio::test]
async fn keys_never_come_back_in_answers() {
    let server = TestServer::start().await;
    let key = basic(Role::Member).replace("Basic ", "");
    let post = server.post("/v1/traces").json("{}".to_owned());
    let reply = post.header("authorization", &format!("Digest {key}")).send().await;
    assert!(!String::from_utf8_lossy(&reply.check(401, "").body).contains(&key));
    server.stop().await;
}
