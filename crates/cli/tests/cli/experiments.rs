//! Experiments with a real agent: a Python program, on a server and on a data folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ratchet_testkit::process::Ratchet;
use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::{http, soak, wait};
use serde_json::{Value, json};

use crate::{ask, server};

/// Kills in `make test` and in `make soak`.
const KILLS: (u64, u64) = (3, 20);
/// Items per kill.
const ITEMS_PER_KILL: u64 = 12;
/// Calls at a time.
const AT_ONCE: u64 = 2;

/// Writes a line per call, then answers with the sum; the item `fails` never answers.
const AGENT: &str = r#"
import json, os, sys, threading
item = json.load(sys.stdin)
with open("calls.log", "a") as log:
    log.write(os.environ["RATCHET_EXPERIMENT_ITEM"] + " " + os.environ["TRACEPARENT"] + "\n")
threading.Event().wait(float(os.environ.get("PAUSE", "0")))
if item.get("fails"):
    print("no such tool", file=sys.stderr)
    sys.exit(3)
print(item["a"] + item["b"])
"#;

const TARGET: &str = r#"
kind = "command"
command = ["python3", "agent.py"]
concurrency = 2
retries = 1
[environments.beta.variables]
PAUSE = "0.05"
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.py"), AGENT).unwrap();
    std::fs::write(folder.path().join("agent.toml"), TARGET).unwrap();
    folder
}

fn add_items(running: &Ratchet, count: u64) {
    let send = |path: &str, body: Value| {
        let answer = running.send(http::post(path).json(body.to_string()));
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    send("/api/public/v2/datasets", json!({ "name": "sums" }));
    for number in 0..count {
        send(
            "/api/public/dataset-items",
            json!({
                "datasetName": "sums", "id": format!("item-{number}"),
                "input": { "a": number, "b": 1 }, "expectedOutput": (number + 1).to_string(),
            }),
        );
    }
}

fn calls(folder: &Path) -> BTreeMap<String, u64> {
    let log = std::fs::read_to_string(folder.join("calls.log")).unwrap_or_default();
    let mut calls = BTreeMap::new();
    for item in log.lines().filter_map(|line| line.split(' ').next()) {
        *calls.entry(item.to_owned()).or_default() += 1;
    }
    calls
}

fn run_args(folder: &Path) -> Vec<String> {
    let target = folder.join("agent.toml").display().to_string();
    let words = ["experiment", "run", "--dataset", "sums", "--evaluator", "exact", "--target"];
    words.into_iter().map(str::to_owned).chain([target]).collect()
}

fn words(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

#[test]
fn a_run_on_a_server_is_traces_run_items_and_scores() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = server(data.path()).start();
    add_items(&running, 20);
    let wrong = json!({
        "datasetName": "sums", "id": "wrong", "input": { "a": 1, "b": 1 }, "expectedOutput": "3",
    });
    running.send(http::post("/api/public/dataset-items").json(wrong.to_string()));
    let failing = json!({
        "datasetName": "sums", "id": "failing", "expectedOutput": "3",
        "input": { "a": 1, "b": 1, "fails": true },
    });
    running.send(http::post("/api/public/dataset-items").json(failing.to_string()));
    let mut args = run_args(folder.path());
    args.extend(["--run", "first", "--environment", "beta"].map(str::to_owned));
    let run = crate::json(ask(&running, &words(&args)));
    let counts = ["trials", "done", "faults", "calls"].map(|key| run[key].as_u64().unwrap());
    assert_eq!(counts, [22, 22, 1, 23], "one call is retried once: {run}");
    assert_eq!(run["state"], "done");

    let items = "/api/public/datasets/sums/runs/first";
    let recorded = running.send(http::get(items)).json();
    assert_eq!(recorded["datasetRunItems"].as_array().unwrap().len(), 22, "{recorded}");
    let scores = running.send(http::get("/api/public/v2/scores?name=exact&limit=100")).json();
    let values: Vec<f64> = scores["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["value"].as_f64().unwrap())
        .collect();
    assert_eq!((values.len(), values.iter().sum::<f64>()), (22, 20.0), "{scores}");
    let traces = running.send(http::get("/api/public/traces?environment=beta&limit=100")).json();
    assert_eq!(traces["meta"]["totalItems"], 22, "{traces}");
    // The trace is the one that the agent was told.
    let log = std::fs::read_to_string(folder.path().join("calls.log")).unwrap();
    let told = log.lines().find(|line| line.starts_with("item-0 ")).unwrap();
    let trace = told.split('-').nth(2).unwrap();
    let trace = running.send(http::get(&format!("/api/public/traces/{trace}"))).json();
    assert_eq!((&trace["output"], &trace["name"]), (&json!("1"), &json!("agent")), "{trace}");

    let shown = ask(&running, &["experiment", "show", "first"]).run();
    assert!(
        shown.stdout.contains("FAULT failing: it ended with exit status: 3: no such tool"),
        "{}",
        shown.stdout
    );
    let again = ask(&running, &words(&args)).run();
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert!(again.stderr.contains("run first is done already"), "{}", again.stderr);
}

#[test]
fn a_run_on_a_data_folder_needs_no_server() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = server(data.path()).start();
    add_items(&running, 5);
    drop(running.kill_hard());
    let mut args = run_args(folder.path());
    args.extend(["--data".to_owned(), data.path().display().to_string(), "--json".to_owned()]);
    let ended = crate::ratchet(&words(&args)).run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let run: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&run["done"], &run["faults"]), (&json!(5), &json!(0)), "{run}");
    assert_eq!(calls(folder.path()).len(), 5);
}

