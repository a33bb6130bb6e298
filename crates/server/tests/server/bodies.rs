use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ratchet_server::app::{Limits, Settings};
use ratchet_store::catalog::Role;
use ratchet_testkit::otlp::{request, span};
use ratchet_testkit::wait;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::harness::{Reply, TestServer, basic, public_key};

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
    let server = start(Limits { inflight_bytes: 1_000, ..Limits::default() }).await;
    let body = request("shop").with(span(1, 1).saying("k", "x".repeat(500).as_str())).to_protobuf();
    assert!((500..1_000).contains(&body.len()));
    let mut slow = TcpStream::connect(server.web).await.unwrap();
    let sent = format!("{}{}", head("content-length: 900"), " ".repeat(700));
    slow.write_all(sent.as_bytes()).await.unwrap();
    let in_flight = async || server.app.bodies_in_flight();
    wait::for_value_async("the start of a body", in_flight, |bytes| *bytes >= 700).await;
    let reply = server.post("/v1/traces").protobuf(body.clone()).send().await;
    reply.check(503, "too many large requests");
    assert_eq!(reply.header("retry-after"), "1");
    server.post("/v1/traces").json("{}".to_owned()).send().await.check(200, "");
    drop(slow);
    wait::for_value_async("the end of the body", in_flight, |bytes| *bytes == 0).await;
    server.post("/v1/traces").protobuf(body).send().await.check(200, "");
    server.stop().await;
}

#[tokio::test]
async fn what_bodies_become_counts_as_well() {
    let server = start(Limits { inflight_bytes: 300_000, ..Limits::default() }).await;
    let item = |input: &str| format!(r#"{{"datasetName": "d", "input": {input}}}"#);
    let post = |body: &str| {
        let request = server.post("/api/public/dataset-items").header("content-encoding", "gzip");
        request.header("content-type", "application/json").bytes(&gzip(body.as_bytes()))
    };
    let long = item(&format!("\"{}\"", "x".repeat(400_000)));
    post(&long).send().await.check(413, "more memory than all request bodies may (300000 bytes)");
    let many = item(&format!("[{}{{}}]", "{},".repeat(1_000)));
    post(&many).send().await.check(413, "more memory than all request bodies may");
    post(&item("[1, 2]")).send().await.check(404, "");
    assert_eq!(server.app.bodies_in_flight(), 0);
    server.stop().await;
}

#[tokio::test]
async fn a_body_with_too_many_values_is_never_parsed() {
    let server = start(Limits { values: 1_000, ..Limits::default() }).await;
    let zeros = |len: usize| vec!["0"; len].join(",");
    for path in [
        "/api/public/ingestion",
        "/api/public/scores",
        "/api/public/v2/prompts",
        "/api/public/v2/datasets",
        "/api/public/dataset-items",
    ] {
        let many = format!(r#"{{"batch": [{}]}}"#, zeros(1_000));
        server.post(path).json(many).send().await.check(413, "more than 1000 JSON values");
        let reply =
            server.post(path).json(format!(r#"{{"batch": [{}]}}"#, zeros(900))).send().await;
        assert_ne!(reply.status.as_u16(), 413, "{path}");
    }
    let many = format!(r#"{{"traceIds": [{}]}}"#, zeros(1_000));
    let reply = server.delete("/api/public/traces").json(many).send().await;
    reply.check(413, "more than 1000 JSON values");
    server.stop().await;
}

#[tokio::test]
async fn a_public_key_alone_sends_little_and_nothing_compressed() {
    let server = TestServer::start().await;
    let public = format!("Bearer {}", public_key(Role::Member));
    let long = format!(r#"{{"batch": [], "x": "{}"}}"#, "x".repeat(64_000));
    for path in ["/api/public/scores", "/api/public/ingestion"] {
        let post = || server.post(path).header("authorization", &public);
        post().json(long.clone()).send().await.check(413, "all that a public key alone may send");
        let packed = post().header("content-encoding", "gzip").bytes(&gzip(b"{}"));
        packed.send().await.check(415, "must come uncompressed");
    }
    let post = || server.post("/api/public/ingestion");
    post().json(long.clone()).send().await.check(207, "");
    let packed = post().header("content-encoding", "gzip").bytes(&gzip(long.as_bytes()));
    packed.send().await.check(207, "");
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
