//! Online evaluators with a model, on a server that is killed or whose judge does not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ratchet_testkit::http;
use ratchet_testkit::process::Ratchet;
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};
use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::{otlp, say, soak, wait};
use serde_json::{Value, json};

use crate::supervision::{process_in, wait_until_gone};
use crate::{ask, server};

/// Kills in `make test` and in `make soak`.
const KILLS: (u64, u64) = (6, 30);
/// Calls that are under way at once.
const CALLS_AT_ONCE: u64 = 8;
/// Traces of a round.
const TRACES: u64 = 20;

fn start(data: &Path, model: &ScriptedModel) -> Ratchet {
    let launch = server(data).env("ANTHROPIC_BASE_URL", model.url());
    launch.env("ANTHROPIC_API_KEY", "sk-test").start()
}

fn sent(running: &Ratchet, path: &str, body: &Value) -> Value {
    let answer = running.send(http::post(path).json(body.to_string()));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// An evaluator that judges each trace at once, by a model that always answers the same.
fn add_evaluator(running: &Ratchet, changes: &Value) {
    let mut evaluator = json!({
        "name": "correct", "prompt": "Is {{output}} right for {{input}}?",
        "judge": "anthropic:claude-sonnet-5",
        "variableMapping": [{ "variable": "input", "source": "input" },
                            { "variable": "output", "source": "output" }],
        "outputDefinition": { "dataType": "NUMERIC", "minValue": 0.0, "maxValue": 1.0 },
    });
    evaluator.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let evaluator = sent(running, "/api/public/v2/evaluators", &evaluator);
    let rule = json!({
        "name": "all", "enabled": true, "target": "trace", "delaySeconds": 0,
        "evaluatorAssignments": [{ "evaluatorId": evaluator["id"] }],
    });
    sent(running, "/api/public/v2/evaluation-rules", &rule);
    assert_eq!(status(running)["state"], "active");
}

fn verdict() -> Reply {
    let document = json!({ "reasoning": "It says what was asked.", "score": 0.75 });
    Reply::document(document)
}

fn record(running: &Ratchet, number: u64) {
    // Of now: what ended long before it arrives is judged for money only on request.
    let now = ratchet_server::clock::Clock::System.now();
    let span = otlp::span(u128::from(number) | 1 << 100, number).at_time(now);
    let span = span.saying("langfuse.observation.input", format!("question {number}.").as_str());
    let span = span.saying("langfuse.observation.output", "an answer");
    let request = otlp::request("agent").with_all([span]).to_protobuf();
    let answer = running.send(http::post("/v1/traces").protobuf(request));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn status(running: &Ratchet) -> Value {
    let project = running.send(http::get("/api/public/projects")).json();
    let project = project["data"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/projects/{project}/evaluators");
    running.send(http::get(&path)).json()["evaluators"][0].clone()
}

/// The traces that have a verdict, each with its number of verdicts.
fn judged(running: &Ratchet) -> BTreeMap<String, u64> {
    let mut judged = BTreeMap::new();
    for page in 1.. {
        let path = format!("/api/public/v2/scores?limit=100&page={page}&name=correct");
        let answer = running.send(http::get(&path)).json();
        let rows = answer["data"].as_array().unwrap().clone();
        for row in &rows {
            *judged.entry(row["traceId"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        if rows.len() < 100 {
            break;
        }
    }
    judged
}

/// How often the model was asked about each trace.
fn calls(model: &ScriptedModel) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for request in model.requests() {
        let text = request.to_string();
        let number = text.split("question ").nth(1).and_then(|rest| rest.split('.').next());
        let number: u64 = number.unwrap().parse().unwrap();
        *calls.entry(otlp::trace_id(u128::from(number) | 1 << 100)).or_default() += 1;
    }
    calls
}

fn wait_until_judged(running: &Ratchet, traces: u64) {
    wait::until("every trace has a verdict", || judged(running).len() as u64 == traces);
}

#[test]
fn judges_and_code_end_with_a_server_that_is_killed() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = |name: &str| folder.path().join(name);
    let program = format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", file("judge").display());
    std::fs::write(file("claude"), program).unwrap();
    std::fs::set_permissions(file("claude"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let settings = "[evaluators.code]\npython = [\"python3\", \"-I\"]\n";
    std::fs::write(data.path().join("ratchet.toml"), settings).unwrap();
    let running = server(data.path()).env("RATCHET_CLAUDE_BIN", file("claude")).start();
    add_evaluator(&running, &json!({ "judge": "claude:opus" }));
    let code = format!(
        "def evaluate(ctx):\n    import os, signal\n    with open({:?}, 'w') as file:\n        \
         print(os.getpid(), file=file)\n    signal.pause()\n",
        file("code").display().to_string()
    );
    let evaluator = json!({
        "type": "code", "name": "code", "sourceCode": code, "sourceCodeLanguage": "PYTHON",
    });
    let evaluator = sent(&running, "/api/public/v2/evaluators", &evaluator);
    let rule = json!({
        "name": "by code", "enabled": true, "target": "trace", "delaySeconds": 0,
        "evaluatorAssignments": [{ "evaluatorId": evaluator["id"] }],
    });
    sent(&running, "/api/public/v2/evaluation-rules", &rule);
    record(&running, 1);
    let processes = ["judge", "code"].map(|name| process_in(&file(name)));
    drop(running.kill_hard());
    processes.iter().for_each(|process| wait_until_gone(process));
}

#[test]
fn a_killed_server_repeats_no_finished_verdict_and_loses_none() {
    let mut chance = SeededRandom::from_environment("evaluators");
    let model = ScriptedModel::start().unwrap();
    model.say_always(verdict());
    let data = tempfile::tempdir().unwrap();
    let mut running = start(data.path(), &model);
    add_evaluator(&running, &json!({}));
    let kills = soak::scaled(KILLS.0, KILLS.1);
    // Traces that had their verdict when a server began, and how often they were asked about.
    let mut finished: BTreeMap<String, u64> = BTreeMap::new();
    let mut traces = 0;
    for _ in 0..kills {
        for _ in 0..TRACES {
            traces += 1;
            record(&running, traces);
        }
        // The random moment itself; nothing is waited for.
        thread::park_timeout(chance.wait(Duration::from_millis(1_500)));
        running.kill_hard();
        let known: BTreeSet<String> = finished.keys().cloned().collect();
        let asked = calls(&model);
        running = start(data.path(), &model);
        for trace in judged(&running).into_keys().filter(|trace| !known.contains(trace)) {
            finished.insert(trace.clone(), asked.get(&trace).copied().unwrap_or(0));
        }
    }
    wait_until_judged(&running, traces);
    let asked = calls(&model);
    for (trace, before) in &finished {
        let after = asked.get(trace).copied().unwrap_or(0);
        assert!(after <= (*before).max(1), "{trace} had its verdict and was asked about again");
    }
    assert!(judged(&running).values().all(|verdicts| *verdicts == 1));
    let sum: u64 = asked.values().sum();
    assert!(sum <= traces + kills * CALLS_AT_ONCE, "{sum} calls for {traces} traces");
    let counted = status(&running)["lastDay"]["calls"].as_u64().unwrap();
    assert!((sum..=sum + kills * CALLS_AT_ONCE).contains(&counted), "{counted} counted of {sum}");
    say(&format!("evaluators: {kills} kills, {traces} traces, {sum} calls, {counted} counted"));
}

#[test]
fn an_outage_of_the_judge_costs_no_verdict_and_brings_no_stampede() {
    let model = ScriptedModel::start().unwrap();
    // One after the other they take 14 s of waits, which double; 10 would take half an hour.
    let failures = 3;
    model.script((0..failures).map(|_| Reply::failing(Failure::Status(529))));
    model.say_always(verdict());
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), &model);
    add_evaluator(&running, &json!({}));
    for number in 1..=30 {
        record(&running, number);
    }
    wait_until_judged(&running, 30);
    let status = status(&running);
    assert_eq!((&status["deadLetters"], &status["lastDay"]["judged"]), (&json!(0), &json!(30)));
    assert_eq!(model.requests().len(), 30 + failures, "each failed call is retried once");
    assert_eq!(status["lastDay"]["calls"], json!(30 + failures));
    assert!(status["costToday"].as_f64().unwrap() > 0.0, "{status}");
}

#[test]
fn a_cost_cap_stops_calls_and_an_unusable_answer_becomes_a_dead_letter() {
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(json!({ "reasoning": "More than all.", "score": 7 })));
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), &model);
    add_evaluator(&running, &json!({}));
    record(&running, 1);
    wait::until("a dead letter", || status(&running)["deadLetters"] == 1);
    assert_eq!(model.requests().len(), 3, "an answer may be better the next time");
    let dead = ask(&running, &["jobs", "list", "--kind", "evaluation", "--state", "dead"]).run();
    assert!(dead.stdout.contains("requested format"), "{}", dead.stdout);

    let data = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().unwrap();
    model.say_always(verdict());
    let running = start(data.path(), &model);
    add_evaluator(&running, &json!({ "dailyCostCap": 0.0 }));
    record(&running, 1);
    wait::until("it is skipped", || status(&running)["lastDay"]["skipped"] == 1);
    assert!(model.requests().is_empty() && judged(&running).is_empty());
    let shown = ask(&running, &["evaluators", "show", "correct"]).run();
    assert!(shown.stdout.contains("Skipped: 1 records of the last 24 h, 1 of"), "{}", shown.stdout);
    assert!(shown.stdout.contains("`ratchet evaluators backfill correct"), "{}", shown.stdout);
    let shown = ask(&running, &["evaluators", "backfill", "correct", "--since", "36500d"]).run();
    assert!(shown.stdout.contains("1 traces match"), "{}", shown.stdout);
    assert!(shown.stdout.contains("at most $0.0"), "{}", shown.stdout);
    let paused = crate::json(ask(&running, &["evaluators", "pause", "correct"]));
    assert_eq!(paused["state"], "paused");
    drop(running.kill_hard());
    // The output that other programs read.
    let listed = crate::ratchet(&["evaluators", "list", "--data"]).arg(data.path());
    let listed = &crate::json(listed)["evaluators"];
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed[0]["name"], "correct");
    assert_eq!(
        (&listed[0]["state"], &listed[0]["skippedLast30Days"]),
        (&json!("paused"), &json!(1))
    );
}

