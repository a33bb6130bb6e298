//! Weeks that a model judges, by hand and by themselves.

use std::path::Path;

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::time::Timestamp;
use ratchet_server::clock::Clock;
use ratchet_testkit::http;
use ratchet_testkit::process::{Finished, Launch, Ratchet};
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::done;
use crate::score::sessions::{Story, folder_of, stop};
use crate::{ratchet, server};

/// The week of the stories.
pub(super) const STORIES: &str = "2026-03-01";
/// A rubric of the user's own.
const PLAIN: &str = r#"
name = "plain"
version = 1
description = "One thing only."

[judge]
temperature = 0.0
max_output_tokens = 512

[[dimension]]
name = "task_completion"
weight = 1.0
kind = "numeric"
aggregation = "mean"
criteria = "Did it get there?"
"#;

/// What a judge by the user's own rubric says.
pub(super) fn plain(mark: f64) -> Value {
    let said = "The tests were never run.";
    json!({"task_completion": {
        "score": mark, "rationale": said, "evidence": [1, 2], "confidence": 0.9,
    }})
}

/// The user's own rubric in their folder.
pub(super) fn with_rubric(data: &Path) {
    std::fs::create_dir_all(data.join("rubrics")).unwrap();
    std::fs::write(data.join("rubrics/plain.toml"), PLAIN).unwrap();
}

pub(super) fn asking(launch: Launch, model: &ScriptedModel) -> Launch {
    launch.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "sk-test")
}

fn week(data: &Path, args: &[&str]) -> Launch {
    let format = if args.contains(&"--format") { &[][..] } else { &["--json"] };
    ratchet(&["week", "--of", STORIES, "--zone", "UTC", "--rubric", "plain"])
        .args(args)
        .args(format)
        .arg("--data")
        .arg(data)
}

/// The names of judges that scores of a folder say they are by.
fn judges(data: &Path) -> Vec<String> {
    let running = server(data).start();
    let list = running.send(http::get("/api/public/v2/scores?limit=100")).json();
    let scores = list["data"].as_array().unwrap();
    let mut judges: Vec<String> =
        scores.iter().map(|score| score["metadata"]["judge"].as_str().unwrap().into()).collect();
    judges.sort();
    judges.dedup();
    stop(running);
    judges
}

#[test]
fn a_model_judges_a_week_by_the_users_rubric_and_within_a_budget() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3)]);
    let data = data.path();
    with_rubric(data);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(plain(0.9)));
    let judge = ["--judge", "anthropic"];
    let poor = asking(week(data, &judge).args(["--max-cost", "0.000001"]), &model);
    let poor = poor.run();
    assert_eq!(poor.code, Some(5), "stopped at its cost cap: {}", poor.stderr);
    let poor: Value = serde_json::from_str(&poor.stdout).unwrap();
    assert_eq!((&poor["scored"], &poor["stopped_by_budget"]), (&json!(0), &json!(true)), "{poor}");
    assert!(model.requests().is_empty(), "nobody was asked");
    let rich = asking(week(data, &judge).args(["--max-cost", "5"]), &model);
    let rich: Value = serde_json::from_str(&done(rich)).unwrap();
    assert_eq!((&rich["scored"], &rich["stopped_by_budget"]), (&json!(2), &json!(false)), "{rich}");
    assert!(rich["cost"].as_f64().unwrap() > 0.0, "{rich}");
    let overall = &rich["report"]["synthesis"]["overall"]["marks"];
    assert_eq!((&rich["report"]["rubric"], &overall["mean"]), (&json!("plain"), &json!(0.9)));
    assert_eq!(rich["report"]["synthesis"]["sessions"], 2, "one judge, though prompts differ");
    assert_eq!(judges(data), ["anthropic:claude-sonnet-5"]);
}

/// The sessions fit into the budget, and the longest answer about suggestions does not.
#[test]
fn a_week_whose_suggestions_exceed_the_budget_says_so() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3)]);
    let data = data.path();
    with_rubric(data);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(plain(0.4)));
    let args = ["--judge", "anthropic", "--max-cost", "0.05"];
    let cut = asking(week(data, &args), &model).run();
    assert_eq!(cut.code, Some(5), "stopped at its cost cap: {}", cut.stderr);
    let cut: Value = serde_json::from_str(&cut.stdout).unwrap();
    assert_eq!((&cut["scored"], &cut["stopped_by_budget"]), (&json!(2), &json!(true)), "{cut}");
    let note = cut["report"]["advice"]["note"].as_str().unwrap();
    assert!(note.contains("the budget does not allow it"), "{note}");
}

/// What a model suggests, citing sessions by their numbers.
fn advice(sessions: &[i64]) -> Value {
    json!({"suggestions": [{
        "dimension": "task_completion", "edit": "CLAUDE.md", "title": "Run the tests",
        "reason": "No session ran them.", "sessions": sessions,
        "text": "## Tests\n- Run `make test` before saying that work is done.",
    }]})
}

