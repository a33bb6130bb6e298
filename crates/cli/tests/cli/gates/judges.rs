use ratchet_testkit::process::Launch;
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::{Value, json};

use super::{Ci, ITEMS, ended};

const SONNET: &str = "experiment-accuracy:anthropic:claude-sonnet-5";
const HAIKU: &str = "experiment-accuracy:anthropic:claude-haiku-4-5";

/// A judge that always says the same.
fn judge(score: f64) -> ScriptedModel {
    let model = ScriptedModel::start().unwrap();
    let verdict = Reply::document(json!({ "reasoning": "compared", "score": score }));
    model.say_always(verdict.on("measured against the expected answer"));
    model
}

fn gate(ci: &Ci, model: &ScriptedModel, more: &[&str]) -> (Option<i32>, Value, String) {
    ended(with_judge(ci.launch(&["--no-extension", "--repeats", "1"]).args(more), model))
}

fn with_judge(launch: Launch, model: &ScriptedModel) -> Launch {
    launch.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "none")
}

#[test]
fn a_judge_decides_beside_other_evaluators_and_is_part_of_the_cost() {
    let (ci, model) = (Ci::start(), judge(1.0));
    let both = ["--evaluator", SONNET, "--evaluator", "exact", "--min-accuracy", "0.7"];
    let (code, report, all) = gate(&ci, &model, &both);
    assert_eq!((code, &report["score"]), (Some(0), &json!("experiment-accuracy")), "{all}");
    assert!(report["cost"].as_f64().unwrap() > 0.0, "the judge is paid: {report}");
    assert!(all.contains("no baseline: none is named with --baseline"), "{all}");
    let project = ci.running.send(ratchet_testkit::http::get("/api/public/projects")).json();
    let project = project["data"][0]["id"].as_str().unwrap().to_owned();
    let path =
        format!("/api/v1/projects/{project}/experiments/{}", report["runId"].as_str().unwrap());
    let run = ci.running.send(ratchet_testkit::http::get(&path)).json();
    let (shown, counted) = (report["cost"].as_f64().unwrap(), run["cost"].as_f64().unwrap());
    assert!((shown - counted).abs() < 1e-9, "{shown} {counted}");
}

#[test]
fn a_changed_judge_judges_the_baselines_answers_once() {
    let ci = Ci::start();
    let mild = judge(1.0);
    let (code, _, all) =
        gate(&ci, &mild, &["--evaluator", SONNET, "--run", "before", "--min-accuracy", "0.7"]);
    assert_eq!(code, Some(0), "{all}");
    let strict = judge(0.0);
    let against = ["--evaluator", HAIKU, "--baseline", "before"];
    let (code, after, all) = gate(&ci, &strict, &against);
    // Not the agent fell, but the judge became stricter.
    assert_eq!((code, &after["difference"]["value"]), (Some(0), &json!(0.0)), "{all}");
    assert!(all.contains("40 of its answers were judged again"), "{all}");
    assert!(all.contains("smallest detectable drop"), "{all}");
    assert_eq!(strict.requests().len(), 2 * ITEMS);
    let (code, again, all) = gate(&ci, &strict, &against);
    assert_eq!((code, &again["difference"]["value"]), (Some(0), &json!(0.0)), "{all}");
    assert_eq!(strict.requests().len(), 3 * ITEMS, "its verdicts are kept");
    let cost = |report: &Value| report["cost"].as_f64().unwrap();
    assert!((cost(&after) - 2.0 * cost(&again)).abs() < 1e-9, "both were paid: {after} {again}");
}

#[test]
fn answers_that_were_not_judged_again_are_reported() {
    let (ci, mild) = (Ci::start(), judge(1.0));
    let (_, before, _) =
        gate(&ci, &mild, &["--evaluator", HAIKU, "--run", "before", "--min-accuracy", "0.7"]);
    let cap = format!("{:.9}", before["cost"].as_f64().unwrap() * 1.2);
    let priced = ["--evaluator", "contains", "--evaluator", HAIKU, "--baseline", "before"];
    let named = ["--score", "experiment-accuracy", "--max-cost", &cap];
    // The same judge has nothing to judge again.
    let (code, _, all) = gate(&ci, &mild, &[&priced[..], &named[..]].concat());
    assert_eq!(code, Some(0), "{all}");
    assert!(!all.contains("judged again"), "{all}");
    // A recorded run has no judge at hand.
    let strict = judge(0.0);
    gate(&ci, &strict, &["--evaluator", SONNET, "--run", "after", "--min-accuracy", "0"]);
    let recorded = ["gate", "--dataset", super::DATASET, "--run", "after", "--baseline", "before"];
    let (_, report, all) = ended(crate::ask(&ci.running, &recorded));
    let lines = report["notSeen"].to_string();
    assert!(lines.contains("40 of its answers were not judged again"), "{all}");
}

#[test]
fn the_cost_cap_stops_refuses_and_does_not_extend() {
    let (ci, model) = (Ci::start(), judge(1.0));
    let args = ["--evaluator", "exact", "--evaluator", SONNET, "--repeats", "2"];
    let run = |more: &[&str], wrong: &str| {
        ended(with_judge(ci.launch(&args).args(more).env("WRONG", wrong).env("ONCE", "39"), &model))
    };
    let (code, first, all) = run(&["--run", "a", "--min-accuracy", "0.7"], "2");
    assert_eq!(code, Some(0), "{all}");
    let (cost, calls) = (first["cost"].as_f64().unwrap(), ci.calls());
    let low = format!("{:.9}", cost / 2.0);
    let (code, _, all) = run(&["--baseline", "a", "--max-cost", &low], "2");
    assert_eq!((code, ci.calls()), (Some(5), calls), "{all}");
    assert!(all.contains("the run would cost more than --max-cost; nothing was run"), "{all}");
    let (code, _, all) = run(&["--min-accuracy", "0.7", "--max-cost", &low], "2");
    assert_eq!(code, Some(5), "{all}");
    assert!(all.contains("stopped at --max-cost after") && ci.calls() < 2 * calls, "{all}");
    std::fs::remove_file(ci.file("once")).unwrap();
    let enough = format!("{:.9}", cost * 1.5);
    let (code, _, all) = run(&["--min-accuracy", "0.7", "--max-cost", &enough], "10");
    assert_eq!(code, Some(4), "{all}");
    assert!(all.contains("the planned extension would cost more than --max-cost"), "{all}");
}
