//! Agents end with the process that runs them, however it ended; with the real program.

use std::path::Path;

use ratchet_testkit::http;
use ratchet_testkit::process::{Ratchet, Signal};
use ratchet_testkit::pty::Pty;
use ratchet_testkit::say;
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::agents::{get, post, until_state};
use crate::chat::Stage;

/// What the model answers before it holds its tongue: calls of tools, one after the other.
const CALLS: usize = 5;
const COST: f64 = 0.0015;

/// Processes that have something with these words in a file of theirs under `/proc`.
fn processes(file: &str, is_it: impl Fn(&[&[u8]]) -> bool) -> Vec<String> {
    let found = std::fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let read = std::fs::read(process.path().join(file)).unwrap_or_default();
        is_it(&read.split(|byte| *byte == 0).collect::<Vec<_>>())
    });
    found.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// The process that writes its number into a file, once it has.
pub(crate) fn process_in(file: &Path) -> String {
    let what = format!("a process writes {}", file.display());
    let read = || std::fs::read_to_string(file).unwrap_or_default();
    wait::until(&what, || read().ends_with('\n'));
    read().trim().to_owned()
}

/// Waits until a process is gone. It may be a zombie until its new parent reaps it.
pub(crate) fn wait_until_gone(pid: &str) {
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    wait::until("the process is gone", || state().is_empty() || state().contains(") Z "));
}

/// Whatever agents started that keep their conversations in this folder.
fn agents_in(data: &Path) -> Vec<String> {
    let entry = format!("CLAUDE_CONFIG_DIR={}", data.canonicalize().unwrap().display());
    processes("environ", |environment| {
        environment.iter().any(|variable| variable.starts_with(entry.as_bytes()))
    })
}

/// The supervisors of a chat.
fn supervisors(chat: &str) -> Vec<String> {
    processes("cmdline", |words| {
        let says = |word: &str| words.iter().any(|it| it.ends_with(word.as_bytes()));
        says("supervise") && says(chat)
    })
}

/// A model that has many files read, and stops in the middle.
fn has_much_to_do(stage: &Stage) {
    let file = stage.work().join("plan.md");
    std::fs::write(&file, "Ship on Friday.").unwrap();
    for _ in 0..100 {
        stage.model.say(Reply::call("Read", json!({"file_path": file})));
    }
    stage.model.hold_after(u32::try_from(CALLS).unwrap());
}

/// Waits until all agents are gone while the model is silent, lets it speak again, and sees
/// whether anyone asks it something.
fn check_nobody_goes_on(model: &ScriptedModel, data: &Path) {
    let asked = model.requests().len();
    wait::until("all agents are gone", || agents_in(data).is_empty());
    model.go_on();
    let address = model.url().trim_start_matches("http://").parse().unwrap();
    let heard = http::send(address, &http::get("/requests")).unwrap().json();
    assert_eq!(heard.as_array().map(Vec::len), Some(asked), "the model was asked again");
}

fn begin(stage: &Stage, running: &Ratchet) -> String {
    let workspace = stage.work().canonicalize().unwrap();
    let new = json!({"workspace": workspace, "model": "claude-sonnet-5"});
    post(running, "/api/v1/chats", &new)["id"].as_str().unwrap().to_owned()
}

/// The bodies of a chat's events of a kind.
fn events(running: &Ratchet, chat: &str, kind: &str) -> Vec<Value> {
    let path = format!("/api/v1/chats/{chat}/events?follow=false&types={kind}");
    let text = running.send(http::get(&path)).text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str::<Value>(data).unwrap()["body"].clone()).collect()
}