/// What the model was asked about suggestions, as texts.
fn asked_for_advice(model: &ScriptedModel) -> Vec<String> {
    let all = model.requests().into_iter().map(|body| body.to_string());
    all.filter(|body| body.contains("cite only sessions 1 to 2")).collect()
}

#[test]
fn a_model_suggests_what_to_change_and_cites_sessions_that_are_there() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3)]);
    let data = data.path();
    with_rubric(data);
    std::fs::create_dir_all(data.join("prompts")).unwrap();
    std::fs::write(data.join("prompts/suggest-system.md"), "Advise as our team does.").unwrap();
    let model = ScriptedModel::start().unwrap();
    model.say(Reply::document(advice(&[1, 9])).on("cite only sessions 1 to 2"));
    model.say(Reply::document(advice(&[1, 2])).on("there is no session 9"));
    model.say_always(Reply::document(plain(0.4)).on("Judge traces"));
    let learnings = data.join("learnings.md");
    let args = ["--judge", "anthropic", "--learnings", learnings.to_str().unwrap()];
    let first = asking(week(data, &args), &model);
    let first: Value = serde_json::from_str(&done(first)).unwrap();
    let report = &first["report"];
    let [suggestion] = report["suggestions"].as_array().unwrap().as_slice() else {
        panic!("one suggestion: {first}")
    };
    assert_eq!(
        (&suggestion["severity"], &suggestion["title"]),
        (&"high".into(), &"Run the tests".into())
    );
    assert_eq!(suggestion["sessions"], json!(["a", "b"]));
    assert_eq!(
        (&report["advice"]["by"], &report["advice"]["note"]),
        (&"anthropic:claude-sonnet-5".into(), &Value::Null)
    );
    let asked = asked_for_advice(&model);
    assert!(
        asked[0].contains("Advise as our team does.") && asked[0].contains("<evidence-"),
        "{asked:?}"
    );
    let written = std::fs::read_to_string(&learnings).unwrap();
    assert!(written.contains("Run `make test`") && written.contains("Evidence: a; b"), "{written}");
    assert_eq!(first["tracked"][0]["progress"], "open");
    let id = first["tracked"][0]["id"].as_str().unwrap();
    let tell =
        |args: &[&str]| done(ratchet(&[&["suggestions"], args].concat()).arg("--data").arg(data));
    assert!(tell(&["list"]).contains("open      high      "), "{}", tell(&["list"]));
    assert_eq!(tell(&["accept", id]), "accepted: Run the tests\n");
    let shown = tell(&["show", id]);
    assert!(shown.contains("Add to CLAUDE.md:\n    ") && shown.contains("accepted by"), "{shown}");
    let questions = model.requests().len();
    for judge in [["--judge", "anthropic"], ["--judge", "offline"]] {
        let again = asking(week(data, &judge), &model);
        let again: Value = serde_json::from_str(&done(again)).unwrap();
        assert_eq!((&again["effect"], &again["report"]), (&"same".into(), report));
    }
    assert_eq!(model.requests().len(), questions, "nobody is asked the same twice");
}

#[test]
fn where_a_model_gives_no_suggestions_templates_do_and_it_is_said() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3)]);
    let data = data.path();
    with_rubric(data);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(plain(0.4)).on("Judge traces"));
    model.say(Reply::failing(Failure::Refusal).on("cite only sessions 1 to 2"));
    let response = asking(week(data, &["--judge", "anthropic"]), &model);
    let response: Value = serde_json::from_str(&done(response)).unwrap();
    let advice = &response["report"]["advice"];
    assert_eq!(advice["by"], "templates");
    assert!(
        advice["note"].as_str().unwrap().contains("claude-sonnet-5 gave no suggestions"),
        "{advice}"
    );
    assert!(!response["report"]["suggestions"].as_array().unwrap().is_empty(), "{response}");
    model.say_always(Reply::document(json!({"suggestions": [{"dimension": "charm"}]})));
    let response = done(asking(week(data, &["--judge", "anthropic", "--format", "text"]), &model));
    assert!(response.contains("From templates: anthropic:claude-sonnet-5 gave no"), "{response}");
}

/// Has a server record a session of the week that ended last.
pub(super) fn tell_last_week(running: &Ratchet, session: &str) {
    let week = Week::last_ended(Clock::System.now(), &Zone::utc());
    tell_since(running, session, week.start());
}

