//! Requests that make no sense, written by hand, each with the answer it deserves.

mod protobuf;
/// Spans in JSON.
mod spans;
mod events;
mod scores;
mod reads;
mod auth;
/// Bodies, encodings and HTTP itself.
mod bodies;
mod admin;
/// Odd texts, and whether what comes back can be read.
mod readable;

use std::net::SocketAddr;

use ratchet_testkit::http::{self, Answer, Client, Request};
use ratchet_testkit::process::{PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY};

use crate::server;

/// A request that makes no sense, and the answer it deserves.
struct Case {
    /// What is wrong with it.
    what: &'static str,
    sent: Sent,
    status: u16,
    /// What the answer must say, so that people know what to do.
    says: &'static str,
}

/// What goes over the wire.
enum Sent {
    Request(Request),
    Raw(Vec<u8>),
}

impl From<Request> for Sent {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<&[u8]> for Sent {
    fn from(raw: &[u8]) -> Self {
        Self::Raw(raw.to_vec())
    }
}

/// One row of the table.
fn case(what: &'static str, sent: impl Into<Sent>, status: u16, says: &'static str) -> Case {
    Case { what, sent: sent.into(), status, says }
}

/// The request with the owner's key.
fn keyed(request: Request) -> Request {
    request.with_key(PUBLIC_KEY, SECRET_KEY)
}

fn answer(address: SocketAddr, sent: &Sent) -> std::io::Result<Answer> {
    let mut client = Client::connect(address)?;
    match sent {
        Sent::Request(request) => client.send(request),
        Sent::Raw(bytes) => {
            client.write(bytes)?;
            client.read()
        }
    }
}

/// What is wrong with an answer.
fn complaint(running: &Ratchet, case: &Case) -> Option<String> {
    let answer = match answer(running.address(), &case.sent) {
        Ok(answer) => answer,
        Err(error) => return Some(format!("{}: no answer, {error}", case.what)),
    };
    let is_right = answer.status == case.status && answer.text().contains(case.says);
    (!is_right).then(|| {
        let (status, says) = (case.status, case.says);
        let text: String = answer.text().chars().take(400).collect();
        format!("{}: {} {text}\n    instead of {status} … {says} …", case.what, answer.status)
    })
}

/// Sends every request of a table to a server and fails with all wrong answers.
#[track_caller]
fn check(table: impl FnOnce(&Ratchet) -> Vec<Case>) {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let cases = table(&running);
    let complaints: Vec<_> = cases.iter().filter_map(|case| complaint(&running, case)).collect();
    assert!(
        complaints.is_empty(),
        "{} of {} answers are wrong:\n{}",
        complaints.len(),
        cases.len(),
        complaints.join("\n")
    );
    let health = running.send(http::get("/api/public/health"));
    assert_eq!(health.status, 200, "the server did not survive");
    let log = running.kill_hard().log;
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn spans_in_protobuf() {
    check(|_| protobuf::table());
}

#[test]
fn spans_in_json() {
    check(|_| spans::table());
}

#[test]
fn batches_of_events() {
    check(|_| events::table());
}

#[test]
fn single_scores() {
    check(|_| scores::table());
}

#[test]
fn questions() {
    check(|_| reads::table());
}

#[test]
fn keys() {
    check(auth::table);
}

#[test]
fn bodies_and_encodings() {
    check(|_| bodies::table());
}

#[test]
fn administration() {
    check(|_| admin::table());
}

#[test]
fn whatever_was_recorded_can_be_read() {
    let data = tempfile::tempdir().unwrap();
    readable::check(&server(data.path()).start());
}

#[test]
fn the_table_is_long_enough() {
    let tables = [
        protobuf::table(),
        spans::table(),
        events::table(),
        scores::table(),
        reads::table(),
        bodies::table(),
        admin::table(),
    ];
    let cases: usize = tables.iter().map(Vec::len).sum();
    assert!(cases >= 150, "{cases} cases");
}
