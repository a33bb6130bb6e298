//! Promotions, as CI and people make them: a real server, a real agent, a real deployment.

use std::path::Path;
use std::time::Instant;

use ratchet_testkit::http;
use ratchet_testkit::process::{Finished, PROJECT, Ratchet};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::supervision::{process_in, wait_until_gone};
use crate::{ask, fails, ok, server};

/// Items of the dataset: enough that an unchanged agent passes.
const ITEMS: usize = 40;
const DATASET: &str = "shop-eval-global";

/// An agent that doubles a number, and is wrong about those below `WRONG`.
const AGENT: &str = r#"
import json, os, sys
number = json.load(sys.stdin)["n"]
print("no idea" if number < int(os.environ.get("WRONG", "0")) else "twice is %d" % (2 * number))
"#;

const PASSED: &str =
    r#"<testsuite tests="2"><testcase name="get"/><testcase name="put"/></testsuite>"#;

struct Pipeline {
    running: Ratchet,
    folder: tempfile::TempDir,
    data: tempfile::TempDir,
}

impl Pipeline {
    /// A server whose operator has named a deployment, with an agent, its prompt and its dataset.
    fn start() -> Self {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let script = folder.path().join("deploy.py");
        let code = "import sys\nopen(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')\n";
        std::fs::write(&script, code).unwrap();
        let log = folder.path().join("deployed");
        let command = json!(["python3", script, log]).to_string();
        let settings = format!("[promotion]\ncommand = {command}\n");
        std::fs::write(data.path().join("ratchet.toml"), settings).unwrap();
        let running = server(data.path()).start();
        let pipeline = Self { running, folder, data };
        pipeline.post("/api/public/v2/datasets", &json!({ "name": DATASET }));
        for number in 0..ITEMS {
            let item = json!({
                "datasetName": DATASET, "id": format!("item-{number:02}"),
                "input": { "n": number }, "expectedOutput": format!("twice is {}", 2 * number),
            });
            pipeline.post("/api/public/dataset-items", &item);
        }
        for labels in [json!(["production"]), json!([]), json!([])] {
            let prompt = json!({ "name": "shop", "prompt": "Double it.", "labels": labels });
            pipeline.post("/api/public/v2/prompts", &prompt);
        }
        std::fs::write(pipeline.file("agent.py"), AGENT).unwrap();
        std::fs::write(pipeline.file("junit.xml"), PASSED).unwrap();
        let target = "kind = \"command\"\ncommand = [\"python3\", \"agent.py\"]\n";
        std::fs::write(pipeline.file("target.toml"), target).unwrap();
        pipeline
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.running.send(http::post(path).json(body.to_string()));
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
        answer.json()
    }

    /// The same after the server was killed and started again.
    fn killed(self) -> Self {
        let Self { running, folder, data } = self;
        drop(running.kill_hard());
        Self { running: server(data.path()).start(), folder, data }
    }

    /// Lines that a deployment has written.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// A promotion with all evidence, approved.
    fn approved(&self, prompt: &str) -> String {
        let id = self.promotion(prompt);
        let gate = self.gate(0);
        let gate = gate["id"].as_str().unwrap();
        self.ratchet(&["promote", "evidence", &id, "--gate", gate]);
        ok(ask(&self.running, &["promote", "approve", &id, "--review"]));
        self.ratchet(&["promote", "approve", &id]);
        id
    }

    /// Entries of the audit log of a promotion that name a change of its state.
    fn changes(&self, id: &str, state: &str) -> usize {
        let found = self.ratchet(&["audit", "--what", "promotion", "--limit", "100"]).to_string();
        let arrow = format!("→ {state}");
        assert!(found.contains(id), "{found}");
        found.matches(&arrow).count()
    }

    /// Output of `ratchet …` as JSON.
    #[track_caller]
    fn ratchet(&self, args: &[&str]) -> Value {
        serde_json::from_str(&ok(ask(&self.running, args).arg("--json"))).unwrap()
    }

    /// The version that the API gives SDKs.
    fn production(&self) -> u64 {
        let found = self.running.send(http::get("/api/public/v2/prompts/shop?label=production"));
        found.json()["version"].as_u64().unwrap()
    }

