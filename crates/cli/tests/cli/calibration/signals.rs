//! Overrides of the offline judge's signals, drafted from labels.

use std::path::Path;

use serde_json::{Value, json};

use super::success::{SESSIONS, fails, folder};
use super::{calibrated, on, run};
use crate::score::sessions::{stop, stored};
use crate::server;

/// People mind failed tools less than the judge, and like nothing much.
fn label(data: &Path) {
    let row = |nth: usize| {
        let mark = if fails(nth) { 0.5 } else { 0.6 };
        format!("s{nth},ada,seen,{mark}\n")
    };
    let rows: String = (0..SESSIONS).map(row).collect();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("labels.csv");
    std::fs::write(&file, format!("session_id,labeled_by,why,tool_mastery\n{rows}")).unwrap();
    run(on(data, &["label", "import", file.to_str().unwrap()]), 0);
}

/// The scores of tool mastery of a session, oldest first.
fn scores(data: &Path, session: &str) -> Vec<Value> {
    let running = server(data).start();
    let mut scores = stored(&running, session);
    stop(running);
    scores.retain(|score| score["name"] == "tool_mastery");
    scores
}

#[test]
fn the_offline_judge_gets_signal_overrides_and_no_criterion() {
    let data = folder();
    label(data.path());
    let drafted = calibrated(on(data.path(), &["calibrate", "--threshold", "0"]));
    assert_eq!(drafted["drafts"], json!([]), "no model reads a criterion");
    let draft = &drafted["signal_overrides"]["drafts"][0];
    assert_eq!((&draft["dimension"], &draft["labels"]), (&json!("tool_mastery"), &json!(36)));
    assert!(draft["base"]["after"].as_f64() < draft["base"]["before"].as_f64(), "{draft}");
    assert!(draft["gain"]["interval"][0].as_f64().unwrap() > 0.0, "{draft}");
    assert!(draft["checked"].as_str().unwrap().contains("cross-validated"), "{draft}");
    assert!(!data.path().join("offline").exists(), "nothing is changed yet");

    let applied = calibrated(on(data.path(), &["calibrate", "--apply", "--yes"]));
    let overrides = &applied["signal_overrides"];
    assert_eq!(overrides["version"], 1, "{overrides}");
    let file = overrides["saved"].as_str().unwrap();
    assert!(std::fs::read_to_string(file).unwrap().contains("[dimension.tool_mastery]"));
    run(on(data.path(), &["score", "session", "s1", "--rescore"]), 0);
    let scores = scores(data.path(), "s1");
    let [before, after] = scores.as_slice() else { panic!("{scores:?}") };
    assert!(after["value"].as_f64() < before["value"].as_f64(), "{before} {after}");
    let version = |score: &Value| score["metadata"]["judge_version"].clone();
    assert_ne!(version(before), version(after), "scores of both are not compared");

    let settled = calibrated(on(data.path(), &["calibrate"]));
    assert_eq!(settled["signal_overrides"]["drafts"], json!([]), "nothing is left to gain");
}
