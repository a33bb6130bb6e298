use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ratchet_server::app::{Limits, Settings};
use ratchet_store::catalog::Role;
use ratchet_testkit::otlp::{request, span};

use crate::harness::{Reply, TestServer, basic};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

async fn start(limits: Limits) -> TestServer {
    TestServer::start_with(Settings { limits, ..Settings::default() }).await
}

async fn post_gzip(server: &TestServer, body: Vec<u8>) -> Reply {
    server.post("/v1/traces").header("content-encoding", "gzip").protobuf(body).send().await
}

#[tokio::test]
async fn gzip_is_read_in_one_piece_or_several() {
    let server = TestServer::start().await;
    let body = request("shop").with(span(1, 1)).to_protobuf();
    post_gzip(&server, gzip(&body)).await.check(200, "");
    assert!(server.trace(1).await.is_some());
    let body = request("shop").with(span(2, 1)).to_protobuf();
    let (head, tail) = body.split_at(body.len() / 2);
    post_gzip(&server, [gzip(head), gzip(tail)].concat()).await.check(200, "");
    assert!(server.trace(2).await.is_some());
    server.stop().await;
}

#[tokio::test]
async fn broken_gzip_is_refused() {
    let server = TestServer::start().await;
    let whole = gzip(&request("shop").with(span(1, 1)).to_protobuf());
    for body in [whole[..whole.len() / 2].to_vec(), b"not gzip at all".to_vec()] {
        post_gzip(&server, body).await.check(400, "not complete gzip data");
    }
    assert!(server.trace(1).await.is_none());
    server.stop().await;
}

#[tokio::test]
async fn a_gzip_bomb_is_refused() {
    let server = start(Limits { decompressed_bytes: 100_000, ..Limits::default() }).await;
    let bomb = gzip(&vec![0; 50_000_000]);
    post_gzip(&server, bomb).await.check(413, "decompresses to more than 100000 bytes");
    server.stop().await;
}

#[tokio::test]
async fn other_encodings_are_refused() {
    let server = TestServer::start().await;
    let post = server.post("/v1/traces").json("{}".to_owned()).header("content-encoding", "br");
    post.send().await.check(415, "br is not read here");
    server.stop().await;
}

#[tokio::test]
async fn a_large_body_is_refused_before_it_comes() {
    let server = start(Limits { body_bytes: 1_000, ..Limits::default() }).await;
    let head = head("content-length: 1001");
    let reply = server.raw(head.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413") && reply.contains("more than 1000 bytes"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn a_large_chunked_body_is_refused_when_it_passes_the_limit() {
    let server = start(Limits { body_bytes: 1_000, ..Limits::default() }).await;
    let chunk = format!("258\r\n{}\r\n", " ".repeat(600));
    let sent = format!("{}{chunk}{chunk}", head("transfer-encoding: chunked"));
    let reply = server.raw(sent.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn a_refused_client_may_finish_and_then_hears_why() {
    let server = start(Limits { body_bytes: 1_000, ..Limits::default() }).await;
    let large = "x".repeat(8_000_000);
    let sent = format!("{}{large}", head("content-length: 8000000"));
    let reply = server.raw(sent.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413") && reply.contains("more than 1000 bytes"), "{reply}");
    let reply = server.raw(sent.replace("Basic", "Digest").as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 401") && reply.contains("neither Basic"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn chunked_bodies_are_read() {
    let server = TestServer::start().await;
    let json = request("shop").with(span(1, 1)).to_json();
    let (first, second) = json.split_at(100);
    let chunks =
        format!("{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n", first.len(), second.len());
    let reply =
        server.raw(format!("{}{chunks}", head("transfer-encoding: chunked")).as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(server.trace(1).await.is_some());
    server.stop().await;
}

#[tokio::test]
async fn bodies_share_the_memory_for_bodies() {
    let server = start(Limits { inflight_bytes: 20, ..Limits::default() }).await;
    let body = request("shop").with(span(1, 1)).to_protobuf();
    assert!(body.len() > 20);
    let reply = server.post("/v1/traces").protobuf(body).send().await;
    reply.check(503, "too many large requests");
    assert_eq!(reply.header("retry-after"), "1");
    server.post("/v1/traces").json("{}".to_owned()).send().await.check(200, "");
    server.stop().await;
}

#[tokio::test]
async fn large_bodies_are_recorded_too() {
    let server = TestServer::start().await;
    let long = "all work and no play ".repeat(10_000);
    let body = request("shop").with(span(1, 1).saying("input.value", long.as_str())).to_protobuf();
    server.post("/v1/traces").protobuf(body).send().await.check(200, "");
    assert!(server.trace(1).await.is_some());
    server.stop().await;
}

fn head(header: &str) -> String {
    format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\n\
         content-type: application/json\r\nconnection: close\r\n{header}\r\n\r\n",
        basic(Role::Member)
    )
}
