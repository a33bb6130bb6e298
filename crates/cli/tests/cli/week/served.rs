//! Weeks and schedules of a server that is up.

use ratchet_testkit::http;
use ratchet_testkit::process::Finished;
use serde_json::Value;

use super::done;
use super::judged::{STORIES, tell_last_week};
use crate::score::sessions::{Story, folder_of};
use crate::{ask, ratchet, server};

const WEEK: [&str; 6] = ["week", "--of", STORIES, "--zone", "UTC", "--json"];

#[track_caller]
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in: {text}"))
}

/// The report as a server's clients make it: lists of traces do not say what they cost.
fn without_cost(report: &Value) -> Value {
    let mut report = report.clone();
    for agent in report["synthesis"]["agents"].as_array_mut().unwrap() {
        agent["cost"] = Value::Null;
    }
    report
}

#[test]
fn a_server_gives_the_same_report_as_its_folder_and_keeps_it() {
    let failing = Story { fails: true, ..Story::new("b", 5) };
    let stories = [Story::new("a", 3), failing];
    let (folder, data) = (folder_of(&stories), folder_of(&stories));
    let here = read(&done(ratchet(&WEEK).arg("--data").arg(folder.path())));
    let running = server(data.path()).start();
    let there = read(&done(ask(&running, &WEEK)));
    assert_eq!((&there["effect"], &there["scored"]), (&"made".into(), &2.into()), "{there}");
    let expected = without_cost(&here["report"]);
    assert_eq!(there["report"], expected);
    let kept = running.send(http::get(&format!("/api/v1/reports/{STORIES}"))).json();
    assert_eq!((&kept["week"], &kept["report"]), (&STORIES.into(), &expected));
    let again = read(&done(ask(&running, &WEEK)));
    assert_eq!((&again["effect"], &again["scored"]), (&"same".into(), &0.into()));
    let page = running.send(http::get("/api/v1/suggestions")).json();
    let tracked = page["suggestions"].as_array().unwrap();
    assert_eq!(tracked.len(), here["report"]["suggestions"].as_array().unwrap().len());
    let id = tracked[0]["id"].as_str().unwrap();
    let decide = |word| read(&done(ask(&running, &["suggestions", word, id, "--json"])));
    assert_eq!(decide("done")["progress"], "done");
    let refused = ask(&running, &["suggestions", "dismiss", id]).run();
    assert!(refused.code == Some(1) && refused.stderr.contains("open it first"), "{refused:?}");
    let undone = read(&done(ask(&running, &["suggestions", "list", "--undone", "--json"])));
    assert_eq!(undone.as_array().unwrap().len(), tracked.len() - 1);
    let mut other = here["report"].clone();
    other["suggestions"][0]["key"] = "no key".into();
    let put = http::request("PUT", &format!("/api/v1/reports/{STORIES}"));
    let answer = running.send(put.json(other.to_string()));
    assert_eq!(answer.status, 400, "{}", answer.text());
    let put = http::request("PUT", "/api/v1/reports/2026-03-02");
    assert_eq!(running.send(put.json(here["report"].to_string())).status, 400);
}

#[test]
fn schedules_of_a_server_are_added_switched_run_and_removed_while_it_is_up() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    tell_last_week(&running, "s");
    let schedule = |args: &[&str]| ask(&running, &[&["schedule"], args].concat());
    assert!(done(schedule(&["list"])).contains("0 2 * * SUN"));
    let add =
        ["add", "ours", "--cron", "0 8 * * MON", "--zone", "UTC", "--max-cost", "1", "--json"];
    let made = read(&done(schedule(&add)));
    assert_eq!((&made["zone"], &made["maxCost"]), (&"UTC".into(), &1.0.into()), "{made}");
    assert!(done(schedule(&["pause", "ours"])).contains("paused"));
    assert!(done(schedule(&["run", "ours"])).contains("1 session scored"), "paused ones, too");
    assert!(done(schedule(&["resume", "ours"])).contains(" on "));
    let history = read(&done(schedule(&["history", "ours", "--json"])));
    assert_eq!(history[0]["outcome"], "done", "{history}");
    let weeks = running.send(http::get("/api/v1/reports")).json();
    assert_eq!(weeks["weeks"].as_array().unwrap().len(), 1, "{weeks}");
    for (args, part) in [
        (
            vec!["run", "theirs"],
            "schedule theirs not found; available: feedback, ours, review, weekly",
        ),
        (vec!["add", "x", "--judge", "gpt"], "judge: there is no judge \"gpt\""),
        (vec!["add", "x", "--cron", "61 * * * *"], "must be from 0 to 59"),
        (vec!["remove", "weekly"], "pause it instead"),
    ] {
        let Finished { code, stderr, .. } = schedule(&args).run();
        assert!(code == Some(1) && stderr.contains(part), "{args:?}: {stderr}");
    }
    done(schedule(&["remove", "ours"]));
    assert!(!done(schedule(&["list"])).contains("ours"));
}