/// Has a server with an agent at work end by a signal. The agent has a shell that left its group.
fn check_signal(signal: Signal) {
    let stage = Stage::new();
    let sleep = json!({"command": "sleep 600", "description": "sleeps", "run_in_background": true});
    stage.model.say(Reply::call("Bash", sleep).on("Work"));
    has_much_to_do(&stage);
    let running = stage.serve();
    let chat = begin(&stage, &running);
    let path = format!("/api/v1/chats/{chat}");
    let sent = post(&running, &format!("{path}/messages"), &json!({"text": "Work on the plan."}));
    let turn = sent["turn"].as_str().unwrap().to_owned();
    wait::until("the model was asked often", || stage.model.requests().len() > CALLS);
    wait::until("all of it is told", || events(&running, &chat, "tool_result").len() == CALLS);
    assert!(agents_in(&stage.data()).len() > 1, "the agent and its shell");
    assert_eq!(supervisors(&chat).len(), 1);

    running.signal(signal);
    drop(running.wait());
    check_nobody_goes_on(&stage.model, &stage.data());
    wait::until("the supervisor is gone, too", || supervisors(&chat).is_empty());

    // What was billed is known: every answer that the model gave.
    let running = stage.serve();
    let seen = get(&running, &path);
    assert_eq!(seen["state"], "failed", "{seen}");
    let trace = get(&running, &format!("/api/public/traces/{turn}"));
    let cost = trace["totalCost"].as_f64().unwrap();
    assert!((cost - COST).abs() < 1e-9, "{cost}");
    assert!((seen["cost"].as_f64().unwrap() - cost).abs() < 1e-9, "{seen}");
    let output = events(&running, &chat, "error").pop().unwrap();
    assert!(output["message"].as_str().unwrap().contains("at least $0.0015"), "{output}");
    assert_eq!(output["at_least"], true);
}

#[test]
fn an_agent_ends_with_a_server_that_is_killed() {
    check_signal(Signal::KILL);
}

#[test]
fn an_agent_ends_with_a_server_that_is_hung_up_on() {
    // Under `nohup`, servers survive a hangup, as they should.
    if ignores_hang_up() {
        return say("supervision: not tried with SIGHUP, which is ignored here");
    }
    check_signal(Signal::HUP);
}

fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn an_agent_ends_with_a_chat_whose_terminal_hangs_up() {
    let stage = Stage::new();
    has_much_to_do(&stage);
    let mut pty = Pty::start(stage.begun().env("TERM", "xterm-256color"), (100, 30));
    pty.wait_until("a prompt", |display| display.cursor_row().starts_with(['›', '>']));
    pty.press("Work on the plan.\r");
    wait::until("the model was asked often", || stage.model.requests().len() > CALLS);
    assert!(!agents_in(&stage.data()).is_empty());
    pty.close_terminal();
    check_nobody_goes_on(&stage.model, &stage.data());
}

#[test]
fn an_agent_that_nobody_would_end_is_ended_now() {
    let stage = Stage::new();
    has_much_to_do(&stage);
    let running = stage.serve();
    let chat = begin(&stage, &running);
    let path = format!("/api/v1/chats/{chat}");
    post(&running, &format!("{path}/messages"), &json!({"text": "Work on the plan."}));
    wait::until("the model was asked often", || stage.model.requests().len() > CALLS);
    let [supervisor] = &supervisors(&chat)[..] else { panic!("there is one supervisor") };
    let killed = std::process::Command::new("kill").args(["-9", supervisor]).status();
    assert!(killed.unwrap().success());
    let seen = until_state("failed", || get(&running, &path));
    assert!(seen["why"].as_str().unwrap().contains("supervisor"), "{seen}");
    check_nobody_goes_on(&stage.model, &stage.data());

    // The next message starts both again, and both end when unused.
    post(&running, &format!("{path}/messages"), &json!({"text": "Go on."}));
    until_state("running", || get(&running, &path));
    assert_eq!(supervisors(&chat).len(), 1);
    assert_eq!(running.send(http::request("DELETE", &path)).status / 100, 2);
    wait::until("all are gone", || {
        agents_in(&stage.data()).is_empty() && supervisors(&chat).is_empty()
    });
}
