//! Who is shown to speak, and what only users can say.

use std::path::Path;

use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::{Value, json};

use super::models::{judged, verdict};
use super::sessions::{Story, folder_of};
use super::{report, score, score_all};
use crate::{ok, ratchet};

/// The notations that come with Ratchet, and one of the user's own: only the first request of a
/// story is a person's.
fn write_notations(data: &Path) {
    let shipped = include_str!("../../../../core/offline/notations.toml");
    let own = "\n[[user_role]]\nfamily = \"ours\"\nis = \"note\"\n\
               pattern = '''Please do step [1-9]'''\n";
    let file = data.join("offline/notations.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, format!("{shipped}{own}")).unwrap();
}

fn satisfaction(found: &Value) -> &Value {
    &found["sessions"][0]["dimensions"]["user_satisfaction"]
}

#[test]
fn a_model_finds_no_satisfaction_where_no_user_spoke_twice() {
    let data = folder_of(&[Story::new("s", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(verdict(0.5)));
    let found = report(judged(data.path(), &model, &[]), 0);
    assert_eq!(satisfaction(&found)["value"], 0.5, "three messages of the user: {found}");
    write_notations(data.path());
    let found = report(judged(data.path(), &model, &["--rescore"]), 0);
    let about = satisfaction(&found);
    assert_eq!(about["value"], Value::Null, "{found}");
    assert_eq!(about["reason"], "No user spoke a second time.", "{about}");
    assert_eq!(found["sessions"][0]["dimensions"]["tool_mastery"]["value"], 0.5, "{found}");
}

#[test]
fn the_users_own_notations_reach_prompts_and_those_who_label() {
    let data = folder_of(&[Story::new("s", 3)]);
    ok(score_all(data.path(), &[]));
    let prompt = || report(score(data.path(), &["prompt", "s", "--rescore"]), 0);
    let brief = || {
        let label = ["label", "--by", "eve", "--days", "36500"];
        ok(ratchet(&label).arg("--data").arg(data.path()).typing("q\n"))
    };
    let before = prompt();
    assert!(before["message"].as_str().unwrap().contains("later words of the user"), "{before}");
    assert!(brief().contains("3 user messages"), "{}", brief());
    write_notations(data.path());
    let after = prompt();
    assert!(!after["message"].as_str().unwrap().contains("later words of the user"), "{after}");
    assert_ne!(before["prompt_hash"], after["prompt_hash"]);
    assert!(brief().contains("1 user message,"), "{}", brief());
}

/// Somebody who is handed prompts is asked about one dimension at a time, as a model is.
#[test]
fn critics_are_handed_out_one_by_one() {
    let data = folder_of(&[Story::new("s", 3)]);
    super::critics::write_rubric(data.path());
    let by = ["--rubric", "apart"];
    let next = || report(score(data.path(), &["prompt", "s"]).args(by), 0);
    let answer = |task: &Value, verdict: Value| {
        let body = json!({"session_id": "s", "chunk": task["chunk"],
            "prompt_hash": task["prompt_hash"], "verdict": verdict});
        score(data.path(), &["submit", "--json"]).args(by).typing(&body.to_string()).run()
    };
    let about = |score: f64| json!({"score": score, "rationale": "so", "evidence": [1]});
    let care = next();
    assert_eq!((&care["waiting"], &care["chunks"]), (&json!(2), &json!(1)), "{care}");
    assert!(care["message"].as_str().unwrap().contains("## care"), "{care}");
    assert!(care["schema"]["properties"]["speed"].is_null(), "{care}");
    let both = answer(&care, json!({"care": about(0.9), "speed": about(0.5)}));
    assert!(both.stderr.contains("speed: is not a dimension"), "{}", both.stderr);
    let first = answer(&care, json!({"care": about(0.9)}));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stdout.contains("waiting for a verdict on chunk 1 of 1"), "{}", first.stdout);
    let again = answer(&care, json!({"care": about(0.1)}));
    assert!(again.stderr.contains("take it again"), "{}", again.stderr);
    let speed = next();
    assert_eq!(speed["waiting"], 1, "{speed}");
    assert_ne!(care["prompt_hash"], speed["prompt_hash"]);
    let done = answer(&speed, json!({"speed": about(0.5)}));
    let done: Value = serde_json::from_str(&done.stdout).unwrap();
    let dimensions = &done["sessions"][0]["dimensions"];
    assert_eq!(
        (&dimensions["care"]["value"], &dimensions["speed"]["value"]),
        (&json!(0.9), &json!(0.5))
    );
}
