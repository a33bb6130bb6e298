//! The weekly document, as its readers and programs get it.

use std::fs;
use std::path::Path;

use ratchet_testkit::mail_server::{MailSecurity, MailServer};
use ratchet_testkit::process::{Finished, Launch, PUBLIC_KEY, SECRET_KEY};
use ratchet_testkit::tls::Authority;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{fails, folder, ratchet, server};

/// Six requests of three sessions that the agent could not answer, and ten that it could.
pub(crate) fn week_of_failures() -> TempDir {
    let folder = folder();
    let mut lines = String::new();
    for n in 0..16 {
        let is_failed = n < 6;
        let (asked, answer, comment) = if is_failed {
            ("When does the shop open?", "I don't have that information.", "Unknown shop hours.")
        } else {
            ("Where is my parcel?", "It arrives today.", "")
        };
        let at = |minute: u32| format!("2026-11-03T{n:02}:{minute:02}:00Z");
        let trace = json!({
            "id": format!("trace-{n}"), "timestamp": at(0), "name": "support-bot",
            "sessionId": format!("session-{}", n % 3), "userId": format!("user-{n}"),
            "environment": "production", "input": asked, "output": answer,
        });
        let score = json!({
            "id": format!("score-{n}"), "traceId": format!("trace-{n}"), "timestamp": at(9),
            "name": "correctness", "value": u8::from(!is_failed), "dataType": "BOOLEAN",
            "comment": comment,
        });
        lines += &format!("{trace}\n{score}\n");
    }
    let file = folder.path().join("week.jsonl");
    fs::write(&file, lines).unwrap();
    let import = ratchet(&["import", "jsonl"]).arg(&file).arg("--data").arg(folder.path());
    printed(import);
    folder
}

pub(crate) fn feedback(data: &Path, args: &[&str]) -> Launch {
    ratchet(&["feedback", "--week", "2026-11-03"]).args(args).arg("--data").arg(data)
}

pub(crate) fn printed(launch: Launch) -> String {
    let Finished { code, stdout, stderr } = launch.run();
    assert_eq!(code, Some(0), "stdout: {stdout}\nstderr: {stderr}");
    stdout
}

