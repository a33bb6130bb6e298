use std::fs;
use std::path::Path;

use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::{Value, json};

use super::models::judged;
use super::sessions::{Story, folder_of};
use super::{ids, report};

const RUBRIC: &str = r#"
name = "apart"
version = 1
description = "Two critics."
critics = "per-dimension"

[[dimension]]
name = "care"
weight = 0.5
kind = "numeric"
criteria = "Was it careful?"

[[dimension]]
name = "speed"
weight = 0.5
kind = "numeric"
criteria = "Was it fast?"
"#;

fn folder(stories: &[Story]) -> tempfile::TempDir {
    let data = folder_of(stories);
    write_rubric(data.path());
    data
}

pub(super) fn write_rubric(data: &Path) {
    fs::create_dir_all(data.join("rubrics")).unwrap();
    fs::write(data.join("rubrics/apart.toml"), RUBRIC).unwrap();
}

fn critic(dimension: &str, score: f64) -> Reply {
    let about = json!({"score": score, "rationale": "so", "evidence": [], "confidence": 1});
    Reply::text(&json!({dimension: about}).to_string()).on(&format!("## {dimension}"))
}

/// The parts of the user's message, without the last one.
fn evidence(request: &Value) -> Vec<Value> {
    let parts = request["messages"][0]["content"].as_array().unwrap();
    parts[..parts.len() - 1].to_vec()
}

#[test]
fn each_dimension_has_a_critic_of_its_own_on_the_same_cached_evidence() {
    let data = folder(&[Story::new("a", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(critic("care", 0.9));
    model.say_always(critic("speed", 0.5));
    let found = report(judged(data.path(), &model, &["--rubric", "apart"]), 0);
    assert_eq!(ids(&found, "sessions"), ["a"], "{found}");
    let dimensions = &found["sessions"][0]["dimensions"];
    assert_eq!(dimensions["care"]["value"], 0.9, "{found}");
    assert_eq!(dimensions["speed"]["value"], 0.5, "{found}");
    assert_eq!(found["counts"]["calls"], 2);
    let asked = model.requests();
    let [care, speed] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(care["system"], speed["system"]);
    assert_eq!(care.get("tools"), None, "a schema of its own would change the cached prefix");
    assert_eq!(evidence(care), evidence(speed));
    for part in evidence(care) {
        assert_eq!(part["cache_control"]["type"], "ephemeral", "{part}");
    }
}

#[test]
fn a_key_that_a_verdict_has_twice_is_sent_back() {
    let data = folder(&[Story::new("a", 3)]);
    let model = ScriptedModel::start().unwrap();
    let twice = r#"{"care": {"score": 0, "score": 1, "rationale": "so", "evidence": [1]}}"#;
    model.say(Reply::text(twice).on("## care"));
    let about = json!({"score": 0.4, "rationale": "so", "evidence": [1]});
    model.say(Reply::text(&json!({"care": about}).to_string()).on("cannot be used"));
    model.say(critic("speed", 0.5));
    let found = report(judged(data.path(), &model, &["--rubric", "apart"]), 0);
    assert_eq!(found["sessions"][0]["dimensions"]["care"]["value"], 0.4, "{found}");
    let output = model.requests().iter().any(|body| body.to_string().contains("stands twice"));
    assert!(output, "the fault is sent back");
}

#[test]
fn chunks_are_planned_by_the_counts_of_the_provider() {
    let long = Story { output_bytes: 16_000, ..Story::new("long", 30) };
    let data = folder(&[long]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(critic("care", 0.9));
    model.say_always(critic("speed", 0.5));
    let args = ["--rubric", "apart", "--rescore"];
    report(judged(data.path(), &model, &args), 0);
    assert_eq!(model.requests().len(), 4, "two chunks of two critics");
    model.count_tokens_as(2_000);
    report(judged(data.path(), &model, &args), 0);
    assert_eq!(model.requests().len(), 6, "the provider counts less: one chunk");
    let counted =
        model.heard().iter().filter(|asked| asked.path.ends_with("/count_tokens")).count();
    assert!(counted > 1, "{counted}");
}
