use ratchet_testkit::http;
use serde_json::{Value, json};

use super::sessions::{Story, folder_of, stop, stored, tell, tell_folder};
use super::{ids, reason, report, score, score_all};
use crate::{ask, fails, ok, server};

const DIMENSIONS: [&str; 6] = [
    "task_completion",
    "execution_quality",
    "tool_mastery",
    "resource_efficiency",
    "security_compliance",
    "user_satisfaction",
];

#[test]
fn sessions_are_scored_once_and_say_why() {
    let short = Story::new("short", 1);
    let failing = Story { fails: true, ..Story::new("failing", 4) };
    let data = folder_of(&[Story::new("good", 5), short, failing]);
    let first = report(score_all(data.path(), &[]), 0);
    assert_eq!(ids(&first, "sessions"), ["failing", "good"]);
    assert_eq!(
        reason(&first, "skipped", "short"),
        "too short: 1 trace and 2 observations; at least 3 traces or 10 observations needed"
    );
    assert_eq!(first["failed"], json!([]));
    for session in first["sessions"].as_array().unwrap() {
        let dimensions = session["dimensions"].as_object().unwrap();
        assert!(DIMENSIONS.iter().all(|name| dimensions.contains_key(*name)), "{dimensions:?}");
        assert_eq!(dimensions.len(), DIMENSIONS.len());
        for (name, about) in dimensions {
            check_dimension(name, about);
        }
    }
    let overall = |report: &Value, at: usize| report["sessions"][at]["overall_quality"].as_f64();
    assert!(overall(&first, 0) < overall(&first, 1), "failing tools cost marks: {first}");

    let second = report(score_all(data.path(), &[]), 0);
    assert_eq!(second["sessions"], json!([]));
    assert_eq!(reason(&second, "skipped", "good"), "already scored");
    let third = report(score_all(data.path(), &["--min-observations", "2"]), 0);
    assert_eq!(ids(&third, "sessions"), ["short"]);
}

#[test]
fn the_table_fits_a_terminal_and_has_the_worst_first() {
    let long = "a-session-whose-id-is-longer-than-a-line-of-a-terminal-has-room-for";
    let failing = Story { fails: true, ..Story::new("failing", 4) };
    let data = folder_of(&[Story::new("good", 5), failing, Story::new(long, 3)]);
    let text = ok(score_all(data.path(), &["--dry-run"]));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
    let wide = ok(score_all(data.path(), &["--dry-run", "--wide"]));
    assert!(DIMENSIONS.iter().all(|name| wide.contains(name)), "{wide}");
}

/// A mark comes with its value and its reason, and cites traces that are there.
#[track_caller]
fn check_dimension(name: &str, about: &Value) {
    if about["score"].is_null() {
        assert!(about["value"].is_null() && about["reason"].is_string(), "{name}: {about}");
        return;
    }
    let value = about["value"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&value), "{name}: {about}");
    assert!(!about["rationale"].as_str().unwrap().is_empty(), "{name}: {about}");
    let cited = about["evidence"].as_array().unwrap();
    assert!(cited.iter().all(|number| (1..=5).contains(&number.as_u64().unwrap())), "{about}");
}

