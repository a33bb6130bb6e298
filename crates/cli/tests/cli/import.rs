use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use ratchet_testkit::fixtures;
use ratchet_testkit::http;
use ratchet_testkit::process::Ratchet;
use ratchet_testkit::wait::Lines;
use serde_json::{Value, json};

use crate::{ask, fails, folder, json, ok, ratchet, server};

fn transcripts() -> String {
    fixtures::folder("transcripts").to_str().unwrap().to_owned()
}

fn import(data: &Path) -> Value {
    let data = data.to_str().unwrap();
    json(ratchet(&["import", "claude-code", &transcripts(), "--data", data]))
}

/// All traces of a server, oldest first, without what only says when they were written.
fn traces(running: &Ratchet) -> Vec<Value> {
    let list = running.send(http::get("/api/public/traces?limit=100&orderBy=timestamp.asc")).json();
    let ids = list["data"].as_array().unwrap().iter().map(|trace| trace["id"].as_str().unwrap());
    let whole = |id: &str| running.send(http::get(&format!("/api/public/traces/{id}"))).json();
    ids.map(|id| timeless(whole(id))).collect()
}

fn timeless(mut record: Value) -> Value {
    for key in ["createdAt", "updatedAt"] {
        record.as_object_mut().unwrap().remove(key);
    }
    for observation in record["observations"].as_array_mut().into_iter().flatten() {
        for key in ["createdAt", "updatedAt"] {
            observation.as_object_mut().unwrap().remove(key);
        }
    }
    record
}

fn step<'a>(trace: &'a Value, id: &str) -> &'a Value {
    let steps = trace["observations"].as_array().unwrap();
    steps.iter().find(|step| step["id"] == id).unwrap_or_else(|| panic!("no {id} in {trace}"))
}

#[test]
fn transcripts_become_traces_once() {
    let data = folder();
    let first = import(data.path());
    let expected = json!({
        "files": 3, "lines": 35, "turns": 3, "modelCalls": 7, "toolCalls": 4,
        "malformedLines": 0, "unknownLines": {}, "notes": [],
    });
    assert_eq!(first, expected);
    let running = server(data.path()).start();
    let once = traces(&running);
    drop(running);
    assert_eq!(import(data.path()), expected);
    let running = server(data.path()).start();
    assert_eq!(traces(&running), once, "a second import changed something");
    let [first, second, fork] = once.as_slice() else { panic!("{} traces", once.len()) };
    assert_eq!(first["id"], "11111111000040008000000000000001");
    assert_eq!(first["sessionId"], "5e551011-0000-4000-8000-000000000001", "not the fork's");
    assert_eq!(first["tags"], json!(["branch:trunk", "claude-code", "folder:shop"]));
    assert_eq!(first["output"], "One file, tests/till.rs: change and refunds.");
    let scout = step(first, "agent-a1b2c3");
    assert_eq!((&scout["type"], &scout["name"]), (&json!("AGENT"), &json!("scout")));
    assert_eq!(scout["parentObservationId"], "toolu_scout");
    assert_eq!(step(first, "req_s1")["parentObservationId"], "agent-a1b2c3");
    let usage = json!({
        "input": 12, "input_cached_tokens": 900, "input_cache_creation": 100, "output": 40,
        "total": 1052
    });
    assert_eq!(step(first, "req_t1")["usageDetails"], usage);
    assert!(first["totalCost"].as_f64().unwrap() > 0.0);
    assert_eq!(step(second, "toolu_run")["level"], "ERROR");
    assert_eq!(fork["sessionId"], "5e551011-0000-4000-8000-000000000002");
    assert_eq!(fork["observations"].as_array().unwrap().len(), 2, "a fork repeats nothing");
}

#[test]
fn a_server_records_the_same_as_a_folder() {
    let data = folder();
    import(data.path());
    let expected = traces(&server(data.path()).start());
    let other = tempfile::tempdir().unwrap();
    let running = server(other.path()).start();
    let report = json(ask(&running, &["import", "claude-code", &transcripts()]));
    assert_eq!(report["modelCalls"], 7);
    assert_eq!(traces(&running), expected);
    let message =
        fails(ask(&running, &["import", "claude-code", &transcripts(), "--project", "another"]), 1);
    assert!(message.contains("the key determines the project"), "{message}");
}

