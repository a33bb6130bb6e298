//! A bad release of one agent in one environment, among others that did not change.

use std::path::Path;

use ratchet_testkit::process::Launch;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{WEEK, done};
use crate::{ask, folder, ratchet, server};

/// Hours between sessions.
const EVERY: u32 = 4;

/// One session as import lines: three traces and an overall score of its last moment.
fn session(agent: &str, environment: &str, release: &str, (hour, score): (u32, f64)) -> String {
    let (day, hour_of_day) = (1 + hour / 24, hour % 24);
    let id = format!("{agent}-{environment}-{hour}");
    let at = |minute: u32| format!("2026-11-{day:02}T{hour_of_day:02}:{minute:02}:00Z");
    let trace = |turn: u32| {
        json!({
            "id": format!("{id}-{turn}"), "timestamp": at(turn), "name": agent, "sessionId": id,
            "userId": format!("user-{}", hour % 5), "release": release,
            "tags": if hour % 3 == 0 { json!(["vip"]) } else { json!([]) },
            "environment": environment, "input": format!("Where is my order {hour}?"),
        })
    };
    let score = json!({
        "id": format!("{id}-score"), "sessionId": id, "timestamp": at(3),
        "name": "overall_quality", "value": score, "source": "EVAL", "dataType": "NUMERIC",
        "comment": "The tool call failed.",
        "metadata": { "judge": "offline", "rubric": "session-quality", "generation": 1 },
    });
    let lines = (1..=3).map(trace).chain([score]);
    lines.map(|line| line.to_string() + "\n").collect()
}

/// Two weeks of two agents: `support-bot` falls with release 2.4.1 in the second week.
fn two_weeks() -> TempDir {
    let folder = folder();
    let mut lines = String::new();
    for step in 0..80 {
        let hour = step * EVERY;
        let noise = f64::from(step * 7 % 10) / 50.0;
        let (release, level) = if hour < 200 { ("2.4.0", 0.75) } else { ("2.4.1", 0.45) };
        lines += &session("support-bot", "prod", release, (hour, level + noise));
        lines += &session("coder", "staging", "9", (hour + 1, 0.6 + noise));
    }
    let file = folder.path().join("weeks.jsonl");
    std::fs::write(&file, lines).unwrap();
    done(ratchet(&["import", "jsonl"]).arg(&file).arg("--data").arg(folder.path()));
    folder
}

fn week(folder: &Path, args: &[&str]) -> Launch {
    let launch = ratchet(&["week", "--of", WEEK, "--zone", "UTC", "--judge", "none"]);
    launch.args(args).arg("--data").arg(folder)
}

#[test]
fn the_bad_release_is_named_first_and_leads_to_its_sessions() {
    let folder = two_weeks();
    let text = done(week(folder.path(), &[]));
    let first = text.lines().skip_while(|line| !line.is_empty()).nth(1).unwrap();
    assert!(first.starts_with("support-bot fell from 0.8"), "{text}");
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains("since release 2.4.1, in prod"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("Where is my order"), "{text}");
    let json: Value = serde_json::from_str(&done(week(folder.path(), &["--json"]))).unwrap();
    let synthesis = &json["report"]["synthesis"];
    let [finding] = synthesis["findings"].as_array().unwrap().as_slice() else {
        panic!("one finding, not {synthesis}")
    };
    assert_eq!(
        (&finding["agent"], &finding["environment"]),
        (&json!("support-bot"), &json!("prod"))
    );
    assert_eq!(finding["basis"]["release"]["name"], "2.4.1");
    let shown = finding["sessions"][0].as_str().unwrap();
    assert!(json["report"]["sessions"][shown]["title"].as_str().unwrap().starts_with("Where"));
    let wide = done(week(folder.path(), &["--wide"]));
    assert!(wide.contains("from 11-0") && wide.len() > text.len(), "{wide}");
}

#[test]
fn a_report_on_a_part_is_not_stored_and_a_whole_one_is_a_file() {
    let folder = two_weeks();
    let part = done(week(folder.path(), &["--agent", "coder"]));
    assert!(part.contains("Only agent coder.") && !part.contains("support-bot"), "{part}");
    let reports = folder.path().join("reports");
    assert!(!reports.exists(), "a part of the week is not stored");
    let learnings = folder.path().join("learned.md");
    let settings = format!("reports.learnings = {:?}\n", learnings.to_str().unwrap());
    std::fs::write(folder.path().join("ratchet.toml"), settings).unwrap();
    let whole = done(week(folder.path(), &["--format", "markdown"]));
    let project = std::fs::read_dir(&reports).unwrap().next().unwrap().unwrap().path();
    let file = project.join(format!("{WEEK}.md"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    assert!(project.join(format!("{WEEK}.json")).exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let json: Value = serde_json::from_str(&done(week(folder.path(), &["--json"]))).unwrap();
    let suggestions = json["report"]["suggestions"].as_array().unwrap().len();
    let learned = std::fs::read_to_string(&learnings).unwrap_or_default();
    assert_eq!(learned.matches("<!-- ratchet ").count(), suggestions);
}

/// What a part of a week is, is found by another server's API as in a folder.
#[test]
fn a_part_of_a_week_on_another_server_is_that_of_its_folder() {
    let folder = two_weeks();
    let parts: [&[&str]; 6] = [
        &["--agent", "coder"],
        &["--environment", "prod"],
        &["--agent", "support-bot", "--release", "2.4.1"],
        &["--user", "user-3"],
        &["--tag", "vip"],
        &["--agent", "support-bot", "--environment", "prod", "--tag", "vip"],
    ];
    let read = |launch: Launch| -> Value { serde_json::from_str(&done(launch)).unwrap() };
    let here = parts.map(|part| read(week(folder.path(), part).arg("--json")));
    let running = server(folder.path()).start();
    for (part, here) in parts.iter().zip(here) {
        let args = ["week", "--of", WEEK, "--zone", "UTC", "--judge", "none", "--json"];
        let there = read(ask(&running, &args).args(*part));
        let sessions = &there["report"]["synthesis"]["sessions"];
        assert!(sessions.as_u64().unwrap() > 4, "{part:?}: {sessions}");
        let found = |report: &Value| {
            let synthesis = &report["report"]["synthesis"];
            ["sessions", "findings", "overall"].map(|field| synthesis[field].clone())
        };
        assert_eq!(found(&there), found(&here), "{part:?}");
    }
}
