//! Many slow or idle clients at once, against the real server: a few with low limits, and with
//! `make soak` thousands with the usual ones.

use ratchet_testkit::http::{self, Client, Request};
use ratchet_testkit::otlp;
use ratchet_testkit::process::{Launch, PUBLIC_KEY, Ratchet, SECRET_KEY, allow_open_files};
use ratchet_testkit::soak;

use crate::server;
use crate::users::Browser;

/// A server with an owner, and with low limits unless the test runs at full length.
fn crowded(data: &std::path::Path, low: &[(&str, &str)]) -> Launch {
    let owned = server(data)
        .env("RATCHET_INIT_OWNER_EMAIL", "me@example.com")
        .env("RATCHET_INIT_OWNER_PASSWORD", "correct horse");
    if soak::is_on() {
        return owned;
    }
    low.iter().fold(owned, |launch, (name, value)| launch.env(name, value))
}

fn record(trace: u128) -> Request {
    let output = otlp::request("crowd").with(otlp::span(trace, 1));
    http::post("/v1/traces").protobuf(output.to_protobuf()).with_key(PUBLIC_KEY, SECRET_KEY)
}

#[track_caller]
fn assert_signs_in(running: &Ratchet) {
    let mut browser = Browser::new(running);
    assert_eq!(browser.get("/sign-in").status, 200);
    let entered = browser.post("/sign-in", "email=me%40example.com&password=correct+horse");
    assert_eq!((entered.status, entered.header("location")), (303, Some("/")));
}

/// Begins a form that announces much, and returns once the server has begun to read it.
fn begin_form(running: &Ratchet, from: usize) -> Client {
    let head = http::post("/sign-in")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Content-Length", "31000")
        .header("X-Forwarded-For", &format!("203.0.{}.{}", 113 + from / 250, from % 250))
        .header("Expect", "100-continue");
    let mut slow = Client::connect(running.address()).unwrap();
    slow.write(&head.to_bytes()).unwrap();
    assert_eq!(slow.read().unwrap().status, 100, "the server wants the form");
    slow.write(b"form_token=").unwrap();
    slow
}

#[test]
fn slow_sign_ins_keep_nobody_from_signing_in() {
    let forms = soak::scaled(40, 2_000);
    allow_open_files(5_000);
    let data = tempfile::tempdir().unwrap();
    let low = [("RATCHET_LIMITS_FORMS_EACH", "4"), ("RATCHET_LIMITS_FORMS_STRANGERS", "64 KB")];
    let running = crowded(data.path(), &low).start();
    let of_one: Vec<_> = (0..forms).map(|_| begin_form(&running, 0)).collect();
    assert_signs_in(&running);
    drop(of_one);
    let of_many: Vec<_> = (0..forms).map(|from| begin_form(&running, from)).collect();
    assert_signs_in(&running);
    assert_eq!(running.send(record(1)).status, 200);
    drop(of_many);
}

#[test]
fn idle_connections_stop_neither_recording_nor_pages() {
    let connections = soak::scaled(60, 4_100);
    allow_open_files(10_000);
    let data = tempfile::tempdir().unwrap();
    let low = [("RATCHET_LIMITS_CONNECTIONS", "20")];
    let running = crowded(data.path(), &low).start();
    let mut idle = Vec::new();
    for nth in 0..connections {
        let mut client = Client::connect(running.address()).unwrap();
        match nth % 3 {
            0 => {}
            // A line that was cut already is as good.
            1 => drop(client.write(b"POST /v1/traces HTTP/1.1\r\nHost: te")),
            _ => drop(client.send(&http::get("/api/public/health"))),
        }
        idle.push(client);
    }
    for trace in 1..=5 {
        assert_eq!(running.send(record(trace)).status, 200);
    }
    assert_signs_in(&running);
    assert!(idle[0].is_closed(), "the oldest made room");
}
