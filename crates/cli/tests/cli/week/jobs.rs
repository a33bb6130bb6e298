use ratchet_core::time::Timestamp;
use ratchet_server::clock::Clock;
use ratchet_testkit::process::{Finished, Launch, Ratchet};
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use super::done;
use super::judged::{asking, plain, tell_since, with_rubric};
use crate::score::sessions::{stop, stored};
use crate::{ask, ratchet, server};

#[track_caller]
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in: {text}"))
}

fn yesterday() -> Timestamp {
    Clock::System.now().plus_nanos(-86_400_000_000_000)
}

/// The first job of a list, as JSON.
#[track_caller]
fn first(list: Launch) -> Value {
    let found = read(&done(list.arg("--json")));
    found["jobs"].as_array().unwrap().first().cloned().unwrap_or_else(|| panic!("{found}"))
}

fn history(running: &Ratchet) -> Value {
    read(&done(ask(running, &["schedule", "history", "nightly", "--json"])))
}

#[test]
fn a_schedule_of_scoring_leaves_scores_and_no_report() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    tell_since(&running, "recent", yesterday());
    tell_since(&running, "old", yesterday().plus_nanos(-10 * 86_400_000_000_000));
    let add = ["schedule", "add", "nightly", "--job", "score", "--judge", "offline"];
    done(ask(&running, &add));
    let ran = done(ask(&running, &["schedule", "run", "nightly"]));
    assert!(ran.contains("1 session scored"), "{ran}");
    let scores = stored(&running, "recent");
    assert!(scores.iter().any(|score| score["name"] == "overall_quality"), "{scores:?}");
    assert!(scores.iter().all(|score| score["metadata"]["judge"] == "offline"), "{scores:?}");
    assert_eq!(stored(&running, "old"), [Value::Null; 0], "older than seven days");
    let reports = read(&running.send(ratchet_testkit::http::get("/api/v1/reports")).text());
    assert_eq!(reports["weeks"], json!([]));
    let job = first(ask(&running, &["jobs", "list", "--kind", "schedule-run"]));
    assert_eq!((&job["state"], &job["group"]), (&json!("done"), &json!("nightly")), "{job}");
    // The same on a folder without a server: all is scored already.
    stop(running);
    let again = ratchet(&["schedule", "run", "nightly", "--data"]).arg(data.path());
    let again = done(again);
    assert!(again.contains("0 sessions scored"), "{again}");
}

#[test]
fn a_run_that_was_given_up_is_seen_without_the_providers_reply_and_retried() {
    let (data, model) = (tempfile::tempdir().unwrap(), ScriptedModel::start().unwrap());
    with_rubric(data.path());
    model.say(Reply::failing(Failure::Status(401)));
    model.say_always(Reply::document(plain(0.9)));
    let running = asking(server(data.path()), &model).start();
    tell_since(&running, "s", yesterday());
    let add = ["schedule", "add", "nightly", "--job", "score", "--judge", "anthropic"];
    done(ask(&running, &add).args(["--rubric", "plain"]));
    let Finished { code, stderr, .. } = ask(&running, &["schedule", "run", "nightly"]).run();
    assert_eq!(code, Some(1), "{stderr}");
    let dead = first(ask(&running, &["jobs", "list", "--state", "dead"]));
    let reason = "the provider does not accept the key; check the key and its permissions";
    assert_eq!((&dead["kind"], &dead["reason"]), (&json!("schedule-run"), &json!(reason)));
    let id = dead["id"].as_str().unwrap();
    let table = done(ask(&running, &["jobs", "list"]));
    assert!(table.contains(id) && table.contains("does not accept the key"), "{table}");
    let queued = done(ask(&running, &["jobs", "retry", "schedule-run", id]));
    assert!(queued.contains("queued"), "{queued}");
    let look = || history(&running);
    let runs = wait::for_value("the retried run", look, |runs| runs[0]["outcome"] == "done");
    assert_eq!(runs.as_array().unwrap().len(), 1, "it is the same run: {runs}");
    assert_eq!(stored(&running, "s").len(), 2, "one dimension and the overall score");
    let Finished { code, stderr, .. } = ask(&running, &["jobs", "retry", "schedule-run", id]).run();
    assert!(code == Some(1) && stderr.contains("is done; only dead letters"), "{stderr}");
}

#[test]
fn dead_letters_of_a_folder_are_paged_and_discarded() {
    let folder = crate::folder();
    let data = folder.path();
    let on = |args: &[&str]| ratchet(args).arg("--data").arg(data);
    for name in ["one", "two"] {
        done(on(&["schedule", "add", name, "--judge", "anthropic"]));
        assert_eq!(on(&["schedule", "run", name]).run().code, Some(1), "there is no key");
    }
    let list = ["jobs", "list", "--state", "dead", "--limit", "1"];
    let newest = read(&done(on(&list).arg("--json")));
    assert_eq!(newest["jobs"][0]["group"], "two", "{newest}");
    let cursor = newest["cursor"].as_str().unwrap();
    assert!(done(on(&list)).contains(&format!("--cursor '{cursor}'")));
    let older = first(on(&list).args(["--cursor", cursor]));
    assert_eq!(older["group"], "one", "{older}");
    assert!(older["reason"].as_str().unwrap().contains("ANTHROPIC_API_KEY"), "{older}");
    let discard = ["jobs", "discard", "schedule-run", older["id"].as_str().unwrap()];
    assert!(done(on(&discard)).starts_with("discarded "));
    assert_eq!(first(on(&["jobs", "list"]))["group"], "two");
    let Finished { code, stderr, .. } = on(&discard).run();
    assert!(code == Some(1) && stderr.contains("not found"), "{stderr}");
    let Finished { code, stderr, .. } = on(&["jobs", "retry", "letter", "x"]).run();
    assert!(code == Some(2) && stderr.contains("must be one of notice"), "{stderr}");
    let audit = done(on(&["audit", "--what", "job"]));
    assert!(audit.contains("command line") && audit.contains("deleted job"), "{audit}");
}