#[test]
fn the_document_names_cause_file_and_evidence_in_the_agreed_json() {
    let data = week_of_failures();
    let code = folder();
    fs::create_dir(code.path().join("knowledge")).unwrap();
    fs::write(code.path().join("knowledge/handbook.md"), "# Handbook\nBe kind.\n").unwrap();
    let from = code.path().to_str().unwrap();
    let json: Value =
        serde_json::from_str(&printed(feedback(data.path(), &["--json", "--code", from]))).unwrap();
    assert_eq!(json["events"], json!([]));
    let [proposal] = json["proposals"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!(proposal["component"], "knowledge");
    assert_eq!(proposal["agent"], "support-bot");
    assert_eq!(proposal["effort"], "high");
    assert_eq!(proposal["files"], json!(["knowledge/handbook.md:2"]));
    assert_eq!(proposal["evidence"].as_array().unwrap().len(), 6);
    assert_eq!(proposal["evidence"][0], "trace-0");
    assert_eq!(proposal["affected"], json!({"users": 6, "sessions": 3, "since_release": null}));
    let impact = &proposal["impact"];
    assert_eq!(impact["value"], 0.375);
    assert!(
        impact["interval"][0].as_f64() <= Some(0.375)
            && impact["interval"][1].as_f64() > Some(0.375)
    );
    assert_eq!(proposal["priority"], 0.125);
    for text in ["id", "title", "change"] {
        assert!(!proposal[text].as_str().unwrap().is_empty(), "{text}");
    }
    let fields = ["id", "component", "agent", "title", "change", "evidence", "impact", "effort"];
    for field in fields.into_iter().chain(["priority", "files"]) {
        assert!(!proposal[field].is_null(), "{field}");
    }
    let text = printed(feedback(data.path(), &[]));
    assert!(text.contains("[Priority: HIGH]  [Component: Knowledge]"), "{text}");
    assert!(text.contains("6 users in 3 sessions") && text.contains("not found in code"), "{text}");
    let other: Value =
        serde_json::from_str(&printed(feedback(data.path(), &["--json", "--agent", "x"]))).unwrap();
    assert_eq!(other["proposals"], json!([]));
}

fn git(folder: &Path, args: &[&str], at: &str) {
    let name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C"];
    let status = std::process::Command::new("git")
        .args(name)
        .arg(folder)
        .args(args)
        .env("GIT_AUTHOR_DATE", at)
        .env("GIT_COMMITTER_DATE", at)
        .status();
    assert!(status.unwrap().success(), "git {args:?}");
}

#[test]
fn the_events_of_the_week_are_commits_incidents_releases_and_changes_in_traffic() {
    let data = folder();
    let mut lines = String::new();
    for n in 0..120 {
        let is_of_week = n >= 80;
        let (day, release) = if is_of_week { (3, "1.1") } else { (1 - 7 + 31, "1.0") };
        let month = if is_of_week { "11" } else { "10" };
        let at =
            |second: u32| format!("2026-{month}-{day:02}T{:02}:{:02}:{second:02}Z", n / 12, n % 12);
        let failed = is_of_week && n % 2 == 0;
        let trace = json!({
            "id": format!("trace-{n}"), "timestamp": at(0), "name": "support-bot", "release": release,
            "sessionId": format!("session-{n}"), "environment": "production",
            "input": "Where is my parcel?", "output": "It arrives today.",
        });
        let tool = json!({
            "id": format!("tool-{n}"), "traceId": format!("trace-{n}"), "type": "TOOL",
            "name": "track_parcel", "startTime": at(1), "endTime": at(2), "environment": "production",
            "level": if failed { "ERROR" } else { "DEFAULT" },
        });
        lines += &format!("{trace}\n{tool}\n");
    }
    let file = data.path().join("weeks.jsonl");
    fs::write(&file, lines).unwrap();
    printed(ratchet(&["import", "jsonl"]).arg(&file).arg("--data").arg(data.path()));
    let repository = folder();
    git(repository.path(), &["init", "--quiet"], "");
    for (text, at) in
        [("Too early", "2026-10-20T10:00:00Z"), ("New carrier API", "2026-11-02T10:00:00Z")]
    {
        git(repository.path(), &["commit", "--quiet", "--allow-empty", "--message", text], at);
    }
    let incidents = data.path().join("incidents.jsonl");
    fs::write(&incidents, "{\"at\":\"2026-11-04T10:00:00Z\",\"text\":\"Carrier down\"}\n").unwrap();
    let (repository, incidents) =
        (repository.path().to_str().unwrap(), incidents.to_str().unwrap());
    let args = ["--json", "--repository", repository, "--incidents", incidents];
    let json: Value = serde_json::from_str(&printed(feedback(data.path(), &args))).unwrap();
    let events = json["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["commit", "release", "incident", "tool-errors"], "{json:#}");
    assert!(events[0]["text"].as_str().unwrap().ends_with(": New carrier API"), "{json:#}");
    assert_eq!(events[1]["text"], "First trace of release 1.1 in 4 weeks");
    let broken = "Error rate of track_parcel rose from 0% to 50% (n 40 sessions, before 80)";
    assert_eq!((&events[3]["agent"], &events[3]["text"]), (&json!("support-bot"), &json!(broken)));
    let wrong = feedback(data.path(), &["--repository", data.path().to_str().unwrap()]).run();
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("--repository"), "{}", wrong.stderr);
}

#[test]
fn the_quality_of_sessions_is_a_section_of_the_same_document() {
    let data = week_of_failures();
    let week = ratchet(&["week", "--of", "2026-11-03", "--zone", "UTC", "--judge", "offline"]);
    printed(week.arg("--data").arg(data.path()));
    let text = printed(feedback(data.path(), &[]));
    let part = |name: &str| text.find(name).unwrap_or_else(|| panic!("no {name} in {text}"));
    let order = ["METRICS SNAPSHOT", "PROPOSAL 1", "EVENTS THIS WEEK", "SESSION QUALITY"];
    let places: Vec<usize> = order.into_iter().map(part).collect();
    assert!(places.is_sorted(), "{places:?}: {text}");
    let html = printed(feedback(data.path(), &["--format", "html"]));
    for part in ["Impact by proposal", "Session quality", "<svg", "color-scheme"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("<script"));
    let json: Value = serde_json::from_str(&printed(feedback(data.path(), &["--json"]))).unwrap();
    assert_eq!(json["quality"]["week"], "2026-11-01");
}

#[test]
fn a_document_goes_to_a_file_and_to_slack_and_each_proposal_once() {
    let data = week_of_failures();
    let file = data.path().join("learnings.md");
    fs::write(&file, "# Ours\n").unwrap();
    let path = file.to_str().unwrap();
    let slack = printed(feedback(data.path(), &["--format", "slack", "--learnings", path]));
    let slack: Value = serde_json::from_str(&slack).unwrap();
    let title = "Weekly improvement report 2026-11-01: support-bot";
    assert_eq!(slack["blocks"][0]["text"]["text"], title);
    let first = fs::read_to_string(&file).unwrap();
    assert!(first.starts_with("# Ours\n\n## Week 2026-11-01\n\n<!-- ratchet "), "{first}");
    printed(feedback(data.path(), &["--learnings", path]));
    assert_eq!(fs::read_to_string(&file).unwrap(), first);
}

/// A command that sends the document to a mail server that asks for TLS and a password.
fn mailing(data: &Path, mails: &MailServer, (security, trusted): (&str, &Path)) -> Launch {
    feedback(data, &["--email", "ada@example.org"])
        .env("RATCHET_SMTP_SERVER", mails.host())
        .env("RATCHET_SMTP_SECURITY", security)
        .env("RATCHET_SMTP_USERNAME", "robot")
        .env("RATCHET_SMTP_PASSWORD", "open-sesame")
        .env("RATCHET_SMTP_FROM", "Ratchet <ratchet@example.org>")
        .env("SSL_CERT_FILE", trusted)
}

#[test]
fn a_document_is_mailed_over_tls_to_a_server_that_is_trusted_and_to_no_other() {
    let data = week_of_failures();
    let (authority, trusted) = (Authority::new(), data.path().join("authority.pem"));
    authority.write(&trusted);
    for (kind, security) in [(MailSecurity::StartTls, "starttls"), (MailSecurity::Tls, "tls")] {
        let mails = MailServer::start_safe(kind, &authority, ("robot", "open-sesame"));
        printed(mailing(data.path(), &mails, (security, &trusted)));
        let mail = mails.next();
        assert!(mail.is_encrypted && mail.user.as_deref() == Some("robot"));
        assert_eq!(
            (mail.from.as_str(), mail.to.as_slice()),
            ("ratchet@example.org", &["ada@example.org".to_owned()][..])
        );
        assert_eq!(mail.header("Subject"), "Weekly improvement report 2026-11-01: support-bot");
        let stranger = data.path().join("stranger.pem");
        Authority::new().write(&stranger);
        let refused = fails(mailing(data.path(), &mails, (security, &stranger)), 1);
        assert!(!refused.contains("open-sesame"), "{refused}");
        let wrong = mailing(data.path(), &mails, (security, &trusted));
        let refused = fails(wrong.env("RATCHET_SMTP_PASSWORD", "guess"), 1);
        assert!(refused.contains("535") && !refused.contains("guess"), "{refused}");
        assert!(mails.is_empty(), "nothing was sent without trust or sign-in");
    }
    // A server without TLS gets neither the password nor the document.
    let mails = MailServer::start();
    fails(mailing(data.path(), &mails, ("starttls", &trusted)), 1);
    assert!(mails.is_empty());
}

#[test]
fn a_document_is_made_from_a_server_as_from_a_folder() {
    let data = week_of_failures();
    let file = data.path().join("week.jsonl");
    let other = folder();
    let running = server(other.path()).start();
    let on_server = |args: &[&str]| {
        let key = ("RATCHET_PUBLIC_KEY", PUBLIC_KEY);
        ratchet(args)
            .args(["--server", running.web()])
            .env(key.0, key.1)
            .env("RATCHET_SECRET_KEY", SECRET_KEY)
            .env("XDG_STATE_HOME", other.path())
    };
    printed(on_server(&["import", "jsonl"]).arg(&file));
    let args = ["feedback", "--week", "2026-11-03", "--json"];
    let there: Value = serde_json::from_str(&printed(on_server(&args))).unwrap();
    let here: Value = serde_json::from_str(&printed(feedback(data.path(), &["--json"]))).unwrap();
    assert_eq!(there["proposals"], here["proposals"]);
}

#[test]
fn a_saved_week_fills_the_backlog_and_people_decide_there() {
    let data = week_of_failures();
    let proposals = |args: &[&str]| {
        ratchet(&["proposals"]).args(args).arg("--json").arg("--data").arg(data.path())
    };
    let read =
        |args: &[&str]| -> Value { serde_json::from_str(&printed(proposals(args))).unwrap() };
    printed(feedback(data.path(), &["--save"]));
    // Once more changes nothing.
    printed(feedback(data.path(), &["--save"]));
    let listed = read(&["list"]);
    assert_eq!(listed["total"], 1, "{listed}");
    let proposal = &listed["proposals"][0];
    let id = proposal["id"].as_str().unwrap();
    assert_eq!(proposal["state"], "new");
    assert_eq!(proposal["firstWeek"], "2026-11-01");
    assert_eq!(proposal["impact"]["at_most"], true);
    let early = proposals(&["done", id]).run();
    assert_ne!(early.code, Some(0));
    assert!(early.stderr.contains("accept it first"), "{}", early.stderr);
    assert_eq!(read(&["accept", id])["state"], "accepted");
    assert_eq!(read(&["experiment", id])["state"], "in-experiment");
    let wrong = proposals(&["experiment", id, "--prompt", "nowhere"]).run();
    assert!(wrong.stderr.contains("prompt: "), "{}", wrong.stderr);
    let done = read(&["done", id, "--note", "commit 1234567"]);
    assert_eq!(done["state"], "promoted");
    let states: Vec<_> =
        done["steps"].as_array().unwrap().iter().map(|step| step["state"].clone()).collect();
    assert_eq!(states, ["accepted", "in-experiment", "promoted"]);
    let value = read(&["value"]);
    assert_eq!(value["decided"], 1);
    assert_eq!(value["acceptance"]["value"], 1.0);
    assert_eq!(value["needsRecalibration"], false);
    let why = value["lifts"][0]["why"].as_str().unwrap();
    assert!(why.contains("after the promotion"), "{why}");
    assert_eq!(read(&["list", "--state", "new"])["total"], 0);
}
