//! Experiments that a server runs by itself: targets of its operator, and stored ones.

use std::path::Path;

use ratchet_testkit::process::{PROJECT, Ratchet, Signal};
use ratchet_testkit::webhook_receiver::Inbox;
use ratchet_testkit::{http, wait};
use serde_json::{Value, json};

use crate::experiment_targets::agents_of;
use crate::{ask, server};

/// Writes a line per call, and answers with the sum.
const AGENT: &str = r#"
import json, os, select, sys
item = json.load(sys.stdin)
with open("calls.log", "a") as log:
    log.write(os.environ["RATCHET_EXPERIMENT_ITEM"] + "\n")
select.select([], [], [], float(os.environ.get("PAUSE", "0")))
print(item["a"] + item["b"])
"#;

const CONFIG: &str = r#"
[targets.sums]
kind = "command"
command = ["python3", "agent.py"]
concurrency = 2
[targets.sums.environments.slow.variables]
PAUSE = "0.15"
[targets.sums.environments.stuck.variables]
PAUSE = "600"

[targets.from-file]
file = "agent.toml"
"#;

const FILE: &str = "kind = \"command\"\ncommand = [\"python3\", \"agent.py\"]\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("agent.py", AGENT), ("ratchet.toml", CONFIG), ("agent.toml", FILE)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn start(data: &Path, folder: &Path) -> Ratchet {
    server(data).env("RATCHET_CONFIG", folder.join("ratchet.toml")).start()
}

fn send(running: &Ratchet, request: http::Request, status: u16) -> Value {
    let answer = running.send(request);
    assert_eq!(answer.status, status, "{}", answer.text());
    if answer.body.is_empty() { Value::Null } else { answer.json() }
}

fn add_items(running: &Ratchet, count: u64) {
    let body = json!({ "name": "sums" }).to_string();
    send(running, http::post("/api/public/v2/datasets").json(body), 200);
    for number in 0..count {
        let item = json!({
            "datasetName": "sums", "id": format!("item-{number}"),
            "input": { "a": number, "b": 1 }, "expectedOutput": (number + 1).to_string(),
        });
        send(running, http::post("/api/public/dataset-items").json(item.to_string()), 200);
    }
}

fn experiments(rest: &str) -> String {
    format!("/api/v1/projects/{PROJECT}/experiments{rest}")
}

fn targets(rest: &str) -> String {
    format!("/api/v1/projects/{PROJECT}/targets{rest}")
}

fn calls(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("calls.log")).unwrap_or_default().lines().count()
}

#[test]
fn a_command_starts_a_target_of_the_operator_by_name() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = start(data.path(), folder.path());
    add_items(&running, 6);
    for target in ["sums", "from-file"] {
        let args = ["experiment", "run", "--dataset", "sums", "--target", target, "--run", target];
        let run = crate::json(ask(&running, &args));
        assert_eq!(
            (&run["state"], &run["done"], &run["faults"]),
            (&json!("done"), &json!(6), &json!(0))
        );
        assert_eq!(run["target"]["onServer"], true, "{run}");
        let shown = ask(&running, &["experiment", "show", target]).run();
        assert!(shown.stdout.contains("exact: 1.000 of 6 trials"), "{}", shown.stdout);
    }
    let args = ["experiment", "run", "--dataset", "sums", "--target", "other"];
    let refused = crate::fails(ask(&running, &args), 1);
    assert!(refused.contains("target other (there are: from-file, sums)"), "{refused}");
    let args =
        ["experiment", "run", "--dataset", "sums", "--target", "sums", "--evaluator", "command:x"];
    let refused = crate::fails(ask(&running, &args), 1);
    assert!(refused.contains("[evaluators.commands]"), "{refused}");
}

#[test]
fn a_restarted_server_goes_on_and_a_cancelled_run_stops() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = start(data.path(), folder.path());
    add_items(&running, 30);
    let request = |run: &str| {
        let target = json!({ "name": "sums", "environment": "slow" });
        let body =
            json!({ "dataset": "sums", "run": run, "target": target, "evaluators": ["exact"] });
        http::post(&experiments("")).json(body.to_string())
    };
    let run = send(&running, request("killed"), 200);
    assert_eq!((&run["state"], &run["trials"]), (&json!("running"), &json!(30)), "{run}");
    wait::until("some calls", || calls(folder.path()) > 4);
    drop(running.kill_hard());
    let running = start(data.path(), folder.path());
    let show = |running: &Ratchet, run: &str| {
        send(running, http::get(&experiments(&format!("/{run}"))), 200)
    };
    wait::until("the run is done", || show(&running, "killed")["state"] == "done");
    let run = show(&running, "killed");
    assert_eq!((&run["done"], &run["faults"]), (&json!(30), &json!(0)), "{run}");
    let sent = calls(folder.path()) as u64;
    assert!((30..=32).contains(&sent), "{sent} calls: only those in flight are repeated");
    assert!(sent <= run["calls"].as_u64().unwrap(), "{run}");

    let before = calls(folder.path());
    send(&running, request("cancelled"), 200);
    wait::until("it began", || calls(folder.path()) > before);
    let cancelled = send(&running, http::post(&experiments("/cancelled/cancel")).json("{}"), 200);
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    running.signal(Signal::TERM);
    assert_eq!(running.wait().status.code(), Some(0));
    assert!(calls(folder.path()) < before + 30, "no further trial is handed out");
}

