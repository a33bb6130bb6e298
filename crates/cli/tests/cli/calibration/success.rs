//! P(success): the offline judge's levels, fitted to labels.

use std::path::Path;

use serde_json::{Value, json};

use super::{calibrated, on, run};
use crate::private_files::assert_private;
use crate::score::sessions::{event, minute, record, stop, stored};
use crate::server;

pub(super) const SESSIONS: usize = 36;

/// Sessions of different tasks; in every third one the tools fail.
pub(super) fn folder() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    for nth in 0..SESSIONS {
        let turns = (0..3).flat_map(|turn| turn_events(nth, turn));
        record(&running, &turns.collect::<Vec<_>>());
    }
    stop(running);
    run(on(data.path(), &["score", "--days", "36500"]), 0);
    data
}

pub(super) fn fails(nth: usize) -> bool {
    nth.is_multiple_of(3)
}

fn turn_events(nth: usize, turn: usize) -> [Value; 2] {
    let (trace, at) = (format!("s{nth}-{turn}"), nth * 10 + turn);
    let level = if fails(nth) { "ERROR" } else { "DEFAULT" };
    let asked = format!("Task {nth}: please move table {turn}.");
    let begun = json!({"name": "turn", "sessionId": format!("s{nth}"), "input": asked,
        "timestamp": minute(at), "output": "I looked at it."});
    let ran = json!({"traceId": trace, "name": "Bash", "level": level,
        "startTime": minute(at),
        "input": {"command": format!("make step-{turn}")}, "output": "…"});
    [event("trace-create", &trace, at, begun), event("tool-create", &format!("{trace}-x"), at, ran)]
}

/// Labels the first sessions: where tools failed, so did the task.
fn label(data: &Path, count: usize) {
    let row = |nth: usize| {
        let grade = if fails(nth) { "failed" } else { "complete" };
        format!("s{nth},ada,seen,{grade}\n")
    };
    let rows: String = (0..count).map(row).collect();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("labels.csv");
    std::fs::write(&file, format!("session_id,labeled_by,why,task_completion\n{rows}")).unwrap();
    run(on(data, &["label", "import", file.to_str().unwrap()]), 0);
}

/// The scores of a completion, oldest first.
fn completions(data: &Path, session: &str) -> Vec<Value> {
    let running = server(data).start();
    let mut scores = stored(&running, session);
    stop(running);
    scores.retain(|score| score["name"] == "task_completion");
    scores
}

#[test]
fn levels_are_fitted_to_labels_once_there_are_enough() {
    let data = folder();
    label(data.path(), 5);
    let few = calibrated(on(data.path(), &["calibrate"]));
    assert_eq!(few["success"], json!({"fitted": false, "reason": "5 of 30 labels needed"}));
    let text = on(data.path(), &["calibrate"]).run().stdout;
    assert!(text.contains("P(success): not fitted; 5 of 30 labels needed."), "{text}");

    label(data.path(), SESSIONS);
    let offered = calibrated(on(data.path(), &["calibrate", "--threshold", "1"]));
    let success = &offered["success"];
    assert_eq!((&success["offered"], &success["labels"]), (&json!(true), &json!(36)), "{success}");
    for gain in ["gain_over_uncalibrated", "gain_over_constant"] {
        assert!(success[gain]["interval"][0].as_f64().unwrap() > 0.0, "{gain}: {success}");
    }
    assert_eq!(success["saved"], Value::Null, "nobody said so yet");

    let applied = on(data.path(), &["calibrate", "--threshold", "1", "--apply", "--yes"]);
    let applied = calibrated(applied);
    let file = applied["success"]["saved"].as_str().unwrap();
    assert!(std::fs::read_to_string(file).unwrap().contains("labels = 36"), "{file}");
    assert_private(data.path());
    run(on(data.path(), &["score", "session", "s0", "--rescore"]), 0);
    let scores = completions(data.path(), "s0");
    let [before, after] = scores.as_slice() else { panic!("{scores:?}") };
    assert_eq!(before["metadata"]["p_success"], Value::Null);
    assert!(after["metadata"]["p_success"].as_f64().unwrap() < 0.3, "{after}");
    assert_eq!(after["metadata"]["labels"], 36);
    assert_eq!(after["stringValue"], "failed", "{after}");
    let said = after["comment"].as_str().unwrap();
    assert!(said.contains("fitted to 36 labels of this project; against it: "), "{said}");
    let version = |score: &Value| score["metadata"]["judge_version"].as_str().unwrap().to_owned();
    assert_ne!(version(before), version(after), "figures of both are never compared");

    std::fs::write(file, "format = 1").unwrap();
    let wrong = on(data.path(), &["score", "session", "s0", "--rescore"]).run();
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("the success model"), "{}", wrong.stderr);
}
