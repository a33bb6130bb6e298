use std::path::Path;

use ratchet_testkit::process::Launch;
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel, Tokens};
use serde_json::{Value, json};

use super::sessions::{Story, folder_of};
use super::{ids, reason, report, score, score_all};
use crate::ok;

/// A judge that says this of every dimension.
pub(crate) fn verdict(mark: f64) -> Value {
    verdict_citing(mark, &[1])
}

/// A judge that says this of every dimension, because of some traces.
pub(super) fn verdict_citing(mark: f64, traces: &[u32]) -> Value {
    let about = |score: Value| {
        let why = "because";
        json!({"score": score, "rationale": why, "evidence": traces, "confidence": 0.9})
    };
    let number = about(json!(mark));
    let grade = |label: &str| about(json!(label));
    json!({
        "task_completion": grade("complete"),
        "execution_quality": number,
        "tool_mastery": number,
        "resource_efficiency": number,
        "security_compliance": grade("compliant"),
        "user_satisfaction": grade("neutral"),
    })
}

pub(super) fn judged(data: &Path, model: &ScriptedModel, args: &[&str]) -> Launch {
    score_all(data, &["--judge", "anthropic:claude-sonnet-5"])
        .args(args)
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "sk-test")
}

#[test]
fn a_bad_answer_is_put_right_and_a_refusal_fails_its_session_only() {
    let data = folder_of(&[Story::new("fixed", 3), Story::new("refused", 4)]);
    let model = ScriptedModel::start().unwrap();
    let mut bad = verdict(0.5);
    bad["tool_mastery"]["evidence"] = json!([99]);
    model.say(Reply::failing(Failure::Refusal).on("traces 1 to 4"));
    model.say(Reply::document(bad).on("traces 1 to 3"));
    model.say(Reply::document(verdict(0.5)).on("cannot be used"));
    let found = report(judged(data.path(), &model, &["--concurrency", "1"]), 3);
    assert_eq!(ids(&found, "sessions"), ["fixed"], "{found}");
    assert!(reason(&found, "failed", "refused").contains("refuses"), "{found}");
    assert_eq!(found["sessions"][0]["dimensions"]["tool_mastery"]["value"], 0.5);
    assert_eq!(found["counts"]["repeated"], 0, "what is put right is not asked twice: {found}");
    let response = model.requests();
    assert!(response.iter().any(|body| body.to_string().contains("99")), "the fault is sent back");
}

/// What is shown of a session is what its scores say, not what the command would use now.
#[test]
fn a_known_session_is_shown_with_the_judge_that_scored_it() {
    let data = folder_of(&[Story::new("good", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(verdict(0.5)));
    report(judged(data.path(), &model, &[]), 0);
    let shown = || score(data.path(), &["session", "good"]);
    let text = ok(shown());
    assert!(text.contains("by anthropic:claude-sonnet-5, rubric version 1"), "{text}");
    assert!(!text.contains("uncalibrated") && !text.contains("offline"), "{text}");
    let found = report(shown(), 0);
    assert_eq!(found["judge"], "anthropic:claude-sonnet-5");
    let session = &found["sessions"][0];
    assert_eq!((&session["judge"], &session["rubric_version"]), (&found["judge"], &json!(1)));
    assert!(session["judge_version"].is_string(), "{session}");
}

#[test]
fn a_budget_ends_a_run_and_the_next_one_goes_on() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(verdict(0.7)));
    let none = report(judged(data.path(), &model, &["--max-cost", "0.000001"]), 5);
    assert_eq!((&none["outcome"], &none["sessions"]), (&json!("stopped"), &json!([])));
    assert!(model.requests().is_empty(), "nobody was asked");
    let all = report(judged(data.path(), &model, &[]), 0);
    assert_eq!(ids(&all, "sessions"), ["a", "b"]);
    assert_eq!(model.requests().len(), 2);
    let again = report(judged(data.path(), &model, &[]), 0);
    assert_eq!(again["sessions"], json!([]));
    assert_eq!(model.requests().len(), 2, "what is scored is not asked about again");
}

#[test]
fn a_budget_that_lasts_for_some_is_spent_on_those() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3), Story::new("c", 3)]);
    let model = ScriptedModel::start().unwrap();
    let tokens = Tokens { input: 20_000, output: 1_000, ..Tokens::default() };
    model.say_always(Reply { tokens, ..Reply::document(verdict(0.7)) });
    let bounded = ["--concurrency", "1", "--max-cost", "0.12"];
    let some = report(judged(data.path(), &model, &bounded), 5);
    assert_eq!((&some["outcome"], ids(&some, "sessions").len()), (&json!("stopped"), 2), "{some}");
    assert!(some["cost"].as_f64().unwrap() <= 0.12, "{some}");
    assert!(reason(&some, "skipped", "c").contains("repeat the command to resume"), "{some}");
    let rest = report(judged(data.path(), &model, &bounded), 0);
    assert_eq!(ids(&rest, "sessions"), ["c"], "{rest}");
    assert_eq!((&rest["outcome"], model.requests().len()), (&json!("done"), 3));
}

#[test]
fn an_estimate_asks_nobody() {
    let data = folder_of(&[Story::new("a", 3)]);
    let model = ScriptedModel::start().unwrap();
    let found = report(judged(data.path(), &model, &["--estimate"]), 0);
    assert_eq!((&found["sessions"], &found["chunks"]), (&json!(1), &json!(1)));
    for count in ["input_tokens", "input_tokens_with_cache", "output_tokens"] {
        assert!(found[count].as_u64().unwrap() > 100, "{count}: {found}");
    }
    let judges = found["judges"].as_array().unwrap();
    assert_eq!(judges[0]["judge"], "anthropic:claude-sonnet-5", "the one that was asked for");
    let price = |way: &str| judges[0][way].as_f64().unwrap();
    assert!(price("plain") > 0.0 && price("cached") > 0.0, "{found}");
    assert!((price("batch") - price("plain") / 2.0).abs() < 1e-9, "{found}");
    for provider in ["offline", "anthropic:", "bedrock:", "openai:", "claude:"] {
        let is_it = |judge: &Value| judge["judge"].as_str().unwrap().starts_with(provider);
        assert!(judges.iter().any(is_it), "no {provider} in {found}");
    }
    assert!(model.requests().is_empty());
    let text = ok(judged(data.path(), &model, &["--estimate"]));
    assert!(text.contains("1 session in 1 chunk, 1 call"), "{text}");
}
