use std::path::Path;

use ratchet_testkit::process::Launch;
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel, Tokens};
use serde_json::json;

use super::models::{judged, verdict};
use super::runs::{started, until_asked};
use super::sessions::{Story, folder_of};
use super::{ids, reason, report, score_all};
use crate::ok;

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn stories() -> Vec<Story> {
    NAMES.iter().map(|name| Story::new(name, 3)).collect()
}

/// A verdict that costs five cents.
fn paid() -> Reply {
    let tokens = Tokens { input: 20_000, output: 1_000, ..Tokens::default() };
    Reply { tokens, ..Reply::document(verdict(0.7)) }
}

#[test]
fn a_run_at_its_cap_has_used_most_of_it() {
    let data = folder_of(&stories());
    let model = ScriptedModel::start().unwrap();
    model.say_always(paid());
    // Four at once reserve more than is left; they wait for what the others do not use.
    let args = ["--max-cost", "0.32", "--concurrency", "4"];
    let found = report(judged(data.path(), &model, &args), 5);
    let cost = found["cost"].as_f64().unwrap();
    assert!((0.8 * 0.32..=0.32).contains(&cost), "{found}");
    assert_eq!((&found["is_over_budget"], &found["outcome"]), (&json!(true), &json!("stopped")));
    assert!(found["counts"]["scored"].as_u64().unwrap() >= 5, "{found}");
    let rest = report(judged(data.path(), &model, &["--max-cost", "1"]), 0);
    assert_eq!(rest["is_over_budget"], false);
    assert_eq!(model.requests().len(), NAMES.len(), "nothing is paid for twice");
}

/// The last answers are asked for shorter, because what is left does not cover longer ones.
#[test]
fn a_batch_at_its_cap_has_used_most_of_it() {
    let data = folder_of(&stories());
    let model = ScriptedModel::start().unwrap();
    let tokens = Tokens { input: 4_000, output: 2_000, ..Tokens::default() };
    model.say_always(Reply { tokens, ..Reply::document(verdict(0.7)) });
    let args = ["--batch", "--poll", "0", "--max-cost", "0.09"];
    let found = report(judged(data.path(), &model, &args), 5);
    let cost = found["cost"].as_f64().unwrap();
    assert!((0.8 * 0.09..=0.09).contains(&cost), "{found}");
    assert_eq!(found["is_over_budget"], true, "{found}");
}

#[test]
fn a_rescoring_goes_on_where_its_budget_ended() {
    let data = folder_of(&stories());
    let model = ScriptedModel::start().unwrap();
    model.say_always(paid());
    report(judged(data.path(), &model, &[]), 0);
    let again = |cap: &str| judged(data.path(), &model, &["--rescore", "--max-cost", cap]);
    let some = report(again("0.26"), 5);
    let done = ids(&some, "sessions");
    assert!(!done.is_empty() && done.len() < NAMES.len(), "{some}");
    let rest = report(again("1"), 0);
    assert_eq!(ids(&rest, "sessions").len(), NAMES.len() - done.len(), "{rest}");
    let why = "already rescored, before the rescoring was interrupted";
    assert!(done.iter().all(|session| reason(&rest, "skipped", session) == why), "{rest}");
    assert_eq!(model.requests().len(), 2 * NAMES.len());
    assert!(rest["sessions"].as_array().unwrap().iter().all(|one| one["generation"] == 2));
    // That rescoring is done: the next one begins anew.
    let anew = report(again("1"), 0);
    assert_eq!(ids(&anew, "sessions").len(), NAMES.len(), "{anew}");
}

#[test]
fn a_rescoring_goes_on_after_a_kill() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3), Story::new("c", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(paid());
    report(judged(data.path(), &model, &[]), 0);
    let again = || judged(data.path(), &model, &["--rescore", "--concurrency", "1"]);
    model.hold_after(2);
    let killed = started(again());
    until_asked(&model, 6);
    killed.kill();
    model.go_on();
    let rest = report(again(), 0);
    assert_eq!(ids(&rest, "sessions"), ["c"], "{rest}");
    assert_eq!(rest["counts"]["repeated"], 1);
}

fn without_usage(data: &Path, model: &ScriptedModel) -> Launch {
    score_all(data, &["--judge", "openai:gpt-5.6-luna"])
        .env("OPENAI_BASE_URL", format!("{}/v1", model.url()))
        .env("OPENAI_API_KEY", "sk-test")
}

#[test]
fn a_cost_without_usage_is_called_approximate() {
    let data = folder_of(&[Story::new("a", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply { tokens: Tokens::default(), ..Reply::document(verdict(0.7)) });
    let found = report(without_usage(data.path(), &model), 0);
    let cost = found["cost"].as_f64().unwrap();
    assert!(cost > 0.0, "{found}");
    assert_eq!(found["approximate_cost"].as_f64(), Some(cost), "{found}");
    let text = ok(without_usage(data.path(), &model).arg("--rescore"));
    assert!(text.contains("≈$") && text.contains("approximate"), "{text}");
}

#[test]
fn a_refusal_that_was_billed_counts() {
    let data = folder_of(&[Story::new("a", 3)]);
    let model = ScriptedModel::start().unwrap();
    let tokens = Tokens { input: 20_000, output: 1_000, ..Tokens::default() };
    model.say_always(Reply { tokens, ..Reply::failing(Failure::Refusal) });
    let found = report(judged(data.path(), &model, &[]), 3);
    assert_eq!(found["counts"]["calls"], 1, "{found}");
    assert!(found["cost"].as_f64().unwrap() > 0.04, "{found}");
}

#[test]
fn a_judge_that_answers_without_end_is_cut_off() {
    let data = folder_of(&[Story::new("a", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::failing(Failure::Endless));
    let found = report(judged(data.path(), &model, &[]), 3);
    assert!(reason(&found, "failed", "a").contains("more than 8388608 bytes"), "{found}");
}
