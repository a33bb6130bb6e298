use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use ratchet_testkit::{http, wait};
use serde_json::{Value, json};

use crate::{ask, fails, folder, json as json_of, ok, ratchet, server};

const ROWS: &str = r#"
{"id": "r1", "name": "chat", "user": "ada", "session": "s1", "timestamp": "2026-03-02T08:00:00Z", "input": {"n": 1.50}, "output": "hi", "model": "gpt-5", "usage": {"input": 3, "output": 4}, "cost": 0.5, "scores": {"quality": 0.75}}
{"id": "r2", "timestamp": "tomorrow"}
not json
{"id": "r3", "timestamp": "2026-03-02T09:00:00Z", "scores": {"quality": 1, "bad": {}}}
{"id": "o1", "traceId": "r1", "type": "TOOL", "name": "search", "startTime": "2026-03-02T08:00:01Z", "latency": 1}
"#;

fn file(name: &str, content: &str) -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(name);
    std::fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (home, path)
}

#[test]
fn good_rows_are_recorded_and_bad_ones_named() {
    let (_home, path) = file("rows.jsonl", ROWS);
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let finished = ask(&running, &["import", "jsonl", &path, "--json"]).run();
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!((&report["rows"], &report["bad"]), (&json!(5), &json!(3)));
    let problems = report["problems"].as_array().unwrap();
    let lines: Vec<_> = problems.iter().map(|problem| problem["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 5]);
    assert!(problems[0]["reason"].as_str().unwrap().starts_with("timestamp: "), "{problems:?}");
    assert!(problems[2]["reason"].as_str().unwrap().starts_with("scores.bad: "), "{problems:?}");
    assert!(finished.stderr.contains("rows.jsonl:5: scores.bad"), "{}", finished.stderr);

    let list = running.send(http::get("/api/public/traces")).json();
    assert_eq!(list["meta"]["totalItems"], 1, "nothing of a bad row is recorded");
    let trace = running.send(http::get("/api/public/traces/r1")).json();
    assert_eq!((&trace["userId"], &trace["totalCost"]), (&json!("ada"), &json!(0.5)));
    assert_eq!(trace["observations"].as_array().unwrap().len(), 2);
    assert_eq!(trace["scores"][0]["value"], 0.75);
    assert!(running.send(http::get("/api/public/traces/r1")).text().contains(r#"{"n": 1.50}"#));
}

#[test]
fn rows_come_from_standard_input_and_many_at_once() {
    let data = folder();
    let into = data.path().to_str().unwrap();
    let launch = ratchet(&["import", "jsonl", "-", "--data", into, "--json"]);
    let (mut command, _home) = launch.into_parts();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut rows = String::new();
    for n in 0..2_500 {
        writeln!(rows, r#"{{"id": "r{n}", "timestamp": "2026-03-02T08:00:00Z", "input": {n}}}"#)
            .unwrap();
    }
    child.stdin.take().unwrap().write_all(rows.as_bytes()).unwrap();
    let output = wait::output("ratchet import", child);
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["traces"], &report["bad"]), (&json!(2_500), &json!(0)));
    let running = server(data.path()).start();
    let list = running.send(http::get("/api/public/traces")).json();
    assert_eq!(list["meta"]["totalItems"], 2_500);
}

#[test]
fn a_preview_records_nothing() {
    let (_home, path) = file("rows.jsonl", ROWS);
    let finished = ratchet(&["import", "jsonl", &path, "--preview"]).run();
    assert!(finished.stdout.contains("rows.jsonl:2\n"), "{}", finished.stdout);
    assert!(finished.stdout.contains(r#""type":"generation-create""#), "{}", finished.stdout);
    assert!(finished.stdout.contains("would import 1 trace,"), "{}", finished.stdout);
}

#[test]
fn tables_are_recorded_by_the_names_of_their_columns() {
    let table = "id,question,answer,stars,usage.input,tenant,when\n\
                 1,\"a \"\"quoted\"\"\nquestion\",yes,5,12,acme,2026-03-02T08:00:00Z\n\
                 2,short\n\
                 3,why,,bad,1,,2026-03-02T09:00:00Z\n";
    let (_home, path) = file("t.csv", table);
    let data = folder();
    let maps = ["question=input", "answer=output", "stars=scores.stars", "when=timestamp"];
    let maps = maps.into_iter().flat_map(|map| ["--map", map]);
    let launch = || {
        let into = data.path().to_str().unwrap();
        ratchet(&["import", "csv", &path, "--data", into, "--json"]).args(maps.clone())
    };
    let (_elsewhere, other) = file("dos.csv", &table.replace('\n', "\r\n"));
    let preview = ratchet(&["import", "csv", &other, "--preview", "--json"]).args(maps.clone());
    let preview: Value = serde_json::from_str(&preview.run().stdout).unwrap();
    assert_eq!(preview["problems"][0]["line"], 4, "as an editor counts them: {preview}");
    let finished = launch().run();
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!((&report["rows"], &report["bad"]), (&json!(3), &json!(1)), "{report}");
    assert_eq!(report["problems"][0]["line"], 4);
    assert!(report["problems"][0]["reason"].as_str().unwrap().contains("2 cells"));
    let running = server(data.path()).start();
    let trace = running.send(http::get("/api/public/traces/1")).json();
    assert_eq!(trace["input"], "a \"quoted\"\nquestion");
    assert_eq!(trace["metadata"], json!({"tenant": "acme"}));
    assert_eq!(trace["scores"][0]["value"], 5.0);
    assert_eq!(trace["observations"][0]["usageDetails"]["input"], 12);
    let third = running.send(http::get("/api/public/traces/3")).json();
    assert_eq!(third["scores"][0]["stringValue"], "bad");
}

#[test]
fn what_makes_no_sense_is_told() {
    let (_home, path) = file("t.csv", "a,b\n1,2\n");
    let message = fails(ratchet(&["import", "csv", &path, "--preview", "--map", "c=input"]), 1);
    assert!(message.contains("there is no column c; there are: a, b"), "{message}");
    let message = fails(ratchet(&["import", "jsonl", "nowhere.jsonl", "--preview"]), 1);
    assert!(message.contains("cannot read nowhere.jsonl"), "{message}");
    let shown = json_of(ratchet(&["import", "csv", &path, "--preview", "--map", "a=input"]));
    assert_eq!(shown["preview"][0]["records"][0]["body"]["metadata"], json!({"b": 2}));
    ok(ratchet(&["import", "csv", &path, "--preview"]));
}

#[test]
fn a_quote_that_is_left_open_is_told_by_its_line() {
    let mut table = String::from("input,output\nfine,yes\n\"open,no\n");
    while table.len() < 21_000_000 {
        table.push_str("another row,of the same table\n");
    }
    let (_home, path) = file("open.csv", &table);
    let data = folder();
    let into = data.path().to_str().unwrap();
    let finished = ratchet(&["import", "csv", &path, "--data", into, "--json"]).run();
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!((&report["rows"], &report["bad"]), (&json!(2), &json!(1)));
    assert_eq!((&report["traces"], &report["problems"][0]["line"]), (&json!(1), &json!(3)));
    assert!(finished.stderr.contains("open.csv:3: "), "{}", finished.stderr);
    assert!(finished.stderr.contains("a quote may not be closed"), "{}", finished.stderr);
}
