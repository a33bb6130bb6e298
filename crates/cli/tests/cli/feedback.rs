//! The weekly document, as its readers and programs get it.

use std::fs;
use std::path::Path;

use ratchet_testkit::process::{Finished, Launch};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{folder, ratchet};

/// Six requests of three sessions that the agent could not answer, and ten that it could.
fn week_of_failures() -> TempDir {
    let folder = folder();
    let mut lines = String::new();
    for n in 0..16 {
        let is_failed = n < 6;
        let (asked, answer, comment) = if is_failed {
            ("When does the shop open?", "I don't have that information.", "Unknown shop hours.")
        } else {
            ("Where is my parcel?", "It arrives today.", "")
        };
        let at = |minute: u32| format!("2026-11-03T{n:02}:{minute:02}:00Z");
        let trace = json!({
            "id": format!("trace-{n}"), "timestamp": at(0), "name": "support-bot",
            "sessionId": format!("session-{}", n % 3), "userId": format!("user-{n}"),
            "environment": "production", "input": asked, "output": answer,
        });
        let score = json!({
            "id": format!("score-{n}"), "traceId": format!("trace-{n}"), "timestamp": at(9),
            "name": "correctness", "value": u8::from(!is_failed), "dataType": "BOOLEAN",
            "comment": comment,
        });
        lines += &format!("{trace}\n{score}\n");
    }
    let file = folder.path().join("week.jsonl");
    fs::write(&file, lines).unwrap();
    let import = ratchet(&["import", "jsonl"]).arg(&file).arg("--data").arg(folder.path());
    printed(import);
    folder
}

fn feedback(data: &Path, args: &[&str]) -> Launch {
    ratchet(&["feedback", "--week", "2026-11-03"]).args(args).arg("--data").arg(data)
}

fn printed(launch: Launch) -> String {
    let Finished { code, stdout, stderr } = launch.run();
    assert_eq!(code, Some(0), "stdout: {stdout}\nstderr: {stderr}");
    stdout
}

#[test]
fn the_document_names_cause_file_and_evidence_in_the_agreed_json() {
    let data = week_of_failures();
    let code = folder();
    fs::create_dir(code.path().join("knowledge")).unwrap();
    fs::write(code.path().join("knowledge/handbook.md"), "# Handbook\nBe kind.\n").unwrap();
    let from = code.path().to_str().unwrap();
    let json: Value =
        serde_json::from_str(&printed(feedback(data.path(), &["--json", "--code", from]))).unwrap();
    assert_eq!(json["events"], json!([]));
    let [proposal] = json["proposals"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!(proposal["component"], "knowledge");
    assert_eq!(proposal["agent"], "support-bot");
    assert_eq!(proposal["effort"], "high");
    assert_eq!(proposal["files"], json!(["knowledge/handbook.md:2"]));
    assert_eq!(proposal["evidence"].as_array().unwrap().len(), 6);
    assert_eq!(proposal["evidence"][0], "trace-0");
    assert_eq!(proposal["affected"], json!({"users": 6, "sessions": 3, "since_release": null}));
    let impact = &proposal["impact"];
    assert_eq!(impact["value"], 0.375);
    assert!(
        impact["interval"][0].as_f64() <= Some(0.375)
            && impact["interval"][1].as_f64() > Some(0.375)
    );
    assert_eq!(proposal["priority"], 0.125);
    for text in ["id", "title", "change"] {
        assert!(!proposal[text].as_str().unwrap().is_empty(), "{text}");
    }
    let text = printed(feedback(data.path(), &[]));
    assert!(text.contains("6 users in 3 sessions") && text.contains("not found in code"), "{text}");
    let other: Value =
        serde_json::from_str(&printed(feedback(data.path(), &["--json", "--agent", "x"]))).unwrap();
    assert_eq!(other["proposals"], json!([]));
}
