use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

use super::{Columns, events};

/// The kinds and bodies of a row's events.
fn read(row: &str) -> Vec<(String, Value)> {
    let events = events(row, Timestamp::from_millis(1_000)).unwrap();
    let shown = events.iter().map(|event| {
        let event = serde_json::to_value(event).unwrap();
        (event["type"].as_str().unwrap().to_owned(), event["body"].clone())
    });
    shown.collect()
}

#[track_caller]
fn refused(row: &str, expected: &str) {
    let issue = events(row, Timestamp::default()).unwrap_err();
    assert!(issue.to_string().contains(expected), "{issue} does not say {expected}");
}

#[test]
fn a_run_is_a_trace_a_call_and_scores() {
    let row = r#"{"id": 7, "name": "chat", "user": "ada", "session": "s", "tags": "a, b",
        "timestamp": "2026-03-02T08:00:00Z", "durationSeconds": 1.5, "model": "gpt-5",
        "input": {"q": 1.50}, "output": "hello", "usage": {"input": 3}, "cost": 0.25,
        "scores": {"quality": 0.5, "ok": true, "tone": "warm"}, "tenant": "acme",
        "metadata": {"k": [1]}}"#;
    let read = read(row);
    let kinds: Vec<_> = read.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["trace-create", "generation-create", "score-create", "score-create", "score-create"]
    );
    let (trace, call) = (&read[0].1, &read[1].1);
    assert_eq!((&trace["id"], &trace["userId"]), (&json!("7"), &json!("ada")));
    assert_eq!(trace["tags"], json!(["a", "b"]));
    assert_eq!(trace["metadata"], json!({"k": [1], "tenant": "acme"}));
    assert_eq!((&call["id"], &call["traceId"]), (&json!("7-call"), &json!("7")));
    assert_eq!(call["endTime"], "2026-03-02T08:00:01.500Z");
    assert_eq!(call["costDetails"], json!({"total": 0.25}));
    assert_eq!(read[2].1["value"], json!(true));
}

#[test]
fn a_run_without_an_id_always_gets_the_same() {
    let row = r#"{"input": "hi"}"#;
    assert_eq!(read(row)[0].1["id"], read(row)[0].1["id"]);
    assert_ne!(read(row)[0].1["id"], read(r#"{"input": "ho"}"#)[0].1["id"]);
}

#[test]
fn exported_records_are_known_by_their_fields() {
    let row = r#"{"id": "o", "traceId": "t", "type": "GENERATION", "name": "ask",
        "startTime": "2026-03-02T08:00:00Z", "updatedAt": "2026-03-03T08:00:00Z",
        "usageDetails": {"input": 1, "total": 1}, "latency": 2, "htmlPath": "/x", "model": null}"#;
    let observation = read(row);
    assert_eq!(observation[0].0, "generation-create");
    assert_eq!(observation[0].1["traceId"], "t");
    let row = r#"{"id": "s", "traceId": "t", "name": "grade", "dataType": "CATEGORICAL",
        "value": 1, "stringValue": "good", "source": "ANNOTATION", "configId": "elsewhere"}"#;
    let score = read(row);
    assert_eq!(score[0].0, "score-create");
    assert_eq!((&score[0].1["value"], &score[0].1["source"]), (&json!("good"), &json!("API")));
    assert_eq!(score[0].1["configId"], Value::Null);
    let row = r#"{"id": "t", "timestamp": "2026-03-02T08:00:00Z", "latency": 1.5, "totalCost": 2,
        "scores": ["s"], "observations": ["o"], "htmlPath": "/x", "userId": "ada"}"#;
    let trace = read(row);
    assert_eq!((trace.len(), trace[0].0.as_str()), (1, "trace-create"));
    assert_eq!(trace[0].1["metadata"], Value::Null);
    let row = r#"{"id": "1", "timestamp": "2026-03-02T08:00:00Z", "type": "trace-create",
        "body": {"id": "t"}}"#;
    assert_eq!(read(row)[0].1, json!({"id": "t"}));
}

#[test]
fn a_bad_row_names_its_field() {
    refused("[1]", "not a JSON object");
    refused(r#"{"id": "x", "timestamp": "monday"}"#, "timestamp: not an ISO 8601");
    refused(r#"{"id": "x", "tags": [1]}"#, "tags[0]");
    refused(r#"{"id": "x", "scores": {"a": {}}}"#, "scores.a");
    refused(r#"{"id": "x", "scores": [{"name": "a"}]}"#, "scores[0]");
    refused(r#"{"id": "x", "cost": "much"}"#, "cost");
    refused(r#"{"id": "x", "level": "LOUD"}"#, "level");
    refused(r#"{"traceId": "t", "name": "a", "value": {}}"#, "value");
    refused(r#"{"traceId": "t", "startTime": "2026-03-02T08:00:00Z"}"#, "id: required");
}

fn columns(names: &[&str], maps: &[&str]) -> Result<Columns, super::MapError> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    Columns::new(&owned(names), &owned(maps))
}

#[test]
fn cells_fill_fields_by_name_or_as_told() {
    let columns = columns(
        &["id", "question", "usage.input", "good", "extra", "input2"],
        &["question=input", "good=scores.good", "input2=output"],
    );
    let row = columns.unwrap().row(["7", "007", "12", "true", "", "[1,2]"].into_iter());
    let expected = json!({"id": "7", "input": "007", "usage": {"input": 12},
        "scores": {"good": true}, "output": [1, 2]});
    assert_eq!(serde_json::from_str::<Value>(&row).unwrap(), expected);
}

#[test]
fn mappings_that_make_no_sense_are_told() {
    let error_of = |maps: &[&str]| columns(&["a", "input"], maps).unwrap_err().to_string();
    assert_eq!(error_of(&["a"]), "a is no mapping such as question=input");
    assert_eq!(error_of(&["b=name"]), "there is no column b; there are: a, input");
    assert_eq!(error_of(&["a=input"]), "two columns fill the field input");
}