    /// Runs the gate, and returns its id.
    fn gate(&self, wrong: usize) -> Value {
        let target = self.file("target.toml");
        let args = ["gate", "--dataset", DATASET, "--target", &target, "--evaluator", "exact"];
        let more = ["--min-accuracy", "0.7", "--baseline", "production", "--json"];
        let launch = ask(&self.running, &args).args(more).env("WRONG", wrong.to_string());
        let Finished { stdout, stderr, .. } = launch.run();
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}\n{stderr}"))
    }

    /// Creates a promotion of a prompt version with passed tool tests.
    fn promotion(&self, prompt: &str) -> String {
        let junit = self.file("junit.xml");
        let made = self.ratchet(&[
            "promote", "evidence", "--agent", "shop", "--prompt", prompt, "--tools", "c0ffee",
            "--junit", &junit,
        ]);
        made["id"].as_str().unwrap().to_owned()
    }

    fn state(&self, id: &str) -> Value {
        self.ratchet(&["promote", "status", id])["state"].clone()
    }

    /// People say that answers of a run were wrong indeed.
    fn give_verdicts(&self, promotion: &Value) {
        let config = json!({ "name": "correctness", "dataType": "NUMERIC" });
        let config = self.post("/api/public/score-configs", &config);
        for open in promotion["evidence"]["verdicts"]["open"].as_array().unwrap() {
            let trace = open["trace"].as_str().unwrap();
            let body = json!({
                "id": format!("person-{trace}"), "traceId": trace, "name": "correctness",
                "value": 0, "source": "ANNOTATION", "configId": config["id"],
            });
            let event = json!({
                "id": format!("event-{trace}"), "type": "score-create", "body": body,
                "timestamp": "2026-11-15T11:00:00Z",
            });
            let sent = self.post("/api/public/ingestion", &json!({ "batch": [event] }));
            assert_eq!(sent["errors"], json!([]));
        }
    }
}

#[test]
fn nothing_reaches_production_without_evidence_and_going_back_is_one_command() {
    let pipeline = Pipeline::start();
    pipeline.ratchet(&[
        "agents",
        "set",
        "shop",
        "--promotion-required",
        "true",
        "--promotion-prompt",
        "shop",
        "--promotion-deploys",
        "true",
    ]);
    // With a policy the label does not move by hand.
    let patch = http::request("PATCH", "/api/public/v2/prompts/shop/versions/2");
    let by_hand =
        pipeline.running.send(patch.json(json!({ "newLabels": ["production"] }).to_string()));
    assert_eq!(by_hand.status, 409);
    assert!(by_hand.text().contains("only by promotion or rollback"), "{}", by_hand.text());

    let id = pipeline.promotion("shop=2");
    let said = fails(ask(&pipeline.running, &["promote", "start", &id]), 1);
    assert!(said.contains("Accuracy gate passed") && said.contains("ratchet gate"), "{said}");
    let gate = pipeline.gate(2);
    assert_eq!(gate["verdict"], "pass", "{gate}");
    let gate = gate["id"].as_str().unwrap();
    let shown = pipeline.ratchet(&["promote", "evidence", &id, "--gate", gate]);
    assert_eq!(shown["evidence"]["verdicts"]["openCount"], 2, "{shown}");
    let said = fails(ask(&pipeline.running, &["promote", "approve", &id]), 1);
    assert!(said.contains("Judge errors corrected"), "{said}");
    pipeline.give_verdicts(&shown);
    ok(ask(&pipeline.running, &["promote", "approve", &id, "--review"]));
    let approved = pipeline.ratchet(&["promote", "approve", &id]);
    assert_eq!(approved["state"], "approved", "{approved}");
    assert_eq!(pipeline.production(), 1);

    ok(ask(&pipeline.running, &["promote", "start", &id]));
    wait::until("the promotion is live", || pipeline.state(&id) == "live");
    assert_eq!(pipeline.production(), 2);
    let deployed = std::fs::read_to_string(pipeline.file("deployed")).unwrap();
    let order: Value = serde_json::from_str(deployed.trim()).unwrap();
    assert_eq!((&order["content"]["tools"], &order["agent"]), (&json!("c0ffee"), &json!("shop")));
    pages_show(&pipeline, &id);

    // The next gate compares with the promoted run, whatever passed since.
    let next = pipeline.gate(2);
    assert_eq!(next["baseline"], shown["evidence"]["gate"]["runName"], "{next}");

    let started = Instant::now();
    let path = format!("/api/v1/projects/{PROJECT}/promotions/{id}/actions");
    let back = pipeline.post(&path, &json!({ "action": "rollback", "reason": "too slow" }));
    let took = started.elapsed();
    assert_eq!(back["state"], "rolled-back");
    assert_eq!(pipeline.production(), 1, "after {took:?}");
    println!("rollback took {took:?}");
}