#[test]
fn the_call_of_a_judge_is_a_trace_of_its_own() {
    let model = ScriptedModel::start().unwrap();
    model.say_always(verdict());
    let data = tempfile::tempdir().unwrap();
    let running = start(data.path(), &model);
    add_evaluator(&running, &json!({ "scoreName": "correct" }));
    record(&running, 1);
    wait_until_judged(&running, 1);
    let path = "/api/public/traces?environment=langfuse-llm-as-a-judge";
    let traces = running.send(http::get(path)).json();
    assert_eq!(traces["meta"]["totalItems"], 1, "{traces}");
    assert!(traces["data"][0]["totalCost"].as_f64().unwrap() > 0.0, "{traces}");
    let scores = running.send(http::get("/api/public/v2/scores?name=correct")).json();
    let score = &scores["data"][0];
    assert_eq!((&score["value"], &score["source"]), (&json!(0.75), &json!("EVAL")));
    assert_eq!(score["comment"], "It says what was asked.");
    assert_eq!(score["metadata"]["judge_trace"], traces["data"][0]["id"]);
    assert_eq!(score["metadata"]["judge"], "anthropic:claude-sonnet-5");
    let asked = model.requests()[0].to_string();
    assert!(asked.contains("<evidence-") && asked.contains("question 1."), "{asked}");

    // The trace grows and is judged again: that call is counted in a trace of its own.
    let now = ratchet_server::clock::Clock::System.now();
    let span = otlp::span(1 | 1 << 100, 2).at_time(now);
    let span = span.saying("langfuse.trace.output", "another answer");
    let request = otlp::request("agent").with_all([span]).to_protobuf();
    assert_eq!(running.send(http::post("/v1/traces").protobuf(request)).status, 200);
    let both = || running.send(http::get(path)).json()["meta"]["totalItems"] == 2;
    wait::until("the second call has a trace", both);
    assert_eq!(judged(&running).into_values().collect::<Vec<_>>(), [1], "one current verdict");
}
