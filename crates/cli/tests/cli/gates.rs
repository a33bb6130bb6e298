//! Gates, as CI runs them: a real server, a real agent.

/// The command as it is promised, with an agent in Python.
mod contract;
/// The examples of the documentation, run.
mod documentation;
/// Killed gates that are continued.
mod interruption;
/// Gates that a judge decides, and their costs.
mod judges;
/// Critical items, baselines, messages.
mod rule;
/// Runs of Langfuse's SDKs.
mod recorded_runs;

use ratchet_testkit::http;
use ratchet_testkit::process::{Finished, Launch, Ratchet};
use serde_json::{Value, json};

use crate::{ask, fails, server};

/// Items of the dataset: enough that an unchanged agent passes.
const ITEMS: usize = 40;

/// The dataset of the examples in the documentation.
const DATASET: &str = "support";

/// An agent that doubles a number. It is wrong about those below `WRONG`, ends with an error below
/// `BROKEN`, and is wrong about `ONCE` the first time.
const AGENT: &str = r#"
IFS= read -r input
number=${input#*:}
number=${number%\}}
echo "$number" >> calls.log
if [ "$number" -lt "${BROKEN:-0}" ]; then
    echo "no answer" >&2
    exit 1
fi
if [ "$number" = "${ONCE:-}" ] && [ ! -e once ]; then
    touch once
    echo "no idea"
elif [ "$number" -lt "${WRONG:-0}" ] || [ "$number" = "${ALWAYS:-}" ]; then
    echo "no idea"
else
    echo "${SAYS:-twice is} $((2 * number))"
fi
"#;

struct Ci {
    running: Ratchet,
    folder: tempfile::TempDir,
    _data: tempfile::TempDir,
}

impl Ci {
    fn start() -> Self {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let running = server(data.path()).start();
        let made = running.send(
            http::post("/api/public/v2/datasets").json(json!({ "name": DATASET }).to_string()),
        );
        assert_eq!(made.status, 200, "{}", made.text());
        for number in 0..ITEMS {
            let item = json!({
                "datasetName": DATASET, "id": format!("item-{number:02}"),
                "input": { "n": number }, "expectedOutput": format!("twice is {}", 2 * number),
                "metadata": { "critical": number == ITEMS - 1 },
            });
            let made = running.send(http::post("/api/public/dataset-items").json(item.to_string()));
            assert_eq!(made.status, 200, "{}", made.text());
        }
        std::fs::write(folder.path().join("agent.sh"), AGENT).unwrap();
        let target = "kind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n";
        std::fs::write(folder.path().join("target.toml"), target).unwrap();
        Self { running, folder, _data: data }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn launch(&self, more: &[&str]) -> Launch {
        let target = self.file("target.toml");
        ask(&self.running, &["gate", "--dataset", DATASET, "--target", &target]).args(more)
    }

    /// Runs the gate with an agent that is wrong about some items.
    fn gate(&self, wrong: usize, more: &[&str]) -> (Option<i32>, Value, String) {
        ended(self.launch(more).env("WRONG", wrong.to_string()))
    }

    /// Calls of the agent so far.
    fn calls(&self) -> usize {
        let log = std::fs::read_to_string(self.file("calls.log")).unwrap_or_default();
        log.lines().count()
    }
}

/// Exit code, report, and all that it said.
fn ended(launch: Launch) -> (Option<i32>, Value, String) {
    let Finished { code, stdout, stderr } = launch.arg("--json").run();
    let report = serde_json::from_str(&stdout).unwrap_or(Value::Null);
    (code, report, format!("{stdout}\n{stderr}"))
}

#[test]
fn a_gate_passes_blocks_or_cannot_tell() {
    let ci = Ci::start();
    let (code, first, all) = ci.gate(2, &["--min-accuracy", "0.7"]);
    assert_eq!((code, first["verdict"].as_str()), (Some(0), Some("pass")), "{all}");
    assert_eq!((&first["difference"], &first["flips"]), (&Value::Null, &json!([])));
    assert_eq!(first["accuracy"]["value"], 0.95);
    assert_eq!(first["accuracy"]["n"], ITEMS, "items, not trials");
    let interval = first["accuracy"]["interval"].as_array().unwrap();
    assert!(interval[0].as_f64().unwrap() > 0.8 && interval[1].as_f64().unwrap() < 1.0);
    assert!(first.get("cost").is_some() && first["run"].is_string());
    let baseline = first["run"].as_str().unwrap();

    let (code, same, all) = ci.gate(2, &["--min-accuracy", "0.7", "--baseline", "production"]);
    assert_eq!((code, same["verdict"].as_str()), (Some(0), Some("pass")), "{all}");
    assert_eq!(same["baseline"], *baseline);
    assert_eq!(same["difference"]["value"], 0.0);

    let (code, worse, all) = ci.gate(14, &["--min-accuracy", "0.3", "--baseline", baseline]);
    assert_eq!((code, worse["verdict"].as_str()), (Some(3), Some("block")), "{all}");
    let flips = worse["flips"].as_array().unwrap();
    assert_eq!(flips.len(), 12);
    assert_eq!((&flips[0]["item"], &flips[0]["kind"]), (&json!("item-02"), &json!("regressed")));
    assert!(flips[0]["url"].as_str().unwrap().starts_with(ci.running.web()), "{}", flips[0]);

    let (code, below, all) = ci.gate(30, &["--min-accuracy", "0.7"]);
    assert_eq!((code, below["verdict"].as_str()), (Some(3), Some("block")), "{all}");
    let (code, unclear, all) = ci.gate(10, &["--min-accuracy", "0.7"]);
    assert_eq!((code, unclear["verdict"].as_str()), (Some(4), Some("inconclusive")), "{all}");
    assert!(unclear["itemsNeeded"].as_u64().unwrap() > 40, "{unclear}");

    pages_show(&ci.running, worse["id"].as_str().unwrap());
}

fn pages_show(running: &Ratchet, gate: &str) {
    let project = running.send(http::get("/api/public/projects")).json();
    let project = project["data"][0]["id"].as_str().unwrap().to_owned();
    let listed = running.send(http::get(&format!("/api/v1/projects/{project}/gates"))).json();
    assert_eq!(listed["total"], 5);
    let shown = running.send(http::get(&format!("/api/v1/projects/{project}/gates/{gate}"))).json();
    assert_eq!((&shown["verdict"], &shown["id"]), (&json!("block"), &json!(gate)));
}

#[test]
fn an_agent_that_cannot_run_is_no_verdict() {
    let ci = Ci::start();
    let target = ci.file("target.toml");
    let args = ["gate", "--dataset", DATASET, "--target", &target, "--min-accuracy", "0.5"];
    let broken = ask(&ci.running, &args).env("BROKEN", "5");
    let said = fails(broken, 1);
    assert!(said.contains("the target failed in 10 of 80 trials"), "{said}");
    // A few faults count as wrong and are listed apart.
    let Finished { code, stdout, stderr } =
        ask(&ci.running, &args).arg("--json").env("BROKEN", "2").run();
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &report["faults"]["trials"]), (Some(0), &json!(4)), "{stdout}\n{stderr}");
    assert_eq!(report["faults"]["items"], json!(["item-00", "item-01"]));
    assert_eq!(report["accuracy"]["value"], 0.95);
}

