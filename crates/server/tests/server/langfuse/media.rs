use std::time::Duration;

use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use crate::harness::{Reply, TestServer};

/// SHA-256 of `hello`, in base64.
const HELLO: &str = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";
const HELLO_ID: &str = "LPJNul-wow4m6DsqxbninhsW";

pub(super) fn id() -> String {
    HELLO_ID.chars().take(22).collect()
}

pub(super) fn hello(content_type: &str) -> Value {
    json!({
        "traceId": "t", "observationId": null, "contentType": content_type, "contentLength": 5,
        "sha256Hash": HELLO, "field": "input",
    })
}

pub(super) async fn announce(server: &TestServer, body: &Value) -> Reply {
    server.post("/api/public/media").json(body.to_string()).send().await
}

/// Announces `hello` and returns its upload URL.
async fn upload_url(server: &TestServer, content_type: &str) -> String {
    let answer = announce(server, &hello(content_type)).await.check(200, "").json();
    assert_eq!(answer["mediaId"], id());
    answer["uploadUrl"].as_str().unwrap().to_owned()
}

pub(super) async fn stored(server: &TestServer, content_type: &str) -> Value {
    let url = upload_url(server, content_type).await;
    server.request("PUT", &url).bytes(b"hello").send().await.check(200, "");
    let path = format!("/api/public/media/{}", id());
    server.get(&path).send().await.check(200, "").json()
}

#[tokio::test]
async fn media_go_in_and_come_out() {
    let server = TestServer::start().await;
    let path = format!("/api/public/media/{}", id());
    let url = upload_url(&server, "image/png").await;
    server.get(&path).send().await.check(404, "LangfuseNotFoundError");
    let put = server.request("PUT", &url).header("x-amz-checksum-sha256", HELLO);
    // The signed URL is enough: no key.
    put.header("authorization", "none").bytes(b"hello").send().await.check(200, "");
    let outcome = json!({
        "uploadedAt": "2026-11-15T11:59:00Z", "uploadHttpStatus": 200, "uploadTimeMs": 12,
    });
    let patch = server.request("PATCH", &path).json(outcome.to_string());
    patch.key(Role::IngestOnly).send().await.check(204, "");

    let media = server.get(&path).send().await.check(200, "").json();
    assert_eq!(media["contentType"], "image/png");
    assert_eq!((&media["contentLength"], &media["mediaId"]), (&json!(5), &json!(id())));
    assert_eq!(media["uploadedAt"], "2026-11-15T11:59:00.000Z");
    assert_eq!(media["urlExpiry"], "2026-11-15T13:00:00.000Z");
    let get = server.request("GET", media["url"].as_str().unwrap());
    let bytes = get.header("authorization", "none").send().await;
    assert_eq!(bytes.check(200, "hello").header("content-type"), "image/png");
    assert_eq!(bytes.header("content-disposition"), "inline");
    assert_eq!(bytes.header("x-content-type-options"), "nosniff");

    // Stored media are not uploaded again.
    let again = announce(&server, &hello("image/png")).await.check(200, "").json();
    assert_eq!(again, json!({"uploadUrl": null, "mediaId": id()}));
    let data = server.stop().await;
    assert_eq!(std::fs::read_dir(data.path().join("media")).unwrap().count(), 1);
}

#[tokio::test]
async fn what_could_run_in_a_browser_is_a_file_to_save() {
    let server = TestServer::start().await;
    let media = stored(&server, "text/html").await;
    assert_eq!(media["contentType"], "text/html");
    let page = server.request("GET", media["url"].as_str().unwrap()).send().await;
    assert_eq!(page.header("content-type"), "application/octet-stream");
    assert_eq!(page.header("content-disposition"), "attachment");
    assert!(page.header("content-security-policy").starts_with("sandbox"));
    server.stop().await;
}

#[tokio::test]
async fn bytes_must_be_those_that_were_announced() {
    let server = TestServer::start().await;
    let url = upload_url(&server, "text/plain").await;
    for (bytes, words) in [
        (&b"hullo"[..], "have the SHA-256"),
        (b"hell", "5 bytes were announced, 4 were sent"),
        (b"hello world", "5 bytes were announced"),
        (b"", "5 bytes were announced, 0 were sent"),
    ] {
        server.request("PUT", &url).bytes(bytes).send().await.check(400, words);
    }
    let put = server.request("PUT", &url).header("x-amz-checksum-sha256", "other");
    put.bytes(b"hello").send().await.check(400, "was announced");
    let data = server.stop().await;
    assert_eq!(std::fs::read_dir(data.path().join("media")).unwrap().count(), 0);
}

#[tokio::test]
async fn links_open_one_thing_for_a_while() {
    let server = TestServer::start().await;
    let upload = upload_url(&server, "text/plain").await;
    server.request("PUT", &upload).bytes(b"hello").send().await.check(200, "");
    // An upload URL is no download URL, and not valid in another project.
    server.request("GET", &upload).send().await.check(401, "UnauthorizedError");
    let moved = upload.replace("/shop/", "/other/");
    server.request("PUT", &moved).bytes(b"hello").send().await.check(401, "");
    let bare = format!("/api/v1/media/shop/{}", id());
    server.request("GET", &bare).send().await.check(401, "UnauthorizedError");
    server.request("PUT", &bare).bytes(b"hello").send().await.check(401, "");
    server.clock.advance(Duration::from_secs(3_601));
    server.request("PUT", &upload).bytes(b"hello").send().await.check(401, "expired");
    server.stop().await;
}

#[tokio::test]
async fn media_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (field, value, words) in [
        ("contentType", json!("text/x-shellscript"), r#""path":["contentType"]"#),
        ("contentLength", json!(0), "must be from 1 to"),
        ("contentLength", json!(200_000_001u64), "must be from 1 to"),
        ("contentLength", json!(-1), "contentLength"),
        ("sha256Hash", json!("abc"), "SHA-256"),
        ("field", json!("expectedOutput"), "must be one of input, output, metadata"),
        ("traceId", json!(null), "needs either traceId"),
        ("datasetId", json!("d"), "needs either traceId"),
    ] {
        let mut body = hello("image/png");
        body[field] = value;
        announce(&server, &body).await.check(400, words);
    }
    let item = json!({
        "datasetId": "d", "datasetItemId": "i", "contentType": "image/png", "contentLength": 5,
        "sha256Hash": HELLO, "field": "expectedOutput",
    });
    announce(&server, &item).await.check(200, "uploadUrl");
    server.stop().await;
}

#[tokio::test]
async fn another_project_must_bring_the_bytes_itself() {
    let server = with_another_project().await;
    stored(&server, "image/png").await;
    let path = format!("/api/public/media/{}", id());
    let get = server.get(&path).header("authorization", OTHER);
    get.send().await.check(404, "LangfuseNotFoundError");
    let outcome = json!({"uploadedAt": "2026-11-15T11:59:00Z", "uploadHttpStatus": 200});
    let patch = server.request("PATCH", &path).json(outcome.to_string());
    patch.header("authorization", OTHER).send().await.check(404, "LangfuseNotFoundError");
    let post = server.post("/api/public/media").json(hello("image/png").to_string());
    let answer = post.header("authorization", OTHER).send().await.check(200, "").json();
    assert!(answer["uploadUrl"].is_string(), "knowing a hash is not having the bytes");
    server.stop().await;
}