#[test]
fn a_changed_dataset_voids_evidence_and_an_inconclusive_gate_needs_a_reason() {
    let pipeline = Pipeline::start();
    pipeline.ratchet(&["agents", "set", "shop", "--owner", "ann@example.com"]);
    let id = pipeline.promotion("shop=2");
    let unclear = pipeline.gate(10);
    assert_eq!(unclear["verdict"], "inconclusive", "{unclear}");
    let gate = unclear["id"].as_str().unwrap();
    let shown = pipeline.ratchet(&["promote", "evidence", &id, "--gate", gate]);
    assert_eq!(shown["state"], "review");
    // A key is nobody's name.
    let said = fails(ask(&pipeline.running, &["promote", "approve", &id, "--waive", "by hand"]), 1);
    assert!(said.contains("ann@example.com"), "{said}");
    pipeline.ratchet(&["agents", "set", "shop", "--owner", ratchet_testkit::process::PUBLIC_KEY]);
    let waived = pipeline.ratchet(&["promote", "approve", &id, "--waive", "looked at by hand"]);
    let criteria = waived["criteria"].to_string();
    assert!(criteria.contains("waived: looked at by hand"), "{criteria}");

    let item = json!({
        "datasetName": DATASET, "id": "one-more", "input": { "n": 99 }, "expectedOutput": "x",
    });
    pipeline.post("/api/public/dataset-items", &item);
    let said = fails(ask(&pipeline.running, &["promote", "start", &id]), 1);
    assert!(said.contains("no gate on this version yet"), "{said}");
    let said = fails(ask(&pipeline.running, &["promote", "evidence", &id, "--gate", gate]), 1);
    assert!(said.contains("changed since its run"), "{said}");
    let blocked = pipeline.gate(30);
    assert_eq!(blocked["verdict"], "block", "{blocked}");
}

#[test]
fn a_deployment_ends_with_a_server_that_is_killed_and_readers_do_not_see_what_it_printed() {
    let pipeline = Pipeline::start();
    pipeline.ratchet(&["agents", "set", "shop", "--promotion-deploys", "true"]);
    let id = pipeline.approved("shop=2");
    let code = "import sys\nprint('the key is hunter2', file=sys.stderr)\nsys.exit(3)\n";
    std::fs::write(pipeline.file("deploy.py"), code).unwrap();
    ok(ask(&pipeline.running, &["promote", "start", &id]));
    pipeline.running.wait_for_log("the key is hunter2");
    let shown = || {
        let project = format!("/api/v1/projects/{PROJECT}");
        let paths = [format!("{project}/promotions/{id}"), format!("{project}/jobs")];
        paths.map(|path| pipeline.running.send(http::get(&path)).text()).concat()
    };
    wait::until("the attempt is noted", || shown().contains("exit status: 3"));
    assert!(!shown().contains("hunter2"), "{}", shown());

    let process = pipeline.file("process");
    let code = format!(
        "import os, signal\nprint(os.getpid(), file=open({process:?}, 'w'), flush=True)\n\
         signal.pause()\n"
    );
    std::fs::write(pipeline.file("deploy.py"), code).unwrap();
    let process = process_in(Path::new(&process));
    drop(pipeline.running.kill_hard());
    wait_until_gone(&process);
}

#[test]
fn an_ab_test_is_started_shown_and_stopped_from_the_command_line() {
    let pipeline = Pipeline::start();
    ok(ask(&pipeline.running, &["agents", "set", "shop"]));
    let start = ["ab", "start", "shop", "--candidate", "next", "--agent", "shop", "--share", "30"];
    let said = fails(ask(&pipeline.running, &start), 1);
    assert!(said.contains("no version of prompt shop has the label next"), "{said}");
    let patch = http::request("PATCH", "/api/public/v2/prompts/shop/versions/2");
    let moved = pipeline.running.send(patch.json(json!({ "newLabels": ["next"] }).to_string()));
    assert_eq!(moved.status, 200, "{}", moved.text());
    let test = pipeline.ratchet(&start);
    assert_eq!((&test["state"], &test["candidateVersion"]), (&json!("running"), &json!(2)));
    let id = test["id"].as_str().unwrap();
    let said = fails(ask(&pipeline.running, &start), 1);
    assert!(said.contains("has a running A/B test"), "{said}");

    let given = pipeline.ratchet(&["ab", "assign", "shop", "user-17"]);
    assert_eq!(given["test"], id);
    let same = pipeline.ratchet(&["ab", "assign", "shop", "user-17"]);
    assert_eq!(given, same, "a user keeps the arm");
    let shown = ok(ask(&pipeline.running, &["ab", "look", id]));
    for words in ["control", "candidate", "30%", "valid at any time", "ends with harm"] {
        assert!(shown.contains(words), "{shown}");
    }
    assert_eq!(pipeline.ratchet(&["ab", "list"])["total"], 1);
    let said = fails(ask(&pipeline.running, &["ab", "promote", id]), 1);
    assert!(said.contains("has no winner"), "{said}");
    let stopped = pipeline.ratchet(&["ab", "stop", id, "--reason", "seen enough"]);
    assert_eq!(
        (&stopped["state"], &stopped["outcome"]),
        (&json!("stopped"), &json!("seen enough"))
    );
    let after = ok(ask(&pipeline.running, &["ab", "assign", "shop", "user-17"]));
    assert!(after.contains("no A/B test runs"), "{after}");
}