#[test]
fn programs_of_the_operator_are_started_by_keys_that_may_run_agents() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = start(data.path(), folder.path());
    add_items(&running, 2);
    let member = crate::json(ask(&running, &["keys", "create", "--role", "member"]));
    let [public, secret] = ["publicKey", "secretKey"].map(|half| member[half].as_str().unwrap());
    let as_member = |path: &str, body: Value, status: u16| {
        let request = http::post(path).json(body.to_string()).with_key(public, secret);
        let answer = http::send(running.address(), &request).unwrap();
        assert_eq!(answer.status, status, "{}", answer.text());
        answer.text()
    };
    let plan = |target: Value| json!({ "dataset": "sums", "run": "asked", "target": target, "evaluators": ["exact"] });
    let named = json!({ "name": "sums" });
    let claimed =
        json!({ "name": "sums", "kind": "command", "fingerprint": "x", "onServer": true });
    for target in [&named, &claimed] {
        let why = as_member(&experiments(""), plan(target.clone()), 403);
        assert!(why.contains("run agents on the server's machine"), "{why}");
    }
    assert_eq!(calls(folder.path()), 0);
    // A run that an owner started is not made longer, either.
    send(&running, http::post(&experiments("")).json(plan(named.clone()).to_string()), 200);
    as_member(&experiments("/asked/extend"), json!({ "repeats": 2 }), 403);
    crate::ok(ask(&running, &["keys", "grant", public, "chat"]));
    as_member(&experiments("/asked/extend"), json!({ "repeats": 2 }), 200);
    as_member(&experiments(""), plan(named), 200);
}

#[test]
fn a_command_ends_with_the_server_that_runs_it() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = start(data.path(), folder.path());
    let item = format!("stuck-{}", std::process::id());
    let body = json!({ "name": "sums" }).to_string();
    send(&running, http::post("/api/public/v2/datasets").json(body), 200);
    let body = json!({ "datasetName": "sums", "id": item, "input": { "a": 1, "b": 1 } });
    send(&running, http::post("/api/public/dataset-items").json(body.to_string()), 200);
    let target = json!({ "name": "sums", "environment": "stuck" });
    let plan = json!({ "dataset": "sums", "run": "stuck", "target": target, "evaluators": ["contains:x"] });
    send(&running, http::post(&experiments("")).json(plan.to_string()), 200);
    wait::until("the command is at work", || calls(folder.path()) == 1);
    assert!(agents_of(&item) > 0);
    drop(running.kill_hard());
    wait::until("the command is gone", || agents_of(&item) == 0);
}

#[test]
fn stored_targets_keep_their_secrets_and_obey_the_outbound_rule() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let agent = Inbox::start();
    let running = start(data.path(), folder.path());
    add_items(&running, 2);
    let put = |name: &str, definition: &str, secrets: Value| {
        let body = json!({ "definition": definition, "secrets": secrets });
        http::request("PUT", &targets(&format!("/{name}"))).json(body.to_string())
    };
    let definition = format!(
        "kind = \"http\"\nurl = \"{}\"\nretries = 0\n[headers]\nauthorization = {{ env = \"TOKEN\" }}\n",
        agent.url("/agent")
    );
    let why = send(&running, put("agent", &definition, json!({})), 400).to_string();
    assert!(why.contains("TOKEN has no value"), "{why}");
    let why = send(&running, put("agent", FILE, json!({})), 400).to_string();
    assert!(why.contains("[targets] in ratchet.toml"), "{why}");
    let why = send(&running, put("sums", &definition, json!({ "TOKEN": "x" })), 409).to_string();
    assert!(why.contains("operator"), "{why}");
    send(&running, put("agent", &definition, json!({ "TOKEN": "Bearer walnut" })), 200);
    // A changed definition keeps what was sealed.
    let kept = send(&running, put("agent", &definition, json!({})), 200);
    assert_eq!(kept["secrets"], json!(["TOKEN"]), "{kept}");
    // It goes nowhere else.
    let moved = definition.replace("/agent", "/other");
    let why = send(&running, put("agent", &moved, json!({})), 400).to_string();
    assert!(why.contains("required again when an address changes"), "{why}");
    let all = send(&running, http::get(&targets("")), 200);
    let names: Vec<&str> =
        all["targets"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["agent", "from-file", "sums"]);
    assert!(!all.to_string().contains("walnut"), "{all}");

    let args = ["experiment", "run", "--dataset", "sums", "--target", "agent", "--run", "stored"];
    // The receiver answers with no sum, which is no fault.
    let run = crate::json(ask(&running, &args));
    assert_eq!((&run["done"], &run["faults"]), (&json!(2), &json!(0)), "{run}");
    for _ in 0..2 {
        assert_eq!(agent.next().header("authorization"), "Bearer walnut");
    }
    running.signal(Signal::TERM);
    running.wait();

    // A server whose operator allows no private addresses.
    let strict = server(data.path()).env("RATCHET_OUTBOUND_ALLOW", "").start();
    let args = ["experiment", "run", "--dataset", "sums", "--target", "agent", "--run", "refused"];
    let refused = crate::fails(ask(&strict, &args), 1);
    assert!(refused.contains("outbound.allow"), "{refused}");
    send(&strict, http::request("DELETE", &targets("/agent")), 204);
    let refused = crate::fails(ask(&strict, &args), 1);
    assert!(refused.contains("target agent (there are: none)"), "{refused}");
}