#[test]
fn stored_scores_carry_reason_rubric_and_generation() {
    let data = folder_of(&[Story::new("good", 5)]);
    let first = report(score_all(data.path(), &[]), 0);
    let again = report(score_all(data.path(), &["--rescore"]), 0);
    assert_eq!(again["sessions"][0]["generation"], 2);
    assert_eq!(again["sessions"][0]["dimensions"], first["sessions"][0]["dimensions"]);

    let running = server(data.path()).start();
    let scores = stored(&running, "good");
    let overall: Vec<&Value> =
        scores.iter().filter(|score| score["name"] == "overall_quality").collect();
    assert_eq!(overall.len(), 2, "both verdicts are kept");
    let [old, new] = [overall[0], overall[1]];
    assert_eq!(old["metadata"]["superseded_by"], 2);
    assert_eq!(new["metadata"].get("superseded_by"), None);
    for score in [old, new] {
        assert_eq!(score["source"], "EVAL");
        assert_eq!(score["timestamp"], "2026-03-02T00:04:00.000Z", "when the session ended");
        assert_eq!(score["metadata"]["rubric"], "session-quality");
        assert_eq!(score["metadata"]["judge"], "offline");
        assert_eq!(score["metadata"]["traces"], 5);
    }
    let marks: Vec<&Value> =
        scores.iter().filter(|score| score["name"] == "task_completion").collect();
    assert_eq!(marks[0]["dataType"], "CATEGORICAL");
    let about = &first["sessions"][0]["dimensions"]["task_completion"];
    assert_eq!(
        (&marks[0]["stringValue"], &marks[0]["comment"]),
        (&about["score"], &about["rationale"])
    );
    assert_eq!(marks[0]["value"], about["value"]);
    let configs = running.send(http::get("/api/public/score-configs")).json();
    assert_eq!(configs["meta"]["totalItems"], 7, "score configs are made once: {configs}");
    assert!(scores.iter().all(|score| score["configId"].is_string()), "{scores:?}");
}

#[test]
fn a_session_that_went_on_is_scored_again() {
    let story = Story::new("long", 4);
    let data = folder_of(&[story]);
    report(score_all(data.path(), &[]), 0);
    tell_folder(data.path(), Story { traces: 6, ..story }, 4);
    let grown = report(score_all(data.path(), &[]), 0);
    assert_eq!(reason(&grown, "skipped", "long"), "already scored, with 2 new traces since");
    tell_folder(data.path(), Story { traces: 7, ..story }, 6);
    let again = report(score_all(data.path(), &[]), 0);
    assert_eq!(again["sessions"][0]["generation"], 2);
    assert_eq!(again["sessions"][0]["traces"], 7);
}

#[test]
fn a_server_gives_the_same_scores_as_its_folder() {
    let stories = [Story::new("one", 4), Story { fails: true, ..Story::new("two", 110) }];
    let local = folder_of(&stories);
    let expected = report(score_all(local.path(), &[]), 0);

    let remote = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let running = server(remote.path()).start();
    tell(&running, &stories);
    let over_there =
        || ask(&running, &["score", "--days", "36500"]).env("XDG_STATE_HOME", state.path());
    let found = report(over_there(), 0);
    assert_eq!(found["sessions"], expected["sessions"]);
    assert_eq!(report(over_there(), 0)["sessions"], json!([]));

    let here = server(local.path()).start();
    let without = |scores: Vec<Value>| -> Vec<Value> {
        let mut scores = scores;
        for score in &mut scores {
            for changing in ["createdAt", "updatedAt", "projectId", "configId", "authorUserId"] {
                score.as_object_mut().unwrap().remove(changing);
            }
            score["metadata"].as_object_mut().unwrap().remove("scored_at");
        }
        scores
    };
    assert_eq!(without(stored(&running, "two")), without(stored(&here, "two")));
    stop(here);
    stop(running);
}

#[test]
fn filters_and_samples_choose_sessions() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3), Story::new("c", 3)]);
    let dry = |args: &[&str]| {
        let found = report(score_all(data.path(), args).arg("--dry-run"), 0);
        ids(&found, "sessions")
    };
    assert_eq!(dry(&[]), ["a", "b", "c"]);
    assert_eq!(
        dry(&["--user", "ada", "--environment", "prod", "--tag", "team-a"]),
        ["a", "b", "c"]
    );
    for nobody in [["--user", "bob"], ["--environment", "dev"], ["--tag", "team-b"]] {
        assert_eq!(dry(&nobody), [""; 0], "{nobody:?}");
    }
    let some = dry(&["--sample", "0.5"]);
    assert_eq!(dry(&["--sample", "0.5"]), some, "the same ones each time");
    assert!(report(score(data.path(), &[]), 0)["sessions"].as_array().unwrap().is_empty());
    assert_eq!(dry(&[]), ["a", "b", "c"], "a dry run leaves nothing behind");
    assert!(fails(score(data.path(), &["--sample", "1.5"]), 2).contains("at most 1"));
}