#[test]
fn the_same_run_after_a_broken_target_repeats_only_the_trials_without_an_answer() {
    let ci = Ci::start();
    let args = ["--run", "fixed", "--min-accuracy", "0.5", "--repeats", "1", "--no-extension"];
    let said = fails(ci.launch(&args).env("BROKEN", "5"), 1);
    assert!(said.contains("(item-00, item-01, item-02, item-03, item-04)"), "{said}");
    let before = ci.calls();
    let (code, report, all) = ended(ci.launch(&args));
    assert_eq!((code, &report["verdict"]), (Some(0), &json!("pass")), "{all}");
    assert_eq!((&report["faults"]["trials"], &report["accuracy"]["n"]), (&json!(0), &json!(40)));
    assert_eq!(ci.calls() - before, 5, "answered items are not called again");
    let (code, _, all) = ended(ci.launch(&args).env("BROKEN", "5"));
    assert_eq!((code, ci.calls() - before), (Some(0), 5), "it is done: {all}");
}

#[test]
fn a_project_without_a_dataset_is_told_how_to_make_one() {
    let ci = Ci::start();
    let args = ["gate", "--dataset", "none", "--run", "any", "--min-accuracy", "0.5"];
    let said = fails(ask(&ci.running, &args), 1);
    assert!(said.contains("there is no dataset \"none\"") && said.contains("CSV"), "{said}");
    let allowed = ask(&ci.running, &args).arg("--allow-no-dataset").run();
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);
    let empty = http::post("/api/public/v2/datasets").json(json!({ "name": "empty" }).to_string());
    assert_eq!(ci.running.send(empty).status, 200);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("agent.toml");
    std::fs::write(&target, "kind = \"command\"\ncommand = [\"true\"]\n").unwrap();
    let target = target.to_str().unwrap();
    let args = ["gate", "--dataset", "empty", "--min-accuracy", "0.5", "--target", target];
    let said = fails(ask(&ci.running, &args), 1);
    assert!(said.contains("no items in dataset \"empty\"") && said.contains("CSV"), "{said}");
    let allowed = ask(&ci.running, &args).arg("--allow-no-dataset").run();
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);
    // Wrong usage: nothing to decide by, a share in percent, neither run nor target.
    for wrong in [
        &["gate", "--dataset", DATASET, "--run", "x"][..],
        &["gate", "--dataset", DATASET, "--run", "x", "--min-accuracy", "70"],
        &["gate", "--dataset", DATASET, "--min-accuracy", "0.7"],
    ] {
        fails(ask(&ci.running, wrong), 2);
    }
}
