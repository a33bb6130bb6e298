use std::path::Path;

use ratchet_testkit::http;
use ratchet_testkit::process::Launch;
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::{Value, json};

use super::{STORIES, calibrated, on, panel_folder, run, table};
use crate::score::models::verdict;
use crate::score::sessions::{folder_of, stop, stored};
use crate::server;

/// A folder whose sessions a model marked all the same, and people did not.
fn judged_alike(model: &ScriptedModel) -> tempfile::TempDir {
    let data = folder_of(&STORIES);
    model.say_always(Reply::document(verdict(0.5)));
    run(with(data.path(), model, &["score", "--days", "36500"]), 0);
    let elsewhere = tempfile::tempdir().unwrap();
    run(on(data.path(), &["label", "import", &table(elsewhere.path())]), 0);
    model.script([]);
    data
}

fn with(data: &Path, model: &ScriptedModel, args: &[&str]) -> Launch {
    on(data, args)
        .args(["--judge", "anthropic:claude-sonnet-5"])
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "sk-test")
}

/// The generations of the overall score of a session, as a server shows them.
fn generations(data: &Path, session: &str) -> Vec<Value> {
    let running = server(data).start();
    let scores = stored(&running, session);
    stop(running);
    let overall = scores.iter().filter(|score| score["name"] == "overall_quality");
    overall.map(|score| score["metadata"]["generation"].clone()).collect()
}

#[test]
fn a_draft_is_tried_by_the_model_that_judged_and_paid_for_once() {
    let model = ScriptedModel::start().unwrap();
    let data = judged_alike(&model);
    // With the differences in the prompt, it looks at what failed.
    model.say_always(Reply::document(verdict(0.1)).on("exit code 1"));
    model.say_always(Reply::document(verdict(0.9)));
    let untold = calibrated(with(data.path(), &model, &["calibrate"]));
    assert!(!untold["drafts"].as_array().unwrap().is_empty(), "{untold}");
    assert_eq!(untold["tried"], json!(null), "nobody's money is spent unless told");
    let broke = ["calibrate", "--revise", "--max-cost", "0.000001"];
    let broke = run(with(data.path(), &model, &broke).arg("--json"), 5);
    let broke: Value = serde_json::from_str(&broke).unwrap();
    assert_eq!(
        (&broke["tried"]["outcome"], &broke["tried"]["judged"]),
        (&json!("stopped"), &json!(0))
    );
    let untested = ["calibrate", "--apply", "--yes", "--max-cost", "0.000001"];
    let text = run(with(data.path(), &model, &untested), 5);
    assert!(text.contains("Stopped at --max-cost; run the same command again"), "{text}");
    assert!(!data.path().join("rubrics").exists(), "untested drafts are not applied");
    assert!(model.requests().is_empty(), "nobody was asked");
    let tried = calibrated(with(data.path(), &model, &["calibrate", "--revise"]));
    let asked = model.requests();
    assert_eq!(asked.len(), STORIES.len(), "the labelled sessions, and no others");
    assert!(asked.iter().all(|body| body.to_string().contains("Where human labels differ")));
    assert!(tried["tried"]["cost"].as_f64().unwrap() > 0.0, "{tried}");
    let shifts = tried["trial"].as_array().unwrap();
    let tools = shifts.iter().find(|shift| shift["dimension"] == "tool_mastery").unwrap();
    assert_eq!(tools["nearer"], "cannot_tell", "six sessions prove nothing: {tools}");
    assert_eq!(tools["difference"]["n"], 6);
    assert!(tools["difference"]["value"].as_f64().unwrap() < 0.0, "{tools}");
    assert_eq!(generations(data.path(), "b"), [json!(1)], "a trial writes no score");
    let applied = ["calibrate", "--apply", "--yes", "--days", "36500"];
    let applied = calibrated(with(data.path(), &model, &applied));
    assert_eq!(applied["applied"]["rescored"], 6, "{applied}");
    assert_eq!(model.requests().len(), STORIES.len(), "what the trial paid for is not paid again");
    assert_eq!(generations(data.path(), "b"), [json!(1), json!(2)], "both scores are kept");
    let after = calibrated(on(data.path(), &["calibrate"]));
    assert_eq!(after["overall"], untold["overall"], "agreement is on the first scores");
}

