//! Overrides of the offline judge's signals, drafted from labels.

use std::path::Path;

use serde_json::{Value, json};

use super::success::{SESSIONS, fails, folder};
use super::{calibrated, on, run};
use crate::private_files::assert_private;
use crate::score::sessions::{stop, stored};
use crate::server;
use crate::users::Browser;

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
    assert_private(&data.path().join("offline"));
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

/// A form of the calibration page, as a browser without scripts sends it.
#[test]
fn a_draft_is_seen_and_accepted_on_the_page_and_a_refused_form_keeps_its_input() {
    let data = folder();
    label(data.path());
    let running = server(data.path()).arg("--no-auth").start();
    let mut browser = Browser::new(&running);
    let page = browser.get("/project/test-project/calibration").text();
    assert!(page.contains("Draft overrides from labels"), "{page}");
    let page = browser.get("/project/test-project/calibration?drafts=overrides").text();
    let (_, seen) = page.split_once("name=\"seen\" value=\"").unwrap();
    let seen = seen.split('"').next().unwrap().replace(' ', "+").replace(';', "%3B");
    assert!(seen.starts_with("tool_mastery"), "{seen}");

    let accept = "/project/test-project/calibration/overrides";
    let refused = browser.post(accept, "seen=tool_mastery+0.1");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("value=\"tool_mastery 0.1\""), "{}", refused.text());
    assert!(!data.path().join("offline").exists(), "what was not seen is not accepted");

    let accepted = browser.post(accept, &format!("seen={seen}"));
    assert_eq!(accepted.status, 303, "{}", accepted.text());
    let page = browser.get("/project/test-project/calibration?drafts=overrides").text();
    assert!(page.contains("Version 1, drafted from labels"), "{page}");
    assert!(page.contains("No draft"), "nothing is left to gain: {page}");
    let audit = browser.get("/project/test-project/settings/audit").text();
    assert!(audit.contains("signal overrides") && audit.contains("tool_mastery"), "{audit}");
    stop(running);
}

#[test]
fn a_score_config_is_edited_on_its_page() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).arg("--no-auth").start();
    let mut browser = Browser::new(&running);
    let configs = "/project/test-project/settings/score-configs";
    browser.get(configs);
    let made = "action=create&name=tone&dataType=NUMERIC&minValue=0&maxValue=1&description=old";
    assert_eq!(browser.post(configs, made).status, 303);
    let page = browser.get(configs).text();
    let (_, id) = page.split_once("edit=").unwrap();
    let id = id.split(['#', '"', '&']).next().unwrap().to_owned();
    let form = browser.get(&format!("{configs}?edit={id}")).text();
    assert!(form.contains("Edit score config") && form.contains("value=\"tone\""), "{form}");
    assert!(!form.contains("id=\"categories\""), "a number has no categories: {form}");
    let save = |max: &str| {
        format!("action=save&id={id}&name=tone&minValue=0&maxValue={max}&description=how+it+sounds")
    };
    let refused = browser.post(configs, &save("-1"));
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("value=\"how it sounds\""), "{}", refused.text());
    assert_eq!(browser.post(configs, &save("5")).status, 303);
    let page = browser.get(configs).text();
    assert!(page.contains("0 to 5") && page.contains("how it sounds"), "{page}");
    stop(running);
}
