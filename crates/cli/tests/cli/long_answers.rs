//! Responses of any length are sent while they are read.

use std::collections::BTreeSet;
use std::path::Path;

use ratchet_testkit::http::{self, Answer};
use ratchet_testkit::otlp::{self, SpanBuilder};
use ratchet_testkit::process::{PROJECT, Ratchet};
use ratchet_testkit::soak::scaled;
use serde_json::json;

use crate::oversized_bodies::peak;
use crate::pages::writer::Writer;
use crate::server;

/// Bytes of a long text, which the store compresses.
const LONG: usize = 500_000;
/// Bytes that a response may take in the server. A response that is built in memory takes two to
/// three times its own length, which is at least 90 MB. One that is sent as it is read takes 60 to
/// 90 MB, and 120 MB on a machine with other work, where more of it waits to be sent.
const BOUND: usize = 160 * 1024 * 1024;

/// Records spans, so many in a request, and stops the server: reading begins with fresh memory.
fn record(data: &Path, count: u64, at_once: u64, span: impl Fn(u64) -> SpanBuilder) {
    let running = server(data).start();
    for first in (0..count).step_by(usize::try_from(at_once).unwrap()) {
        let spans = (first..count.min(first + at_once)).map(&span);
        let body = otlp::request("long").with_all(spans).to_protobuf();
        let answer = running.send(http::post("/v1/traces").protobuf(body));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    running.kill_hard();
}

/// Checks that a response has so many bytes, and took little memory.
#[track_caller]
fn check(running: &Ratchet, path: &str, expected_bytes: usize) -> serde_json::Value {
    check_memory(running, path, expected_bytes).json()
}

#[track_caller]
fn check_memory(running: &Ratchet, path: &str, expected_bytes: usize) -> Answer {
    let before = peak(running);
    let answer = running.send(http::get(path).host("localhost"));
    assert_eq!(answer.status, 200, "{path}");
    assert!(answer.body.len() > expected_bytes, "{path}: {} bytes", answer.body.len());
    let taken = peak(running) - before;
    assert!(taken < BOUND, "{path} took {taken} bytes for {}", answer.body.len());
    answer
}

#[test]
fn a_session_with_long_traces_takes_the_memory_of_a_few() {
    let data = tempfile::tempdir().unwrap();
    let (traces, long) = (scaled(300, 1_500), "x".repeat(LONG));
    record(data.path(), traces, 4, |nth| {
        let span =
            otlp::span(u128::from(nth) + 1, 1).lasting(i64::try_from(nth).unwrap(), 1_000_000);
        let span = span.saying("langfuse.session.id", "s");
        span.saying("langfuse.trace.input", long.as_str())
    });
    let running = server(data.path()).start();
    let count = usize::try_from(traces).unwrap();
    let session = check(&running, "/api/public/sessions/s", count * LONG);
    let ids: Vec<_> = session["traces"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    let expected: Vec<_> = (1..=traces).map(|nth| otlp::trace_id(u128::from(nth))).collect();
    assert_eq!(ids, expected.iter().collect::<Vec<_>>(), "all of them, oldest first");
}

#[test]
fn a_trace_with_long_or_many_spans_takes_the_memory_of_a_few() {
    let data = tempfile::tempdir().unwrap();
    let (spans, long) = (300, "x".repeat(LONG));
    let of_one = |trace: u128, nth: u64| {
        otlp::span(trace, nth + 1).lasting(i64::try_from(nth).unwrap(), 10_000_000)
    };
    record(data.path(), spans, 4, |nth| {
        of_one(1, nth).saying("langfuse.observation.input", long.as_str())
    });
    let many = scaled(20_000, 200_000);
    record(data.path(), many, 5_000, |nth| of_one(2, nth));
    let running = server(data.path()).start();
    let of_trace = |trace| format!("/api/public/traces/{}", otlp::trace_id(trace));
    let trace = check(&running, &of_trace(1), 300 * LONG);
    assert_eq!(trace["observations"].as_array().unwrap().len(), 300);
    let trace = check(&running, &of_trace(2), 0);
    assert_eq!(trace["observations"].as_array().unwrap().len() as u64, many);
}

#[test]
fn a_page_of_a_list_takes_the_memory_of_a_few_records() {
    let data = tempfile::tempdir().unwrap();
    let (count, long) = (100, "x".repeat(3 * LONG));
    record(data.path(), count, 2, |nth| {
        let span =
            otlp::span(u128::from(nth) + 1, nth + 1).lasting(i64::try_from(nth).unwrap(), 1_000);
        span.saying("langfuse.observation.input", long.as_str())
    });
    let expected_bytes = 100 * 3 * LONG;
    for path in [
        "/api/public/traces?limit=100&orderBy=timestamp.asc",
        "/api/public/observations?limit=100",
        "/api/public/v2/observations?limit=100&fields=core,io",
    ] {
        let running = server(data.path()).start();
        let page = check(&running, path, expected_bytes);
        let rows = page["data"].as_array().unwrap();
        assert_eq!(rows.len(), 100, "{path}");
        let ids: BTreeSet<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 100, "{path}: each of them once");
        assert!(rows.iter().all(|row| row["input"].as_str().unwrap().len() == 3 * LONG), "{path}");
        assert_eq!(page["meta"]["limit"], 100, "{path}");
        running.kill_hard();
    }
}

/// The items of a run, and the pages that show them or the turns of a session.
#[test]
fn runs_and_public_sessions_take_the_memory_of_a_few_records() {
    let data = tempfile::tempdir().unwrap();
    let (count, long) = (60, "x".repeat(3 * LONG));
    record(data.path(), count, 2, |nth| {
        let span = otlp::span(u128::from(nth) + 1, 1);
        let span = span.lasting(i64::try_from(nth).unwrap(), 1_000);
        let span = span.saying("langfuse.session.id", "s");
        span.saying("langfuse.trace.input", "asked").saying("langfuse.trace.output", long.as_str())
    });
    let running = server(data.path()).args(["--no-auth"]).start();
    let writer = Writer { server: &running };
    writer.post("/api/public/v2/datasets", &json!({ "name": "d" }));
    let item = json!({ "datasetName": "d", "id": "i", "input": "asked" });
    writer.post("/api/public/dataset-items", &item);
    for nth in 1..=count {
        for run in ["before", "after"] {
            let trace = otlp::trace_id(u128::from(nth));
            let item = json!({ "runName": run, "datasetItemId": "i", "traceId": trace });
            writer.post("/api/public/dataset-run-items", &item);
        }
    }
    let session = format!("/project/{PROJECT}/sessions/s");
    writer.submit(&session, &format!("{session}/publish"), &[("set", "yes")]);
    let shown = writer.page(&session);
    let token = shown.split_once("href=\"/public/").unwrap().1.split('"').next().unwrap();
    let public = format!("/public/{token}");
    running.kill_hard();
    let items = "/api/public/experiment-items?fromStartTime=1970-01-01T00:00:00Z&limit=60&\
                 fields=core,io";
    let runs = format!("/project/{PROJECT}/datasets/d");
    for (path, expected_bytes) in [
        (items.to_owned(), 60 * 3 * LONG),
        (public, 0),
        (session, 0),
        (format!("{runs}/runs/after"), 0),
        (format!("{runs}/compare?before=before&after=after"), 0),
    ] {
        let running = server(data.path()).args(["--no-auth"]).start();
        check_memory(&running, &path, expected_bytes);
        running.kill_hard();
    }
}

/// Lists of runs with long metadata and long scores, and an item with many long versions.
#[test]
fn lists_of_runs_and_versions_of_items_take_the_memory_of_a_few() {
    let data = tempfile::tempdir().unwrap();
    record(data.path(), 1, 1, |_| otlp::span(1, 1).lasting(1, 1_000));
    let running = server(data.path()).args(["--no-auth"]).start();
    let writer = Writer { server: &running };
    let (runs, versions, long) = (60, 130, "x".repeat(3 * LONG));
    writer.post("/api/public/v2/datasets", &json!({ "name": "d" }));
    for nth in 0..versions {
        let input = json!({ "nth": nth, "long": long });
        let item = json!({ "datasetName": "d", "id": "i", "input": input });
        writer.post("/api/public/dataset-items", &item);
    }
    let trace = otlp::trace_id(1);
    for nth in 0..runs {
        let item = json!({ "runName": format!("run {nth}"), "datasetItemId": "i",
            "traceId": trace, "metadata": { "long": long } });
        let run = writer.post("/api/public/dataset-run-items", &item);
        let of_run = json!({ "datasetRunId": run["datasetRunId"], "name": "run", "value": 1,
            "comment": long });
        writer.post("/api/public/scores", &of_run);
        let of_trace = json!({ "traceId": trace, "name": format!("score {nth}"), "value": 1,
            "comment": long, "metadata": { "long": long } });
        writer.post("/api/public/scores", &of_trace);
    }
    running.kill_hard();
    let experiments = "/api/public/experiments?fromStartTime=1970-01-01T00:00:00Z&limit=100&\
                       fields=core,metadata,scores";
    let pages = format!("/project/{PROJECT}");
    for (path, expected_bytes) in [
        (experiments.to_owned(), 60 * 2 * 3 * LONG),
        ("/api/public/datasets/d/runs?limit=100".to_owned(), 60 * 3 * LONG),
        (format!("{pages}/experiments"), 0),
        (format!("{pages}/datasets/d/runs"), 0),
        (format!("{pages}/datasets/d/items/i"), 0),
    ] {
        let running = server(data.path()).args(["--no-auth"]).start();
        let answer = check_memory(&running, &path, expected_bytes);
        if path.starts_with("/api") {
            let rows = answer.json()["data"].as_array().unwrap().len();
            assert_eq!(rows, 60, "{path}: each of them once");
        }
        running.kill_hard();
    }
}
