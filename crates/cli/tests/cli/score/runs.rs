use std::process::{Child, Stdio};

use ratchet_testkit::process::{Launch, Ratchet};
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use super::models::{judged, verdict, verdict_citing};
use super::sessions::{Story, folder_of, stop, stored, tell, tell_from};
use super::{ids, reason, report};
use crate::{ask, server};

pub(super) struct Running {
    child: Child,
    _home: tempfile::TempDir,
}

/// Starts a command that will be looked at later.
pub(super) fn started(launch: Launch) -> Running {
    let (mut command, home) = launch.arg("--json").into_parts();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    Running { child: command.spawn().unwrap(), _home: home }
}

impl Running {
    /// Ends it as a power cut would.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it says when it is done.
    #[track_caller]
    fn report(self) -> Value {
        let output = wait::output("the run", self.child);
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Waits until a model was asked so many things.
#[track_caller]
pub(super) fn until_asked(model: &ScriptedModel, count: usize) {
    let what = format!("{count} questions to the model");
    wait::for_value(&what, || model.requests().len(), |asked| *asked == count);
}

/// The generations of the scores on a session, one of each dimension and the overall one.
#[track_caller]
fn check_scored_once(running: &Ratchet, session: &str) {
    let scores = stored(running, session);
    let generations: Vec<&Value> =
        scores.iter().map(|score| &score["metadata"]["generation"]).collect();
    assert_eq!(generations, [1; 7], "{session}");
}

#[test]
fn killed_at_any_moment_it_asks_for_what_is_missing_only() {
    let long = Story { output_bytes: 16_000, ..Story::new("long", 30) };
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 3), Story::new("c", 3), long]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(verdict_citing(0.9, &[1])).on("Part 1 of 2"));
    model.say_always(Reply::document(verdict_citing(0.5, &[30])).on("Part 2 of 2"));
    model.say_always(Reply::document(verdict(0.7)));
    let run = || judged(data.path(), &model, &["--concurrency", "2"]);
    // Two of the first three under way; then the first part of the long one, then its second.
    for (answered, asked) in [(1, 3), (2, 6), (1, 8)] {
        model.hold_after(answered);
        let running = started(run());
        until_asked(&model, asked);
        running.kill();
    }
    model.go_on();
    let found = report(run(), 0);
    assert_eq!(model.requests().len(), 9, "five verdicts, and four that nobody lived to hear");
    assert_eq!(ids(&found, "sessions"), ["long"], "{found}");
    let counts = &found["counts"];
    assert_eq!((&counts["calls"], &counts["repeated"]), (&json!(1), &json!(1)));
    let about = &found["sessions"][0]["dimensions"]["tool_mastery"];
    assert_eq!(about["chunk_scores"], json!([0.9, 0.5]), "{about}");

    assert_eq!(report(run(), 0)["sessions"], json!([]));
    assert_eq!(model.requests().len(), 9);
    let running = server(data.path()).start();
    for session in ["a", "b", "c", "long"] {
        check_scored_once(&running, session);
    }
    stop(running);
}

/// A server, a state folder for journals, and a judge model.
struct Elsewhere {
    server: Ratchet,
    model: ScriptedModel,
    _data: tempfile::TempDir,
    state: tempfile::TempDir,
}

impl Elsewhere {
    fn new(stories: &[Story]) -> Self {
        let (data, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let server = server(data.path()).start();
        tell(&server, stories);
        let model = ScriptedModel::start().unwrap();
        model.say_always(Reply::document(verdict(0.7)));
        Self { server, model, _data: data, state }
    }

    fn run(&self, args: &[&str]) -> Launch {
        let judge = ["score", "--days", "36500", "--judge", "anthropic:claude-sonnet-5"];
        ask(&self.server, &judge)
            .args(args)
            .env("XDG_STATE_HOME", self.state.path())
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "sk-test")
    }
}

#[test]
fn two_runs_are_never_at_one_session() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let there = Elsewhere::new(&names.map(|name| Story::new(name, 3)));
    there.model.hold_after(0);
    let first = started(there.run(&["--concurrency", "2"]));
    until_asked(&there.model, 2);
    let second = started(there.run(&["--concurrency", "2"]));
    until_asked(&there.model, 4);
    there.model.go_on();
    let (first, second) = (first.report(), second.report());
    assert_eq!(reason(&second, "skipped", "a"), "another run is scoring it");
    let mut scored = ids(&first, "sessions");
    scored.extend(ids(&second, "sessions"));
    scored.sort();
    assert_eq!(scored, names, "each by one of them: {first} {second}");
    assert_eq!(there.model.requests().len(), names.len());
    for name in names {
        check_scored_once(&there.server, name);
    }
    stop(there.server);
}

#[test]
fn a_run_that_is_gone_holds_nothing() {
    let there = Elsewhere::new(&[Story::new("one", 3)]);
    there.model.hold_after(0);
    let lost = started(there.run(&[]));
    until_asked(&there.model, 1);
    lost.kill();
    there.model.go_on();
    let found = report(there.run(&[]), 0);
    assert_eq!(ids(&found, "sessions"), ["one"], "{found}");
    assert_eq!(found["counts"]["repeated"], 1);
    stop(there.server);
}

#[test]
fn a_session_that_goes_on_meanwhile_is_scored_as_it_was_and_again_later() {
    let story = Story::new("s", 3);
    let there = Elsewhere::new(&[story]);
    there.model.hold_after(0);
    let running = started(there.run(&[]));
    until_asked(&there.model, 1);
    tell_from(&there.server, Story { traces: 5, ..story }, 3);
    there.model.go_on();
    let first = running.report();
    assert_eq!(first["sessions"][0]["traces"], 3, "{first}");
    assert_eq!(stored(&there.server, "s")[0]["metadata"]["traces"], 3);

    let grown = report(there.run(&[]), 0);
    assert_eq!(reason(&grown, "skipped", "s"), "already scored, with 2 new traces since");
    tell_from(&there.server, Story { traces: 6, ..story }, 5);
    let again = report(there.run(&[]), 0);
    let view = &again["sessions"][0];
    assert_eq!((&view["traces"], &view["generation"]), (&json!(6), &json!(2)));
    assert_eq!(there.model.requests().len(), 2);
    stop(there.server);
}

#[test]
fn a_provider_that_asks_for_a_pause_gets_it() {
    let data = folder_of(&[Story::new("a", 3)]);
    let model = ScriptedModel::start().unwrap();
    model.say(Reply::failing(Failure::Later(429, 1)));
    model.say_always(Reply::document(verdict(0.7)));
    let found = report(judged(data.path(), &model, &[]), 0);
    assert_eq!(ids(&found, "sessions"), ["a"], "{found}");
    assert_eq!(model.requests().len(), 2);
    assert_eq!(found["counts"]["calls"], 1, "what was turned away is not paid for");
}
