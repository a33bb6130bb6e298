//! A week becomes a report, by hand and by itself.

/// Receivers of a report.
pub(crate) mod listener;
mod judged;
/// Weeks by agent and release.
mod agents;
/// On a server that is up.
mod served;
mod trend;
/// Weekly review metrics.
mod review_metrics;
/// Jobs that were given up.
mod jobs;
/// What runs by itself, with a clock of its own.
mod runs;

use std::path::Path;

use ratchet_testkit::process::{Finished, Launch};
use serde_json::Value;
use tempfile::TempDir;

use crate::ratchet;
use listener::Listener;

/// When the made-up week ends: on a Saturday, so that most of it is one week.
const END: &str = "2026-11-14T12:00:00Z";
const WEEK: &str = "2026-11-08";

/// A folder with the made-up week in it.
fn demo() -> TempDir {
    let folder = TempDir::new().unwrap();
    let data = folder.path().to_str().unwrap();
    done(ratchet(&["demo", "--once", "--unscored", "--data", data, "--until", END]));
    folder
}

fn week(data: &Path, args: &[&str]) -> Launch {
    ratchet(&["week", "--of", WEEK, "--zone", "UTC"]).args(args).arg("--data").arg(data)
}

#[track_caller]
fn done(launch: Launch) -> String {
    let Finished { code, stdout, stderr } = launch.run();
    assert_eq!(code, Some(0), "stdout: {stdout}\nstderr: {stderr}");
    stdout
}

#[track_caller]
fn json(launch: Launch) -> Value {
    let stdout = done(launch.args(["--format", "json"]));
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error} in: {stdout}"))
}

#[test]
fn a_made_up_week_is_scored_reported_and_the_same_the_second_time() {
    let folder = demo();
    let data = folder.path();
    let scored = ratchet(&["score", "--days", "36500", "--json", "--data"]).arg(data);
    let scored: Value = serde_json::from_str(&done(scored)).unwrap();
    assert!(!scored["sessions"].as_array().unwrap().is_empty(), "{scored}");
    let learnings = folder.path().join("learnings.md");
    let file = learnings.to_str().unwrap();
    let first = json(week(data, &["--learnings", file]));
    assert_eq!(first["effect"], "made");
    let sessions = first["report"]["synthesis"]["sessions"].as_u64().unwrap();
    assert!(sessions > 0, "{first}");
    assert_eq!(first["report"]["week"], WEEK);
    let written = std::fs::read_to_string(&learnings).unwrap_or_default();
    let suggestions = first["report"]["suggestions"].as_array().unwrap().len();
    assert_eq!(written.matches("<!-- ratchet ").count(), suggestions);
    let second = json(week(data, &["--learnings", file]));
    assert_eq!((&second["effect"], &second["scored"]), (&"same".into(), &0.into()));
    assert_eq!(second["report"], first["report"]);
    assert_eq!(std::fs::read_to_string(&learnings).unwrap_or_default(), written);
    for (format, part) in [
        ("text", "overall_quality"),
        ("markdown", "| overall\\_quality"),
        ("html", "<!DOCTYPE html>"),
    ] {
        let shown = done(week(data, &["--format", format]));
        let part = part.replace("\\_", "_");
        assert!(shown.contains(&part), "{part} in {shown}");
    }
}

#[test]
fn whoever_is_to_be_told_is_told_and_asked_again_when_busy() {
    let folder = demo();
    let listener = Listener::answering(&[503, 200, 200]);
    let url = listener.url();
    let output = week(folder.path(), &["--slack", &url, "--webhook", &url])
        .env("RATCHET_WEBHOOK_SECRET", "shared");
    done(output);
    let heard = listener.heard();
    let [busy, slack, signed] = heard.as_slice() else { panic!("three messages, not {heard:?}") };
    assert_eq!(busy.body, slack.body);
    let message: Value = serde_json::from_str(&slack.body).unwrap();
    assert_eq!(message["blocks"][0]["type"], "header");
    assert!(message["text"].as_str().unwrap().contains(WEEK));
    let secret = ratchet_core::secret::Secret::new("shared".to_owned());
    let named = (signed.header("webhook-id"), signed.header("webhook-timestamp"));
    let expected = ratchet_remote::webhook::signature(&secret, named, &signed.body);
    assert_eq!(signed.header("webhook-signature"), expected);
    let body: Value = serde_json::from_str(&signed.body).unwrap();
    assert_eq!((&body["event"], &body["report"]["week"]), (&"week.report".into(), &WEEK.into()));
}

#[test]
fn what_cannot_be_done_is_said_without_secrets() {
    let folder = demo();
    let data = folder.path();
    let fails = |launch: Launch, part: &str| {
        let Finished { code, stdout, stderr } = launch.run();
        assert_eq!(code, Some(1), "stdout: {stdout}\nstderr: {stderr}");
        assert!(stderr.contains(part) && !stderr.contains("hush"), "{stderr}");
    };
    let webhook = ["--webhook", "http://127.0.0.1:9/hush"];
    fails(week(data, &webhook), "RATCHET_WEBHOOK_SECRET");
    let listener = Listener::answering(&[403]);
    let url = format!("{}hush", listener.url());
    fails(week(data, &["--slack", &url]), "the Slack webhook answered 403");
    fails(week(data, &["--slack", "hush"]), "not an http or https address");
    let of = |day: &str| ratchet(&["week", "--of", day, "--data"]).arg(data);
    fails(of("soon"), "is not a day");
    fails(of("2200-01-01"), "has not started");
}

#[test]
fn schedules_are_listed_added_switched_run_and_removed() {
    let folder = demo();
    let data = folder.path();
    let schedule = |args: &[&str]| ratchet(&["schedule"]).args(args).arg("--data").arg(data);
    let list = done(schedule(&["list"]));
    assert!(list.contains("weekly") && list.contains("0 2 * * SUN") && list.contains(" on "));
    let added = ["add", "mornings", "--cron", "0 8 * * MON", "--zone", "Europe/Berlin"];
    assert!(done(schedule(&added)).contains("Europe/Berlin"));
    assert!(done(schedule(&["pause", "weekly"])).contains("paused"));
    assert!(done(schedule(&["resume", "weekly"])).contains(" on "));
    assert!(done(schedule(&["run", "mornings"])).contains("sessions scored"));
    assert!(done(schedule(&["history", "mornings"])).contains("done"));
    done(schedule(&["remove", "mornings"]));
    let nightly = ["add", "nightly", "--job", "score", "--cron", "0 1 * * *"];
    let listed = done(schedule(&nightly));
    assert!(listed.contains(" score ") && listed.contains("0 1 * * *"), "{listed}");
    let ran = done(schedule(&["run", "nightly"]));
    assert!(ran.contains("sessions scored") && !ran.contains("report"), "{ran}");
    let Finished { stderr, .. } = schedule(&nightly).args(["--learnings", "x.md"]).run();
    assert!(stderr.contains("only a weekly report makes suggestions"), "{stderr}");
    let Finished { stderr, .. } = schedule(&["remove", "weekly"]).run();
    assert!(stderr.contains("pause it instead"), "{stderr}");
    let Finished { stderr, .. } = schedule(&["add", "x", "--cron", "61 * * * *"]).run();
    assert!(stderr.contains("minute \"61\": must be from 0 to 59"), "{stderr}");
}
