//! The real binary, run as people and programs run it, each test in a folder of its own.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

/// What the program says about itself.
mod help;
mod config;
/// Starting, stopping and standing in each other's way.
mod serve;
/// Files that only their owner can read.
mod private_files;
mod demo;
/// Projects and keys, on a folder and on a server.
mod catalog;
/// Servers that are asked over TLS.
mod tls;
mod users;
/// What other programs have kept.
mod import;
mod score;
/// People label sessions, and the judge is held against them.
mod calibration;
/// The weekly document of proposals.
mod feedback;
mod feedback_agent;
/// Weeks and what runs by itself.
mod week;
/// What sessions are judged by.
mod rubrics;
mod chat;
/// Notifications.
mod notices;
/// Agents on a server that dies.
mod agents;
/// Agents end with the process that runs them.
mod supervision;
mod mcp;
/// What comes with Claude Code's plugin.
mod plugin;
/// Copies of the data, and back.
mod backup;
/// What the server knows to be secret.
mod secrets;
/// What `doctor` sees.
mod doctor;
/// Killed at any moment, nothing is lost.
mod crash;
/// Online evaluators, also through kills and outages.
mod evaluators;
/// Decisions on runs, as CI makes them.
mod gates;
/// Versions of agents on their way to production, and back.
mod promotions;
/// Deployments to AgentCore, and promotions that deploy.
mod deployments;
/// From a commit to production and back, by the scripts of the documentation.
mod pipeline;
/// Agents on datasets.
mod experiments;
/// Agents of all kinds on datasets.
mod experiment_calls;
mod experiment_targets;
/// Experiments that a server runs by itself.
mod server_experiments;
/// Disks that are full, locked or cut off.
mod disks;
/// Clients that are slow, silent or gone.
mod clients;
/// Many of them at once.
mod slow_clients;
mod import_rows;
/// Copies out of a Langfuse server.
mod import_langfuse;
/// Requests that make no sense.
mod bad_input;
/// Small bodies that become large ones.
mod oversized_bodies;
/// Responses of any length.
mod long_answers;
/// Every page, in a real browser.
mod pages;

use std::path::Path;

use ratchet_testkit::process::{Finished, Launch, Ratchet, Signal};
use serde_json::Value;

/// Any command of the binary under test.
fn ratchet(args: &[&str]) -> Launch {
    Launch::command(env!("CARGO_BIN_EXE_ratchet")).args(args)
}

/// A server of the binary under test, with preset keys.
fn server(data: &Path) -> Launch {
    Launch::serve(env!("CARGO_BIN_EXE_ratchet"), data)
}

/// A folder that a server has made, closed and left.
fn folder() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    running.signal(Signal::TERM);
    assert_eq!(running.wait().status.code(), Some(0));
    data
}

/// A command that asks a server, with its key.
fn ask(server: &Ratchet, args: &[&str]) -> Launch {
    ratchet(args)
        .args(["--server", server.web()])
        .env("RATCHET_PUBLIC_KEY", ratchet_testkit::process::PUBLIC_KEY)
        .env("RATCHET_SECRET_KEY", ratchet_testkit::process::SECRET_KEY)
        // What it remembers of servers stays in its own folder, which goes with it.
        .env("XDG_STATE_HOME", "state")
}

/// The output of a command that worked.
#[track_caller]
fn ok(launch: Launch) -> String {
    let Finished { code, stdout, stderr } = launch.run();
    assert_eq!(code, Some(0), "stdout: {stdout}\nstderr: {stderr}");
    stdout
}

/// The JSON on stdout of a command that worked: that and nothing else.
#[track_caller]
fn json(launch: Launch) -> Value {
    let stdout = ok(launch.arg("--json"));
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error} in: {stdout}"))
}

/// The message of a command that failed: with this code, with nothing on stdout.
#[track_caller]
fn fails(launch: Launch, expected_code: i32) -> String {
    let Finished { code, stdout, stderr } = launch.run();
    assert_eq!(code, Some(expected_code), "stdout: {stdout}\nstderr: {stderr}");
    assert_eq!(stdout, "");
    stderr
}