#[test]
fn one_session_is_scored_however_short_and_shown_when_scored() {
    let data = folder_of(&[Story::new("short", 1)]);
    let one = || score(data.path(), &["session", "short"]);
    let first = report(one(), 0);
    assert_eq!(first["counts"]["scored"], 1);
    let shown = report(one(), 0);
    assert_eq!(shown["counts"]["scored"], 0);
    assert_eq!(shown["sessions"][0]["overall_quality"], first["sessions"][0]["overall_quality"]);
    let text = ok(one());
    assert!(text.contains("task_completion") && text.contains("--rescore"), "{text}");
    let missing = fails(score(data.path(), &["session", "nobody"]), 1);
    assert!(missing.contains("session nobody is not there"), "{missing}");
}

/// Sessions that take more and more, each ending after the one before.
fn growing() -> Vec<Story> {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    names.into_iter().zip(3..).map(|(name, traces)| Story::new(name, traces)).collect()
}

#[test]
fn a_session_is_held_against_those_before_it_whoever_is_scored_with_it() {
    let data = folder_of(&growing());
    let v0 = ["--rubric", "session-quality-v0", "--dry-run"];
    let last = |args: &[&str]| report(score(data.path(), &[&["session", "g"], args].concat()), 0);
    let alone = [last(&["--dry-run"]), last(&v0)].map(|report| report["sessions"][0].clone());
    let why = |session: &Value, dimension: &str| {
        session["dimensions"][dimension]["rationale"].as_str().unwrap_or_default().to_owned()
    };
    let said = why(&alone[0], "resource_efficiency");
    assert!(said.contains("took longer than all of its peers"), "{said}");
    let said = why(&alone[1], "cost_efficiency");
    assert!(said.contains("cost more than all of its peers"), "{said}");

    let all = report(score_all(data.path(), &v0), 0);
    assert_eq!(ids(&all, "sessions").len(), 7);
    assert_eq!(all["sessions"][6], alone[1], "it does not matter who else is scored");
    let said = why(&all["sessions"][0], "cost_efficiency");
    assert!(said.contains("too few peers"), "{said}");

    let running = server(data.path()).start();
    let state = tempfile::tempdir().unwrap();
    let over_there = ask(&running, &["score", "session", "g"]).args(v0);
    let over_there = report(over_there.env("XDG_STATE_HOME", state.path()), 0);
    assert_eq!(over_there["sessions"][0], alone[1], "nor where it is read");
    stop(running);
}

#[test]
fn a_folder_may_have_signals_of_its_own() {
    let data = folder_of(&[Story::new("s", 3)]);
    let shipped = include_str!("../../../../core/offline/signals.toml");
    let mark = || {
        let found = report(score(data.path(), &["session", "s", "--rescore"]), 0);
        found["sessions"][0]["dimensions"]["tool_mastery"]["value"].as_f64().unwrap()
    };
    let before = mark();
    let head = "[dimension.tool_mastery]\nbase = 0.95";
    assert!(shipped.contains(head));
    let file = data.path().join("offline/signals.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, shipped.replace(head, "[dimension.tool_mastery]\nbase = 0.45")).unwrap();
    assert!((before - mark() - 0.5).abs() < 1e-9);

    std::fs::write(&file, "version = 3").unwrap();
    let wrong = fails(score(data.path(), &["session", "s", "--rescore"]), 1);
    assert!(wrong.contains("signals.toml is not valid"), "{wrong}");
    std::fs::remove_file(&file).unwrap();
    let notations = data.path().join("offline/notations.toml");
    std::fs::write(&notations, "version = 1").unwrap();
    let wrong = fails(score(data.path(), &["session", "s", "--rescore"]), 1);
    assert!(wrong.contains("notations.toml is not valid"), "{wrong}");
    std::fs::remove_file(&notations).unwrap();
    let running = server(data.path()).start();
    let hashes: Vec<bool> = stored(&running, "s")
        .iter()
        .filter(|score| score["name"] == "overall_quality")
        .map(|score| score["metadata"]["prompt_hash"].is_string())
        .collect();
    assert_eq!(hashes, [false, true], "scores say by what they were made");
    stop(running);
}
