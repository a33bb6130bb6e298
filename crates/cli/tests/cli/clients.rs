//! Clients that are slow, silent or gone. None of them may keep others from being served.

use ratchet_testkit::http::{self, Client, Request};
use ratchet_testkit::otlp;
use ratchet_testkit::process::{Launch, PUBLIC_KEY, Ratchet, SECRET_KEY};

use crate::server;

fn impatient(data: &std::path::Path) -> Launch {
    server(data)
        .env("RATCHET_TIMEOUTS_FIRST_REQUEST", "300ms")
        .env("RATCHET_TIMEOUTS_HEADERS", "300ms")
        .env("RATCHET_TIMEOUTS_BODY_GAP", "300ms")
        .env("RATCHET_TIMEOUTS_BODY", "2s")
}

fn record(trace: u128) -> Request {
    let output = otlp::request("clients").with(otlp::span(trace, 1));
    http::post("/v1/traces").protobuf(output.to_protobuf()).with_key(PUBLIC_KEY, SECRET_KEY)
}

#[track_caller]
fn assert_serves(running: &Ratchet, trace: u128) {
    assert_eq!(running.send(record(trace)).status, 200);
}

/// All of a request but its last bytes.
fn all_but_the_end(request: &Request) -> Vec<u8> {
    let mut bytes = request.to_bytes();
    bytes.truncate(bytes.len() - 5);
    bytes
}

#[test]
fn a_body_that_stops_is_told_so_and_records_nothing() {
    let data = tempfile::tempdir().unwrap();
    let running = impatient(data.path()).start();
    let mut slow = Client::connect(running.address()).unwrap();
    slow.write(&all_but_the_end(&record(1))).unwrap();
    assert_serves(&running, 2);
    let answer = slow.read().unwrap();
    assert_eq!(answer.status, 408, "{}", answer.text());
    assert!(answer.text().contains("the body stopped after"), "{}", answer.text());
    let one = running.send(http::get(&format!("/api/public/traces/{}", otlp::trace_id(1))));
    assert_eq!(one.status, 404);
}

#[test]
fn a_body_in_drops_is_cut_off_in_the_end() {
    let data = tempfile::tempdir().unwrap();
    let running = impatient(data.path()).env("RATCHET_TIMEOUTS_BODY_GAP", "10s").start();
    let mut slow = Client::connect(running.address()).unwrap();
    let request = record(1).to_bytes();
    let (most, end) = request.split_at(request.len() - 8);
    slow.write(most).unwrap();
    // A byte whenever the server had time for a whole other request: never silent, never done.
    for (trace, byte) in (2..).zip(&end[..7]) {
        drop(slow.write(&[*byte]));
        assert_serves(&running, trace);
    }
    let answer = slow.read().unwrap();
    assert_eq!(answer.status, 408, "{}", answer.text());
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let data = tempfile::tempdir().unwrap();
    let running = impatient(data.path()).start();
    let mut silent = Client::connect(running.address()).unwrap();
    let mut half = Client::connect(running.address()).unwrap();
    half.write(b"POST /v1/traces HTTP/1.1\r\nHost: te").unwrap();
    assert_serves(&running, 1);
    assert!(silent.is_closed());
    // A half-sent header may be answered before the line is cut.
    if let Ok(answer) = half.read() {
        assert_eq!(answer.status, 408, "{}", answer.text());
    }
    assert!(half.is_closed());
}

#[test]
fn a_client_that_leaves_in_the_middle_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    for _ in 0..50 {
        let mut gone = Client::connect(running.address()).unwrap();
        gone.write(&all_but_the_end(&record(1))).unwrap();
    }
    assert_serves(&running, 2);
    let seen = running.send(http::get("/api/public/traces")).json();
    assert_eq!(seen["meta"]["totalItems"], 1, "half a request was recorded");
}

#[test]
fn a_client_that_does_not_listen_holds_nobody_up() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let mut deaf = Client::connect(running.address()).unwrap();
    // Endless requests whose responses are not read, until the pipes are full.
    let request = http::get("/api/public/traces?limit=100").with_key(PUBLIC_KEY, SECRET_KEY);
    for _ in 0..200 {
        deaf.write(&request.to_bytes()).unwrap();
    }
    for trace in 1..20 {
        assert_serves(&running, trace);
    }
}

#[test]
fn more_clients_than_slots_wait_their_turn() {
    let data = tempfile::tempdir().unwrap();
    let running = impatient(data.path()).env("RATCHET_LIMITS_CONNECTIONS", "3").start();
    let idle: Vec<_> = (0..5).map(|_| Client::connect(running.address()).unwrap()).collect();
    // The idle ones are cut off one by one, and then there is room.
    assert_serves(&running, 1);
    drop(idle);
}