/// Waits until it may go on, and deploys each order once by its idempotency key. It tells the server of
/// its success at the second time only.
const DEPLOY: &str = r#"
import json, os, signal, sys
folder = sys.argv[1]
key = json.load(sys.stdin)["idempotencyKey"]
def note(name, line):
    with open(f"{folder}/{name}", "a") as file:
        file.write(line + "\n")
def known(name):
    return os.path.exists(f"{folder}/{name}") and open(f"{folder}/{name}").read().split()
note("attempts", key)
if not os.path.exists(f"{folder}/open"):
    signal.pause()
if key not in (known("deployed-keys") or []):
    note("deployed-keys", key)
    signal.pause()
"#;

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_deployment_finishes_it_once_or_not_at_all() {
    let pipeline = Pipeline::start();
    pipeline.ratchet(&["agents", "set", "shop", "--promotion-deploys", "true"]);
    let id = pipeline.approved("shop=2");
    let folder = pipeline.folder.path().display().to_string();
    let call = format!("import sys\nsys.argv[1:] = [{folder:?}]\n");
    std::fs::write(pipeline.file("deploy.py"), call + DEPLOY).unwrap();

    // Killed before the deployment is done: production is as it was, now and after the restart.
    ok(ask(&pipeline.running, &["promote", "start", &id]));
    wait::until("the deployment runs", || pipeline.lines("attempts").len() == 1);
    assert_eq!(pipeline.production(), 1, "the label moves last");
    let pipeline = pipeline.killed();
    wait::until("it is repeated", || pipeline.lines("attempts").len() == 2);
    assert_eq!((pipeline.state(&id), pipeline.production()), (json!("deploying"), 1));

    // Killed after it is done and before the server knows: the next one finds out and moves the label.
    std::fs::write(pipeline.file("open"), "").unwrap();
    let pipeline = pipeline.killed();
    wait::until("it is deployed", || pipeline.lines("deployed-keys").len() == 1);
    let pipeline = pipeline.killed();
    wait::until("the promotion is live", || pipeline.state(&id) == "live");
    assert_eq!(pipeline.production(), 2);
    let key = format!("{id}-1");
    assert_eq!(pipeline.lines("deployed-keys"), [key.as_str()]);
    assert!(pipeline.lines("attempts").iter().all(|attempt| *attempt == key));
    assert_eq!((pipeline.changes(&id, "deploying"), pipeline.changes(&id, "live")), (1, 1));

    // Nothing is left to repeat.
    let attempts = pipeline.lines("attempts").len();
    let pipeline = pipeline.killed();
    assert_eq!((pipeline.state(&id), pipeline.production()), (json!("live"), 2));
    let jobs = pipeline.ratchet(&["jobs", "list"]).to_string();
    assert!(!jobs.contains("deployment") || !jobs.contains("queued"), "{jobs}");
    assert_eq!(pipeline.lines("attempts").len(), attempts);
}

/// Pages show the promotion to people, with what can be done.
fn pages_show(pipeline: &Pipeline, id: &str) {
    let open = |path: &str| {
        let answer = pipeline.running.send(http::get(path).host("localhost"));
        (answer.status, answer.text())
    };
    let (status, _) = open(&format!("/project/{PROJECT}/promotions/{id}"));
    // The server has sign-in: the page exists, and asks for it.
    assert!(status == 401 || status == 303 || status == 200, "{status}");
    let listed = pipeline.ratchet(&["promote", "status", "--agent", "shop"]);
    assert_eq!(listed["serving"][0]["environment"], "production");
    assert_eq!(listed["serving"][0]["promotion"], id);
    assert!(Path::new(&pipeline.file("deployed")).exists());
}
