use ratchet_testkit::process::Ratchet;
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::{Value, json};

use super::models::{judged, verdict_citing};
use super::sessions::{Story, event, minute, record, stop, tell, words};
use super::{ids, reason, report, score, score_all};
use crate::server;

/// More than any question may have: 100,000 tokens of these words, and the instructions.
const MOST_BYTES: usize = 500_000;

fn trace(session: &str, n: usize, body: &Value) -> Value {
    let mut trace = json!({"sessionId": session, "timestamp": minute(n)});
    trace.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    event("trace-create", &format!("{session}-t{n}"), n, trace)
}

fn tool(session: &str, n: usize, step: usize, body: &Value) -> Value {
    let trace = format!("{session}-t{n}");
    let mut tool = json!({"traceId": trace, "name": "Bash", "startTime": minute(n)});
    tool.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    event("tool-create", &format!("{trace}-x{step:03}"), n, tool)
}

/// One trace of half a million tokens in many steps, one with as much in a single text, and a
/// short one.
fn tell_wide(running: &Ratchet) {
    record(running, &[trace("wide", 0, &json!({"input": "Fix the build.", "output": "begun"}))]);
    let step = |step: usize| {
        let output = format!("output {step}: {}", words(15_900));
        tool("wide", 0, step, &json!({"input": {"command": "make"}, "output": output}))
    };
    for from in (0..150).step_by(50) {
        record(running, &(from..from + 50).map(step).collect::<Vec<_>>());
    }
    record(running, &[trace("wide", 1, &json!({"output": words(2_250_000)}))]);
    record(running, &[trace("wide", 2, &json!({"output": "The build is fixed."}))]);
}

/// The user's part of a question.
fn message(request: &Value) -> String {
    let parts = request["messages"][0]["content"].as_array().unwrap();
    parts.iter().map(|part| part["text"].as_str().unwrap()).collect()
}

#[test]
fn the_longest_sessions_are_judged_whole_and_within_bounds() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let huge = Story { output_bytes: 16_000, ..Story::new("huge", 300) };
    tell(&running, &[Story::new("many", 120), huge]);
    tell_wide(&running);
    stop(running);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(verdict_citing(0.5, &[])));
    let found = report(judged(data.path(), &model, &["--concurrency", "1"]), 0);
    assert_eq!(ids(&found, "sessions"), ["wide", "many", "huge"], "{found}");

    let asked: Vec<String> = model.requests().iter().map(message).collect();
    let about = |name: &str| -> Vec<&String> {
        let name = format!("session: \"{name}\"");
        asked.iter().filter(|message| message.contains(&name)).collect()
    };
    assert!(asked.iter().all(|message| message.len() < MOST_BYTES));
    check_covered(&about("many"), 120);
    let huge = about("huge");
    assert!(huge.len() >= 14, "a million tokens in {} parts", huge.len());
    check_covered(&huge, 300);
    for (part, message) in huge.iter().enumerate() {
        assert_eq!(message.matches("# Said of traces").count(), part, "what was said before");
    }
    let wide = about("wide");
    assert_eq!(wide.len(), 1);
    check_covered(&wide, 3);
    for seen in ["Fix the build.", "output 0: ", "output 149: ", "The build is fixed."] {
        assert!(wide[0].contains(seen), "{seen:?} is left of it");
    }
    assert!(!wide[0].contains("output 75: "), "the middle is not");
}

/// Each trace stands in at least one of these questions.
#[track_caller]
fn check_covered(asked: &[&String], traces: usize) {
    for number in 1..=traces {
        let heading = format!("\n# Trace {number} at ");
        assert!(asked.iter().any(|message| message.contains(&heading)), "no trace {number}");
    }
}

#[test]
fn sessions_with_little_in_them_are_no_trouble() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let failed = json!({"level": "ERROR", "statusMessage": "exit code 1"});
    let bare = (0..3).map(|n| trace("bare", n, &json!({})));
    let errors =
        (0..3).flat_map(|n| [trace("errors", n, &json!({})), tool("errors", n, 0, &failed)]);
    record(&running, &bare.chain(errors).collect::<Vec<_>>());
    tell(&running, &[Story::new("one", 1)]);
    stop(running);

    let offline = report(score_all(data.path(), &["--dry-run", "--min-traces", "1"]), 0);
    assert_eq!(ids(&offline, "sessions"), ["one", "errors"], "{offline}");
    assert_eq!(reason(&offline, "skipped", "bare"), "no dimension could be scored");
    let marks = |session: usize| offline["sessions"][session]["overall_quality"].as_f64();
    assert!(marks(1) < marks(0), "{offline}");

    let model = ScriptedModel::start().unwrap();
    let unseen = json!({"score": null, "reason": "there is nothing"});
    let names = verdict_citing(0.5, &[]);
    let names = names.as_object().unwrap().keys();
    let nothing: Value = names.map(|name| (name.clone(), unseen.clone())).collect();
    model.say_always(Reply::document(nothing).on("session: \\\"bare\\\""));
    model.say_always(Reply::document(verdict_citing(0.5, &[1])));
    let run = || report(judged(data.path(), &model, &["--min-traces", "1"]), 0);
    let first = run();
    assert_eq!(ids(&first, "sessions"), ["one", "errors"], "{first}");
    assert_eq!(reason(&first, "skipped", "bare"), "no dimension could be scored");
    assert_eq!(run()["sessions"], json!([]));
    assert_eq!(model.requests().len(), 3, "nobody is asked twice");
    let nobody = score(data.path(), &["session", "nobody"]).run();
    assert!(nobody.stderr.contains("session nobody is not there"), "{}", nobody.stderr);
}