/// Has a server record a session of three hours.
pub(super) fn tell_since(running: &Ratchet, session: &str, start: Timestamp) {
    let batch: Vec<Value> = (0..3)
        .map(|n| {
            let at = start.plus_nanos((n + 1) * 3_600_000_000_000).to_string();
            let id = format!("{session}-{n}");
            let body = json!({
                "id": id, "name": "turn", "sessionId": session, "timestamp": at,
                "input": {"role": "user", "content": "Please go on."},
                "output": {"role": "assistant", "content": "Done."},
            });
            json!({"id": format!("e-{id}"), "timestamp": at, "type": "trace-create", "body": body})
        })
        .collect();
    let body = json!({ "batch": batch }).to_string();
    let answer = running.send(http::post("/api/public/ingestion").json(body));
    assert_eq!(answer.json()["errors"], json!([]), "{}", answer.text());
}

/// A folder with a session of last week, a rubric, and a connection to a model.
fn last_week(model: &ScriptedModel) -> TempDir {
    let data = TempDir::new().unwrap();
    let running = server(data.path()).start();
    tell_last_week(&running, "s");
    let connection = json!({
        "provider": "ours", "adapter": "anthropic", "secretKey": "sk-test",
        "baseURL": model.url(), "customModels": ["claude-sonnet-5"],
    });
    let answer = running
        .send(http::request("PUT", "/api/public/llm-connections").json(connection.to_string()));
    assert!(answer.status < 300, "{}", answer.text());
    stop(running);
    with_rubric(data.path());
    data
}

fn schedule(data: &Path, args: &[&str]) -> Launch {
    // The connection leads to a model on this machine.
    let allowed = ratchet(&["schedule"]).env("RATCHET_OUTBOUND_ALLOW", "localhost");
    allowed.args(args).args(["--json", "--data"]).arg(data)
}

#[test]
fn a_schedule_keeps_its_judge_rubric_and_budget_and_runs_by_them() {
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(plain(0.9)));
    for judge in ["anthropic:claude-sonnet-5", "connection:ours"] {
        let folder = last_week(&model);
        let data = folder.path();
        let add = ["add", "ours", "--zone", "UTC", "--judge", judge, "--rubric", "plain"];
        let made = done(schedule(data, &add).args(["--max-cost", "2.5"]));
        let made: Value = serde_json::from_str(&made).unwrap();
        let expected = (&json!(judge), &json!("plain"), &json!(2.5));
        assert_eq!((&made["judge"], &made["rubric"], &made["maxCost"]), expected);
        let ran = done(asking(schedule(data, &["run", "ours"]), &model));
        assert!(ran.contains("1 session scored for $0."), "{ran}");
        let history: Value =
            serde_json::from_str(&done(schedule(data, &["history", "ours"]))).unwrap();
        assert_eq!(history[0]["outcome"], "done", "{history}");
        assert_eq!(judges(data), [judge]);
    }
}

#[test]
fn a_connection_that_leads_inside_is_asked_only_where_settings_allow_it() {
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(plain(0.9)));
    let folder = last_week(&model);
    let data = folder.path();
    let strict = |args: &[&str]| schedule(data, args).without_env("RATCHET_OUTBOUND_ALLOW");
    let add = ["add", "ours", "--zone", "UTC", "--judge", "connection:ours", "--rubric", "plain"];
    done(strict(&add));
    let Finished { code, stderr, .. } = strict(&["run", "ours"]).run();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("outbound.allow = \"127.0.0.1\" in ratchet.toml"), "{stderr}");
    let history: Value = serde_json::from_str(&done(strict(&["history", "ours"]))).unwrap();
    assert!(history[0]["message"].as_str().unwrap().contains("outbound.allow"), "{history}");
    assert!(model.requests().is_empty(), "nobody was asked");
    // What the environment names is the operator's own choice.
    done(strict(&["add", "own", "--zone", "UTC", "--judge", "anthropic", "--rubric", "plain"]));
    let ran = done(asking(strict(&["run", "own"]), &model));
    assert!(ran.contains("1 session scored"), "{ran}");
}

#[test]
fn a_scheduled_run_without_its_key_fails_and_history_says_why() {
    let model = ScriptedModel::start().unwrap();
    let folder = last_week(&model);
    let data = folder.path();
    done(schedule(data, &["add", "ours", "--judge", "anthropic"]));
    let Finished { code, stderr, .. } = schedule(data, &["run", "ours"]).run();
    assert_eq!(code, Some(1), "{stderr}");
    let history: Value = serde_json::from_str(&done(schedule(data, &["history", "ours"]))).unwrap();
    assert_eq!(history[0]["outcome"], "failed", "{history}");
    assert!(history[0]["message"].as_str().unwrap().contains("ANTHROPIC_API_KEY"), "{history}");
    assert!(model.requests().is_empty());
    for (args, part) in [
        (["--judge", "gpt"], "there is no judge \"gpt\""),
        (["--rubric", "fancy"], "rubric fancy not found"),
        (["--rubric", "./x.toml"], "cannot read ./x.toml"),
    ] {
        let Finished { stderr, .. } = schedule(data, &["add", "x"]).args(args).run();
        assert!(stderr.contains(part), "{stderr}");
    }
}