#[test]
fn bad_lines_are_named_and_the_rest_is_recorded() {
    let data = folder();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("odd.jsonl");
    let good = fs::read_to_string(
        fixtures::folder("transcripts/-work-shop")
            .join("5e551011-0000-4000-8000-000000000002.jsonl"),
    );
    let odd = format!("{{\"type\":\"dream\"}}\n\nnonsense\n{}{{\"type\":\"us", good.unwrap());
    fs::write(&file, odd).unwrap();
    let args =
        ["import", "claude-code", file.to_str().unwrap(), "--data", data.path().to_str().unwrap()];
    let report = json(ratchet(&args));
    assert_eq!((&report["malformedLines"], &report["turns"]), (&json!(2), &json!(2)));
    assert_eq!(report["unknownLines"], json!({"dream": 1}));
    let lines: Vec<_> = report["notes"].as_array().unwrap().iter().map(|n| &n["line"]).collect();
    assert_eq!(lines, [1, 3, 17]);
    let text = ok(ratchet(&args));
    assert!(text.contains("2 invalid lines, 1 line of unknown types"), "{text}");
    assert!(text.contains("odd.jsonl:1: unknown type dream"), "{text}");
    let message = fails(ratchet(&["import", "claude-code", "/nowhere"]), 1);
    assert!(message.contains("there is no /nowhere"), "{message}");
}

/// A command that follows transcripts, and what it says.
struct Follower {
    child: Child,
    stderr: Lines,
    _home: tempfile::TempDir,
}

impl Follower {
    fn start(running: &Ratchet, path: &Path) -> Self {
        let launch = ask(running, &["import", "claude-code", "--follow", path.to_str().unwrap()]);
        let (mut command, home) = launch.into_parts();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = Lines::of(child.stderr.take().unwrap());
        Self { child, stderr, _home: home }
    }

    /// Waits until it has imported so many lines.
    #[track_caller]
    fn wait_for(&self, lines: u64) {
        self.stderr.wait_for(&format!("imported {lines} lines "));
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn what_is_written_from_now_on_is_recorded_too() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let home = tempfile::tempdir().unwrap();
    let follower = Follower::start(&running, home.path());
    follower.wait_for(0);
    let from = fixtures::folder("transcripts/-work-shop");
    let session = "5e551011-0000-4000-8000-000000000001";
    let whole = fs::read_to_string(from.join(format!("{session}.jsonl"))).unwrap();
    // Cut in the middle of a line, where a writer may well be.
    let (begun, rest) = whole.split_at(whole.find("toolu_run").unwrap());
    let file = home.path().join(format!("{session}.jsonl"));
    fs::write(&file, begun).unwrap();
    follower.wait_for(14);
    let agents = home.path().join(session).join("subagents");
    fs::create_dir_all(&agents).unwrap();
    for name in ["agent-a1b2c3.meta.json", "agent-a1b2c3.jsonl"] {
        fs::copy(from.join(session).join("subagents").join(name), agents.join(name)).unwrap();
    }
    follower.wait_for(18);
    OpenOptions::new().append(true).open(&file).unwrap().write_all(rest.as_bytes()).unwrap();
    follower.wait_for(22);
    let followed = traces(&running);
    // A file that takes the place of another is read from its beginning, and says the same again.
    let other = home.path().join("other");
    fs::write(&other, &whole).unwrap();
    fs::rename(&other, &file).unwrap();
    follower.wait_for(40);
    assert_eq!(traces(&running), followed);
    drop(follower);
    let at_once = tempfile::tempdir().unwrap();
    let another = server(at_once.path()).start();
    ok(ask(&another, &["import", "claude-code", home.path().to_str().unwrap()]));
    assert_eq!(traces(&another), followed, "followed and imported differ");
}

#[test]
fn transcripts_and_events_of_one_turn_are_one_trace() {
    let events = || {
        let body = fixtures::all("otlp-logs").remove(0);
        http::post("/v1/logs").json(body)
    };
    let record = |running: &Ratchet| ok(ask(running, &["import", "claude-code", &transcripts()]));
    let recorded = |events_first: bool| {
        let data = tempfile::tempdir().unwrap();
        let running = server(data.path()).start();
        if events_first {
            assert_eq!(running.send(events()).status, 200);
            record(&running);
        } else {
            record(&running);
            assert_eq!(running.send(events()).status, 200);
        }
        traces(&running)
    };
    let both = recorded(true);
    assert_eq!(both, recorded(false), "the order made a difference");
    let turn = &both[0];
    assert_eq!(both.len(), 3, "events made a trace of their own");
    let steps = turn["observations"].as_array().unwrap();
    let count = |kind: &str| steps.iter().filter(|step| step["type"] == kind).count();
    assert_eq!(["AGENT", "GENERATION", "TOOL"].map(count), [2, 4, 3]);
    let cost = turn["totalCost"].as_f64().unwrap();
    assert!((cost - 0.025).abs() < 1e-9, "what Claude Code says it cost: {cost}");
    assert_eq!(turn["userId"], "c0ffee", "only events know the user");
    assert_eq!(turn["output"], "One file, tests/till.rs: change and refunds.");
    assert_eq!(step(turn, "req_t1")["usageDetails"]["total"], 1052);
}