#[test]
fn the_offline_judge_drafts_nothing_from_scores_of_another_judge() {
    let model = ScriptedModel::start().unwrap();
    let data = judged_alike(&model);
    let text = on(data.path(), &["calibrate"]).run().stdout;
    assert!(!text.contains("Draft criterion"), "the offline judge reads no prompt: {text}");
    assert!(text.contains("anthropic:claude-sonnet-5"), "{text}");
    let applied = on(data.path(), &["calibrate", "--apply", "--yes"]).run();
    assert!(!applied.stdout.contains("saved"), "{}", applied.stdout);
    for folder in ["rubrics", "offline"] {
        assert!(!data.path().join(folder).exists(), "{folder}");
    }
}

#[test]
fn a_model_that_has_changed_is_noticed_by_its_panel() {
    let model = ScriptedModel::start().unwrap();
    let data = panel_folder();
    model.say_always(Reply::document(verdict(0.5)));
    run(with(data.path(), &model, &["score", "--days", "36500"]), 0);
    model.script([]);
    model.say_always(Reply::document(verdict(0.9)));
    let sit = || with(data.path(), &model, &["calibrate", "--panel"]);
    let first = calibrated(sit());
    assert_eq!((&first["panel"]["judged"], model.requests().len()), (&json!(12), 12));
    let again = calibrated(sit());
    assert_eq!(again["panel"]["judged"], 0, "once a week: {again}");
    assert_eq!(model.requests().len(), 12);
    assert_eq!(again["drift"][0]["dimensions"][0]["bearing"], "cannot_tell");
    make_older(data.path(), 0.0);
    model.script([]);
    model.say_always(Reply::document(verdict(0.5)));
    let later = calibrated(sit());
    assert_eq!(model.requests().len(), 12, "what it said then is not what it says now");
    let drift = &later["drift"][0];
    assert_eq!(
        (&drift["first_week"], &drift["dimensions"][0]["alert"]),
        (&json!("2026-01-04"), &json!(true))
    );
    assert_eq!(drift["dimensions"][0]["bearing"], "stricter", "{drift}");
    let text = on(data.path(), &["calibrate"]).run();
    assert_eq!(text.code, Some(3), "somebody should look: {}", text.stdout);
    assert!(text.stdout.contains("ALERT: anthropic:claude-sonnet-5"), "{}", text.stdout);
    assert_eq!(generations(data.path(), "b"), [json!(1)], "a panel writes no score");
}

/// What judges said of their panels is said to be of a week long past, and each mark to be higher.
pub(super) fn make_older(data: &Path, by: f64) {
    let running = server(data).start();
    let path = "/api/public/dataset-items?datasetName=judge-panel&limit=100";
    let list = running.send(http::get(path)).json();
    for item in list["data"].as_array().unwrap() {
        let mut metadata = item["metadata"].clone();
        metadata["week"] = json!("2026-01-04");
        let mut marks = item["expectedOutput"].clone();
        for mark in marks.as_object_mut().unwrap().values_mut() {
            *mark = json!(mark.as_f64().unwrap() + by);
        }
        let body = json!({
            "datasetName": "judge-panel",
            "id": format!("old-{}", item["id"].as_str().unwrap()),
            "input": item["input"],
            "expectedOutput": marks,
            "metadata": metadata,
        });
        let answer = running.send(http::post("/api/public/dataset-items").json(body.to_string()));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let gone = format!("/api/public/dataset-items/{}", item["id"].as_str().unwrap());
        assert_eq!(running.send(http::request("DELETE", &gone)).status, 200);
    }
    stop(running);
}
