use std::time::Duration;

use ratchet_server::app::{Limits, Settings, Timeouts};
use ratchet_store::catalog::Role;
use ratchet_testkit::otlp::{request, span};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{TestServer, basic};

/// Long enough for a busy machine to get a request through, short enough to wait for.
const SHORT: Duration = Duration::from_millis(300);

async fn impatient() -> TestServer {
    let timeouts = Timeouts { headers: SHORT, body_gap: SHORT, ..Timeouts::default() };
    TestServer::start_with(Settings { timeouts, ..Settings::default() }).await
}

fn head(length: usize) -> String {
    format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
        basic(Role::Member)
    )
}

#[tokio::test]
async fn a_body_that_stops_coming_is_told_so() {
    let server = impatient().await;
    let reply = server.raw(format!("{}{{", head(100)).as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    assert!(reply.contains("the body stopped after 1 bytes"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn a_body_has_a_deadline_even_if_pieces_keep_coming() {
    let timeouts = Timeouts { body: SHORT, ..Timeouts::default() };
    let server = TestServer::start_with(Settings { timeouts, ..Settings::default() }).await;
    let mut stream = TcpStream::connect(server.web).await.unwrap();
    stream.write_all(head(1_000_000).as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.split();
    let mut reply = Vec::new();
    let drip = async {
        let mut pace = tokio::time::interval(SHORT / 10);
        loop {
            pace.tick().await;
            if to.write_all(b" ").await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        read = from.read_to_end(&mut reply) => drop(read),
        () = drip => {}
    }
    let reply = String::from_utf8(reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn silent_and_half_open_connections_are_closed() {
    let server = impatient().await;
    // Nothing at all, half of the headers, and half of what opens HTTP/2.
    for sent in ["", "POST /v1/traces HTTP/1.1\r\nhost:", "PRI * HTT"] {
        let reply = server.raw(sent.as_bytes()).await;
        assert!(!reply.contains("200"), "{sent:?}: {reply}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_answer() {
    let server = impatient().await;
    let reply = server.raw(b"GET /api/public/health HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn beyond_the_cap_clients_wait_for_their_turn() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let mut first = TcpStream::connect(server.web).await.unwrap();
    first.write_all(b"GET /api/public/health HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    first.read_u8().await.unwrap();
    let second =
        server.raw(b"GET /api/public/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let mut second = Box::pin(second);
    let early = tokio::time::timeout(SHORT, second.as_mut()).await;
    assert!(early.is_err(), "served beyond the cap: {early:?}");
    drop(first);
    assert!(second.await.starts_with("HTTP/1.1 200"));
    server.stop().await;
}

#[tokio::test]
async fn a_panic_is_answered_and_the_server_lives() {
    let server = TestServer::start().await;
    let reply = server.get("/panic").send().await;
    reply.check(500, "the server failed");
    assert!(!String::from_utf8_lossy(&reply.body).contains("on purpose"));
    server.get("/api/public/health").send().await.check(200, "OK");
    server.stop().await;
}

#[tokio::test]
async fn a_request_under_way_is_finished_when_the_server_stops() {
    let server = TestServer::start().await;
    let body = request("shop").with(span(1, 1)).to_json();
    let mut stream = TcpStream::connect(server.web).await.unwrap();
    let (first, second) = body.split_at(10);
    stream.write_all(format!("{}{first}", head(body.len())).as_bytes()).await.unwrap();
    reach_handler(&server).await;
    server.begin_stop();
    closed_door(&server).await;
    stream.write_all(second.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(server.trace(1).await.is_some());
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_never_ends_is_cut_at_the_deadline() {
    let timeouts = Timeouts { drain: SHORT, ..Timeouts::default() };
    let server = TestServer::start_with(Settings { timeouts, ..Settings::default() }).await;
    let mut stream = TcpStream::connect(server.web).await.unwrap();
    stream.write_all(format!("{}{{", head(100)).as_bytes()).await.unwrap();
    reach_handler(&server).await;
    server.stop().await;
    let mut reply = String::new();
    drop(stream.read_to_string(&mut reply).await);
    assert_eq!(reply, "");
}

/// Waits until the server has begun to read a body.
async fn reach_handler(server: &TestServer) {
    while server.app.bodies_in_flight() == 0 {
        tokio::task::yield_now().await;
    }
}

/// Waits until nobody accepts connections any more.
async fn closed_door(server: &TestServer) {
    while TcpStream::connect(server.web).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
