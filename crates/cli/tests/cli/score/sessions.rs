use std::path::Path;

use ratchet_testkit::http;
use ratchet_testkit::process::{Ratchet, Signal};
use serde_json::{Value, json};

use crate::server;

/// A session to record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Story {
    pub(crate) id: &'static str,
    /// How many traces it has.
    pub(crate) traces: usize,
    /// How many bytes each tool gives back.
    pub(crate) output_bytes: usize,
    pub(crate) fails: bool,
}

impl Story {
    /// A session in which all goes well.
    pub(crate) const fn new(id: &'static str, traces: usize) -> Self {
        Self { id, traces, output_bytes: 40, fails: false }
    }
}

/// A moment of a day long past.
pub(crate) fn minute(minute: usize) -> String {
    format!("2026-03-02T{:02}:{:02}:00Z", minute / 60 % 24, minute % 60)
}

/// Has a server record stories.
pub(crate) fn tell(running: &Ratchet, stories: &[Story]) {
    for story in stories {
        tell_from(running, *story, 0);
    }
}

/// Has a server record a story from its n-th trace on.
pub(crate) fn tell_from(running: &Ratchet, story: Story, first: usize) {
    for from in (first..story.traces).step_by(50) {
        let batch: Vec<Value> =
            (from..story.traces.min(from + 50)).flat_map(|n| events(story, n)).collect();
        record(running, &batch);
    }
}

/// Has a server record events.
pub(crate) fn record(running: &Ratchet, batch: &[Value]) {
    let body = json!({ "batch": batch }).to_string();
    let answer = running.send(http::post("/api/public/ingestion").json(body));
    assert_eq!(answer.json()["errors"], json!([]), "{}", answer.text());
}

/// An event at some minute: something is made, with an id and a body.
pub(crate) fn event(kind: &str, id: &str, at: usize, mut body: Value) -> Value {
    body["id"] = json!(id);
    json!({"id": format!("e-{id}"), "timestamp": minute(at), "type": kind, "body": body})
}

/// Words, so many bytes of them.
pub(crate) fn words(bytes: usize) -> String {
    "the quick brown fox jumps over the lazy dog. ".chars().cycle().take(bytes).collect()
}

fn events(story: Story, n: usize) -> [Value; 3] {
    let Story { id, output_bytes, fails, .. } = story;
    let trace = format!("{id}-t{n}");
    let at = minute(n);
    let level = if fails { "ERROR" } else { "DEFAULT" };
    [
        event(
            "trace-create",
            &trace,
            n,
            json!({"name": "turn", "sessionId": id,
            "timestamp": at, "userId": "ada", "environment": "prod", "tags": ["team-a"],
            "input": {"role": "user", "content": format!("Please do step {n} of the migration.")},
            "output": {"role": "assistant", "content": format!("Step {n} is done.")}}),
        ),
        event(
            "generation-create",
            &format!("{trace}-g"),
            n,
            json!({"traceId": trace, "name": "ask",
            "model": "gpt-5", "startTime": at, "endTime": at, "environment": "prod",
            "input": [{"role": "user", "content": format!("Please do step {n} of the migration.")}],
            "output": {"role": "assistant", "content": format!("Step {n} is done.")},
            "usageDetails": {"input": 30, "output": 10}}),
        ),
        event(
            "tool-create",
            &format!("{trace}-x"),
            n,
            json!({"traceId": trace, "name": "Bash",
            "startTime": at, "endTime": at, "level": level, "environment": "prod",
            "statusMessage": if fails { json!("exit code 1") } else { json!(null) },
            "input": {"command": format!("make step-{n}")}, "output": words(output_bytes)}),
        ),
    ]
}

/// A folder that holds some stories, closed and left.
pub(crate) fn folder_of(stories: &[Story]) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    tell(&running, stories);
    stop(running);
    data
}

/// More of a story for a folder.
pub(crate) fn tell_folder(data: &Path, story: Story, first: usize) {
    let running = server(data).start();
    tell_from(&running, story, first);
    stop(running);
}

/// Ends a server in good order.
pub(crate) fn stop(running: Ratchet) {
    running.signal(Signal::TERM);
    assert_eq!(running.wait().status.code(), Some(0));
}

/// The scores on a session as the API shows them, by name.
pub(crate) fn stored(running: &Ratchet, session: &str) -> Vec<Value> {
    let path = format!("/api/public/v2/scores?sessionId={session}&limit=100");
    let list = running.send(http::get(&path)).json();
    let mut scores = list["data"].as_array().unwrap().clone();
    scores
        .sort_by_key(|score| (score["name"].to_string(), score["metadata"]["generation"].as_u64()));
    scores
}
