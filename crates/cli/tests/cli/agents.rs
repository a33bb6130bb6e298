//! Sessions with agents on a server that is killed, with the real program.

use std::path::Path;

use ratchet_testkit::http;
use ratchet_testkit::process::Ratchet;
use ratchet_testkit::scripted::Reply;
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::chat::Stage;

pub(crate) fn post(running: &Ratchet, path: &str, body: &Value) -> Value {
    let answer = running.send(http::post(path).json(body.to_string()));
    assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
    answer.json()
}

pub(crate) fn get(running: &Ratchet, path: &str) -> Value {
    let answer = running.send(http::get(path));
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

/// The chat once it is in a state.
#[track_caller]
pub(crate) fn until_state(state: &str, look: impl Fn() -> Value) -> Value {
    wait::for_value(&format!("a chat that is {state}"), look, |seen| seen["state"] == state)
}

/// Agents that run with their folders in this one.
fn agents_in(folder: &Path) -> usize {
    let is_agent = |pid: &std::fs::DirEntry| {
        let environment = std::fs::read(pid.path().join("environ")).unwrap_or_default();
        let mark = format!("CLAUDE_CONFIG_DIR={}", folder.display());
        environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes()))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(is_agent).count()
}

#[test]
fn a_server_that_is_killed_goes_on_with_its_chats() {
    let stage = Stage::new();
    let touch = json!({"command": "touch here", "description": "makes a file"});
    stage.model.say(Reply::text("I will.").on("the word plum"));
    stage
        .model
        .say(Reply { text: "Let me see.".to_owned(), ..Reply::call("Bash", touch).on("Make") });
    stage.model.say(Reply::text("Plum.").on("Which word"));
    let running = stage.serve();
    let new =
        json!({"workspace": stage.work().canonicalize().unwrap(), "model": "claude-sonnet-5"});
    let id = post(&running, "/api/v1/chats", &new)["id"].as_str().unwrap().to_owned();
    let chat = format!("/api/v1/chats/{id}");
    let say = |running: &Ratchet, text: &str| {
        let sent = post(running, &format!("{chat}/messages"), &json!({"text": text}));
        sent["turn"].as_str().unwrap().to_owned()
    };
    let first = say(&running, "Remember the word plum.");
    until_state("idle", || get(&running, &chat));
    let broken = say(&running, "Make a file.");
    until_state("waiting", || get(&running, &chat));
    running.kill_hard();

    let running = stage.serve();
    let seen = get(&running, &chat);
    assert_eq!(seen["state"], "failed", "{seen}");
    assert!(seen["why"].as_str().unwrap().contains("restarted"), "{seen}");
    assert_eq!(agents_in(&stage.data().canonicalize().unwrap()), 0, "an agent outlives its server");
    let last = say(&running, "Which word was it?");
    until_state("idle", || get(&running, &chat));
    let asked = stage.model.requests().pop().unwrap()["messages"].to_string();
    assert!(asked.contains("the word plum"), "the conversation went on: {asked}");

    // Each turn is a trace, with what the model says that it used, at the price of its table.
    for (turn, said) in [(&first, "I will."), (&broken, "Let me see."), (&last, "Plum.")] {
        let trace = get(&running, &format!("/api/public/traces/{turn}"));
        assert!(trace["output"].to_string().contains(said), "{trace}");
        assert_eq!(trace["sessionId"], id.as_str(), "{trace}");
        let cost = trace["totalCost"].as_f64().unwrap();
        assert!((cost - 0.0003).abs() < 1e-9, "{cost}");
    }
    let trace = get(&running, &format!("/api/public/traces/{broken}"));
    let steps = trace["observations"].as_array().unwrap();
    let root = steps.iter().find(|step| step["id"] == broken.as_str()).unwrap();
    assert_eq!(root["level"], "ERROR", "{root}");
    let seen = get(&running, &chat);
    let cost = seen["cost"].as_f64().unwrap();
    assert!((cost - 0.0009).abs() < 1e-9, "what was broken off was billed: {seen}");
}
