//! Calls of targets: environments, time-outs, faults, the cache, and which items are run.

use std::path::Path;

use ratchet_testkit::http;
use ratchet_testkit::process::{Launch, Ratchet};
use ratchet_testkit::webhook_receiver::{Inbox, InboxAnswer};
use serde_json::{Value, json};

use crate::{ask, server};

const DATASET: &str = "calls";

struct Lab {
    running: Ratchet,
    folder: tempfile::TempDir,
    _data: tempfile::TempDir,
}

impl Lab {
    /// A server with items whose right answer is empty, as that of an [`Inbox`].
    fn new(items: usize) -> Self {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let running = server(data.path()).start();
        let lab = Self { running, folder, _data: data };
        lab.post("/api/public/v2/datasets", &json!({ "name": DATASET }));
        for number in 0..items {
            let split = if number % 2 == 0 { "test" } else { "train" };
            let item = json!({
                "datasetName": DATASET, "id": format!("item-{number}"), "input": "hello",
                "expectedOutput": "", "metadata": { "split": split },
            });
            lab.post("/api/public/dataset-items", &item);
        }
        lab
    }

    fn post(&self, path: &str, body: &Value) {
        let answer = self.running.send(http::post(path).json(body.to_string()));
        assert!(answer.status < 300, "{}", answer.text());
    }

    fn command(&self, verb: &[&str], target: &str) -> Launch {
        let file = self.folder.path().join("agent.toml");
        std::fs::write(&file, target).unwrap();
        let launch = ask(&self.running, verb).args(["--dataset", DATASET]);
        launch.arg("--target").arg(file).env("BETA_TOKEN", "of beta").env("PROD_TOKEN", "of prod")
    }

    fn run(&self, target: &str, more: &[&str]) -> Value {
        crate::json(self.command(&["experiment", "run"], target).args(more))
    }
}

fn with_tokens(inbox: &Inbox) -> String {
    format!(
        "kind = \"http\"\nurl = \"{}\"\nheaders = {{ x-token = {{ env = \"TOKEN\" }} }}\n\
         [environments.beta.variables]\nTOKEN = {{ env = \"BETA_TOKEN\" }}\n\
         [environments.prod.variables]\nTOKEN = {{ env = \"PROD_TOKEN\" }}\n",
        inbox.url("agent")
    )
}

#[test]
fn each_environment_has_its_own_credentials() {
    let (lab, inbox) = (Lab::new(1), Inbox::start());
    let target = with_tokens(&inbox);
    for (name, token) in [("beta", "of beta"), ("prod", "of prod")] {
        let run = lab.run(&target, &["--environment", name]);
        assert_eq!((&run["done"], &run["faults"]), (&json!(1), &json!(0)), "{run}");
        assert_eq!(inbox.next().header("x-token"), token);
    }
    let none = lab.command(&["experiment", "run"], &target).run();
    assert!(none.stderr.contains("TOKEN is not set"), "{}", none.stderr);
}

#[test]
fn a_gate_calls_an_http_agent_in_its_environment() {
    let (lab, inbox) = (Lab::new(30), Inbox::start());
    let gate = lab.command(&["gate"], &with_tokens(&inbox));
    let gate = gate.args(["--environment", "beta", "--min-accuracy", "0.7", "--repeats", "1"]);
    let report = crate::json(gate.arg("--no-extension"));
    assert_eq!((&report["verdict"], &report["accuracy"]["n"]), (&json!("pass"), &json!(30)));
    assert_eq!(inbox.next().header("x-token"), "of beta");
}

#[test]
fn time_outs_are_tried_again_and_refusals_are_not() {
    let (lab, inbox) = (Lab::new(1), Inbox::start());
    let target = |more: &str| format!("kind = \"http\"\nurl = \"{}\"\n{more}", inbox.url("agent"));
    inbox.answer([InboxAnswer::Silence]);
    let run = lab.run(&target("timeout_seconds = 1\n"), &["--run", "silent"]);
    assert_eq!((&run["calls"], &run["faults"]), (&json!(2), &json!(0)), "{run}");
    inbox.answer([InboxAnswer::Status(400)]);
    let refused = lab.command(&["experiment", "run"], &target("")).args(["--run", "refused"]).run();
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let shown = crate::json(ask(&lab.running, &["experiment", "show", "refused"]));
    assert_eq!(shown["experiment"]["calls"], 1, "{shown}");
    assert!(shown["trials"][0]["fault"].as_str().unwrap().contains("400"), "{shown}");
}

#[test]
fn a_command_that_does_not_end_is_stopped_at_its_time_out() {
    let lab = Lab::new(1);
    let target = "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"tail -f /dev/null\"]\n\
                  timeout_seconds = 1\nretries = 1\n";
    let ended = lab.command(&["experiment", "run"], target).args(["--run", "stuck"]).run();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let shown = crate::json(ask(&lab.running, &["experiment", "show", "stuck"]));
    assert_eq!(shown["experiment"]["calls"], 2, "{shown}");
    assert!(shown["trials"][0]["fault"].as_str().unwrap().contains("1 s"), "{shown}");
}

fn calls(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("calls.log")).unwrap_or_default().lines().count()
}

const LOGGED: &str = "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"echo >> calls.log\"]\n";

#[test]
fn answers_of_one_version_are_used_again() {
    let (lab, first) = (Lab::new(3), format!("{LOGGED}version = \"1\"\n"));
    let run = lab.run(&first, &["--cache", "--run", "a"]);
    assert_eq!(
        (&run["calls"], &run["cached"], calls(lab.folder.path())),
        (&json!(3), &json!(0), 3)
    );
    let run = lab.run(&first, &["--cache", "--run", "b"]);
    assert_eq!(
        (&run["calls"], &run["cached"], calls(lab.folder.path())),
        (&json!(0), &json!(3), 3)
    );
    assert_eq!(run["summary"]["scores"][0]["mean"], 1.0, "cached answers are judged: {run}");
    let next = format!("{LOGGED}version = \"2\"\n");
    let run = lab.run(&next, &["--cache", "--run", "c"]);
    assert_eq!((&run["calls"], &run["cached"]), (&json!(3), &json!(0)), "another version: {run}");
    let unnamed = lab.command(&["experiment", "run"], LOGGED).arg("--cache").run();
    assert!(unnamed.stderr.contains("needs a target with a version"), "{}", unnamed.stderr);
}

#[test]
fn filters_and_limits_choose_items() {
    let lab = Lab::new(6);
    let run =
        lab.run(LOGGED, &["--run", "some", "--filter", "metadata.split=test", "--limit", "2"]);
    assert_eq!(run["trials"], 2, "{run}");
    let shown = crate::json(ask(&lab.running, &["experiment", "show", "some"]));
    let items = [0, 1].map(|at| shown["trials"][at]["item"].clone());
    assert_eq!(items, [json!("item-0"), json!("item-2")]);
    let wrong = lab.command(&["experiment", "run"], LOGGED).args(["--filter", "split"]).run();
    assert!(wrong.code != Some(0) && wrong.stderr.contains("filter"), "{}", wrong.stderr);
}
