use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::process::{Child, Stdio};
use std::time::Duration;

use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::{http, soak, wait};
use serde_json::{Value, json};

use super::{Ci, DATASET, ended};

/// Kills in `make test` and in `make soak`.
const KILLS: (usize, usize) = (3, 20);
/// Calls at a time.
const AT_ONCE: usize = 2;

/// Is right about half of the numbers, and about a fifth of them only every second time: the planned
/// repeats do not decide.
const UNSTEADY: &str = r#"
IFS= read -r input
number=${input#*:}
number=${number%\}}
echo "$number $TRACEPARENT" >> calls.log
sleep 0.03
case $((number % 5)) in
    0) if [ $(grep -c "^$number " calls.log) -gt 1 ]; then echo "no idea"; else echo "twice is $((2 * number))"; fi ;;
    1) echo "no idea" ;;
    *) echo "twice is $((2 * number))" ;;
esac
"#;

const TARGET: &str = "kind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\nconcurrency = 2\n";

/// Calls by item.
fn calls(ci: &Ci) -> BTreeMap<String, usize> {
    let log = std::fs::read_to_string(ci.file("calls.log")).unwrap_or_default();
    let mut calls = BTreeMap::new();
    for item in log.lines().filter_map(|line| line.split(' ').next()) {
        *calls.entry(item.to_owned()).or_default() += 1;
    }
    calls
}

fn start(ci: &Ci, args: &[&str]) -> Child {
    let (mut command, home) = ci.launch(args).into_parts();
    let log = OpenOptions::new().create(true).append(true).open(ci.file("stderr.log")).unwrap();
    let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
    // The home folder must outlive the process.
    std::mem::forget(home);
    child
}

/// A gate that is killed at random moments, in its planned repeats and in its extension, and
/// continued by the same command.
#[test]
fn a_killed_gate_repeats_no_finished_call_and_loses_none() {
    let mut chance = SeededRandom::from_environment("gates");
    let kills = soak::scaled(KILLS.0, KILLS.1);
    let ci = Ci::start();
    std::fs::write(ci.file("agent.sh"), UNSTEADY).unwrap();
    std::fs::write(ci.file("target.toml"), TARGET).unwrap();
    let repeats = soak::scaled(1_usize, 4);
    let trials = super::ITEMS * repeats * 2;
    let repeats = repeats.to_string();
    let args = ["--run", "killed", "--min-accuracy", "0.7", "--repeats", &repeats];
    let mut killed = 0;
    for nth in 1..=kills {
        // Spread over the whole run.
        let enough = trials * nth / (kills + 1);
        let mut child = start(&ci, &args);
        wait::until("calls", || {
            let log = || std::fs::read_to_string(ci.file("stderr.log")).unwrap();
            assert_eq!(child.try_wait().unwrap(), None, "it ended too early: {}", log());
            calls(&ci).values().sum::<usize>() >= enough
        });
        // The random moment itself; nothing is waited for.
        std::thread::park_timeout(chance.wait(Duration::from_millis(60)));
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
    }
    let (code, report, all) = ended(ci.launch(&args));
    assert_eq!((code, &report["verdict"]), (Some(4), &json!("inconclusive")), "{all}");
    assert_eq!(report["look"], "second", "{report}");
    assert!(killed > 0);
    let sent: usize = calls(&ci).values().sum();
    assert!(sent >= trials, "{sent} of {trials} calls: none is lost");
    assert!(sent <= trials + kills * AT_ONCE, "{sent} calls: only those in flight are repeated");
    let run = run(&ci, "killed");
    assert_eq!((&run["trials"], &run["done"]), (&json!(trials), &json!(trials)), "{run}");
    let counted = usize::try_from(run["calls"].as_u64().unwrap()).unwrap();
    assert!(
        sent <= counted && counted <= trials + kills * AT_ONCE,
        "{sent} sent, {counted} counted"
    );
    // Once more: nothing is left to call, and the decision is the same.
    let (code, again, all) = ended(ci.launch(&args));
    assert_eq!((code, &again["accuracy"]), (Some(4), &report["accuracy"]), "{all}");
    assert_eq!(calls(&ci).values().sum::<usize>(), sent);
}

fn run(ci: &Ci, name: &str) -> Value {
    let project = ci.running.send(http::get("/api/public/projects")).json();
    let project = project["data"][0]["id"].as_str().unwrap().to_owned();
    ci.running.send(http::get(&format!("/api/v1/projects/{project}/experiments/{name}"))).json()
}

/// Ctrl-C ends after the calls in progress, and the same command goes on.
#[test]
fn an_interrupted_gate_goes_on() {
    let ci = Ci::start();
    std::fs::write(ci.file("agent.sh"), UNSTEADY).unwrap();
    std::fs::write(ci.file("target.toml"), TARGET).unwrap();
    let args = ["--run", "pr-7", "--min-accuracy", "0.2", "--repeats", "1"];
    let mut child = start(&ci, &args);
    wait::until("calls", || calls(&ci).len() > 4);
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(wait::exit("the gate", &mut child).code(), Some(130));
    let before = calls(&ci).len();
    assert!(before < super::ITEMS);
    let (code, report, all) = ended(ci.launch(&args));
    assert_eq!((code, &report["run"]), (Some(0), &json!("pr-7")), "{all}");
    assert_eq!(calls(&ci).values().sum::<usize>(), super::ITEMS, "no call is repeated");
}

/// Without a server: the data folder itself.
#[test]
fn a_gate_on_a_data_folder_needs_no_server() {
    let Ci { running, folder, _data: data } = Ci::start();
    drop(running.kill_hard());
    let target = folder.path().join("target.toml").display().to_string();
    let args =
        ["gate", "--dataset", DATASET, "--target", &target, "--min-accuracy", "0.7", "--data"];
    let gate = || crate::ratchet(&args).arg(data.path()).args(["--repeats", "1", "--run", "local"]);
    for _ in 0..2 {
        let (code, report, all) = ended(gate().env("WRONG", "2"));
        assert_eq!((code, &report["verdict"]), (Some(0), &json!("pass")), "{all}");
    }
    let log = std::fs::read_to_string(folder.path().join("calls.log")).unwrap();
    assert_eq!(log.lines().count(), super::ITEMS, "a run that is done is not run again");
}
