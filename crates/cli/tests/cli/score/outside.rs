use std::path::Path;

use ratchet_testkit::process::Finished;
use serde_json::{Value, json};

use super::models::{verdict, verdict_citing};
use super::sessions::{Story, folder_of};
use super::{ids, reason, report, score};
use crate::fails;

fn submit(data: &Path, body: &Value) -> Finished {
    score(data, &["submit", "--json"]).typing(&body.to_string()).run()
}

#[track_caller]
fn taken(data: &Path, body: &Value) -> Value {
    let Finished { code, stdout, stderr } = submit(data, body);
    assert_eq!(code, Some(0), "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn someone_else_judges_and_hands_the_verdict_in() {
    let data = folder_of(&[Story::new("s", 3)]);
    let task = report(score(data.path(), &["prompt", "s", "--chunk", "1"]), 0);
    assert_eq!((&task["chunk"], &task["chunks"]), (&json!(1), &json!(1)));
    assert!(task["message"].as_str().unwrap().contains("step 2 of the migration"), "{task}");
    assert!(task["schema"]["properties"]["task_completion"].is_object(), "{task}");

    let handing = |verdict: Value, hash: &Value| json!({"session_id": "s", "chunk": 1, "prompt_hash": hash, "verdict": verdict});
    let mut bad = verdict_citing(0.5, &[9]);
    bad["tool_mastery"]["score"] = json!(1.5);
    bad["charm"] = json!({});
    bad.as_object_mut().unwrap().remove("user_satisfaction");
    let refused = submit(data.path(), &handing(bad, &task["prompt_hash"]));
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    let faults = [
        "task_completion.evidence: there is no trace 9",
        "tool_mastery.score: must be a number from 0 to 1",
        "user_satisfaction: is missing",
        "charm: is not a dimension",
    ];
    for fault in faults {
        assert!(refused.stderr.contains(fault), "no {fault} in {}", refused.stderr);
    }
    let other = submit(data.path(), &handing(verdict(0.5), &json!("another")));
    assert!(other.stderr.contains("take it again"), "{}", other.stderr);

    let done = taken(data.path(), &handing(verdict(0.5), &task["prompt_hash"]));
    assert_eq!((&done["judge"], ids(&done, "sessions")), (&json!("claude-code"), vec!["s".into()]));
    let shown = report(score(data.path(), &["session", "s"]), 0);
    assert_eq!(shown["sessions"][0]["dimensions"]["tool_mastery"]["value"], 0.5);
    let late = fails(score(data.path(), &["prompt", "s"]), 1);
    assert!(late.contains("already scored"), "{late}");
}

#[test]
fn chunks_are_judged_one_after_the_other() {
    let long = Story { output_bytes: 16_000, ..Story::new("long", 30) };
    let data = folder_of(&[long]);
    let next = || report(score(data.path(), &["prompt", "long"]), 0);
    let early = fails(score(data.path(), &["prompt", "long", "--chunk", "2"]), 1);
    assert!(early.contains("chunk 1 comes first"), "{early}");
    let handing = |task: &Value, mark: f64| {
        let verdict = verdict_citing(mark, &[]);
        let (chunk, hash) = (&task["chunk"], &task["prompt_hash"]);
        json!({"session_id": "long", "chunk": chunk, "prompt_hash": hash, "verdict": verdict})
    };
    let first = next();
    assert_eq!((&first["chunk"], &first["chunks"]), (&json!(1), &json!(2)));
    let waiting = taken(data.path(), &handing(&first, 0.9));
    assert_eq!(reason(&waiting, "skipped", "long"), "waiting for a verdict on chunk 2 of 2");
    let second = next();
    assert!(second["message"].as_str().unwrap().contains("Said of traces 1 to"), "{second}");
    let done = taken(data.path(), &handing(&second, 0.5));
    let about = &done["sessions"][0]["dimensions"]["tool_mastery"];
    assert_eq!(about["chunk_scores"], json!([0.9, 0.5]), "{about}");
}