/// A run that is killed at random moments, and continued by the same command.
#[test]
fn a_killed_run_repeats_no_finished_call_and_loses_no_item() {
    let mut chance = SeededRandom::from_environment("experiments");
    let kills = soak::scaled(KILLS.0, KILLS.1);
    let items = kills * ITEMS_PER_KILL;
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = server(data.path()).start();
    add_items(&running, items);
    let mut args = run_args(folder.path());
    args.extend(["--run", "killed", "--environment", "beta"].map(str::to_owned));
    for _ in 0..kills {
        let before = calls(folder.path()).values().sum::<u64>();
        let mut child = start(&running, &args);
        wait::until("a call", || calls(folder.path()).values().sum::<u64>() > before);
        // The random moment itself; nothing is waited for.
        std::thread::park_timeout(chance.wait(Duration::from_millis(400)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let run = crate::json(ask(&running, &words(&args)));
    assert_eq!((&run["state"], &run["done"]), (&json!("done"), &json!(items)), "{run}");
    let calls = calls(folder.path());
    assert_eq!(calls.len() as u64, items, "no item is lost");
    let sent: u64 = calls.values().sum();
    assert!(sent <= items + kills * AT_ONCE, "{sent} calls: only those in flight are repeated");
    let counted = run["calls"].as_u64().unwrap();
    assert!(sent <= counted, "{sent} calls were sent, {counted} counted");
    assert!(counted <= items + kills * AT_ONCE, "{counted} calls were counted");
    let recorded = running.send(http::get("/api/public/datasets/sums/runs/killed")).json();
    let recorded = recorded["datasetRunItems"].as_array().unwrap();
    let of_item = |one: &Value| one["datasetItemId"].as_str().unwrap().to_owned();
    let distinct: BTreeSet<String> = recorded.iter().map(of_item).collect();
    assert_eq!(distinct.len() as u64, items, "each item is recorded");
    // A command that is killed while its result is being recorded leaves a record of its call.
    assert!(recorded.len() as u64 <= items + kills * AT_ONCE, "{} records", recorded.len());
}

/// The command without waiting for its end.
fn start(running: &Ratchet, args: &[String]) -> Child {
    let (command, home) = ask(running, &words(args)).into_parts();
    let mut command: Command = command;
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The home folder must outlive the process.
    std::mem::forget(home);
    child
}

/// Answers every second request for an item with 503; `/invocations` is the contract of AgentCore.
const FLAKY: &str = r#"
import http.server, json, sys
seen = {}
class Agent(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def say(self, status, body, kind="application/json"):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self):
        self.say(200, json.dumps({"status": "Healthy"}))
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["traceparent"].startswith("00-")
        key = self.path + json.dumps(body, sort_keys=True)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 1:
            return self.say(503, "busy")
        sum = str(body["a"] + body["b"])
        if self.path == "/stream":
            events = [{"delta": part} for part in sum] + [{"done": True}]
            return self.say(200, "".join("data: %s\n\n" % json.dumps(e) for e in events), "text/event-stream")
        if self.path == "/invocations":
            assert self.headers["X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"]
        self.say(200, json.dumps({"output": {"text": sum}}))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Agent)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// A process that ends with its test.
struct FlakyAgent(Child);

impl Drop for FlakyAgent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn flaky_agent() -> (FlakyAgent, String) {
    use std::io::{BufRead as _, BufReader};
    let mut command = Command::new("python3");
    let mut child = command.args(["-c", FLAKY]).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    (FlakyAgent(child), format!("http://127.0.0.1:{}", port.trim()))
}

#[test]
fn http_targets_are_retried_after_faults_of_the_infrastructure() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = server(data.path()).start();
    add_items(&running, 12);
    let (_agent, url) = flaky_agent();
    let body = r#"{"a": {{input.a}}, "b": {{input.b}}}"#;
    for (name, target) in [
        (
            "http",
            format!(
                "kind = \"http\"\nurl = \"{url}/sum\"\nbody = '{body}'\noutput = \"$.output.text\""
            ),
        ),
        (
            "stream",
            format!("kind = \"http\"\nurl = \"{url}/stream\"\nstream = true\noutput = \"$.delta\""),
        ),
        (
            "agentcore",
            "kind = \"agentcore\"\nurl = { env = \"AGENT_URL\" }\noutput = \"$.output.text\""
                .to_owned(),
        ),
    ] {
        std::fs::write(folder.path().join("agent.toml"), target).unwrap();
        let mut args = run_args(folder.path());
        args.extend(["--run".to_owned(), name.to_owned()]);
        let run = crate::json(ask(&running, &words(&args)).env("AGENT_URL", &url));
        let counts = ["done", "faults", "calls"].map(|key| run[key].as_u64().unwrap());
        assert_eq!(counts, [12, 0, 24], "{name}: {run}");
        let shown = ask(&running, &["experiment", "show", name]).run();
        assert!(shown.stdout.contains("exact: 1.000 of 12 trials"), "{}", shown.stdout);
    }
    let compared = ask(&running, &["experiment", "compare", "http", "stream"]).run();
    assert!(
        compared.stdout.contains("12 scores of the same items, 12 of them equal"),
        "{}",
        compared.stdout
    );
}
