//! People label sessions, and the judge is held against them: in a folder, and on a server.

mod models;
/// Overrides of the offline judge's signals.
mod signals;
mod success;
/// The panel, week by week.
mod weekly;

use std::path::Path;

use ratchet_testkit::process::{Finished, Launch};
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::Value;

use crate::score::sessions::{Story, folder_of, tell};
use crate::{ask, ratchet, server};

const STORIES: [Story; 6] = [
    Story::new("a", 4),
    Story { fails: true, ..Story::new("b", 4) },
    Story::new("c", 5),
    Story { fails: true, ..Story::new("d", 6) },
    Story::new("e", 3),
    Story { fails: true, ..Story::new("f", 3) },
];

/// What ada thinks of the stories: where tools failed, so did the task.
const TABLE: &str = "session_id,labeled_by,why,task_completion,tool_mastery\n\
    a,ada,fine,complete,0.9\n\
    b,ada,\"it failed, badly\",failed,0.1\n\
    c,ada,fine,complete,0.8\n\
    d,ada,=it failed,failed,0.2\n\
    e,ada,fine,exceeded,1\n\
    f,ada,the user gave up,failed,0\n\
    a,bob,fine,complete,0.8\n\
    b,bob,no,failed,0.2\n";

fn on(data: &Path, args: &[&str]) -> Launch {
    ratchet(args).arg("--data").arg(data)
}

#[track_caller]
fn run(launch: Launch, expected_code: i32) -> String {
    let Finished { code, stdout, stderr } = launch.run();
    assert_eq!(code, Some(expected_code), "stdout: {stdout}\nstderr: {stderr}");
    stdout
}

/// The report of `ratchet calibrate`, whatever it found.
#[track_caller]
fn calibrated(launch: Launch) -> Value {
    let Finished { code, stdout, stderr } = launch.arg("--json").run();
    assert!(matches!(code, Some(0 | 3)), "stdout: {stdout}\nstderr: {stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error} in: {stdout}"))
}

fn table(folder: &Path) -> String {
    let file = folder.join("labels.csv");
    std::fs::write(&file, TABLE).unwrap();
    file.display().to_string()
}

fn labelled() -> tempfile::TempDir {
    let data = folder_of(&STORIES);
    run(on(data.path(), &["score", "--days", "36500"]), 0);
    let elsewhere = tempfile::tempdir().unwrap();
    run(on(data.path(), &["label", "import", &table(elsewhere.path())]), 0);
    data
}

/// As many labelled sessions as a panel has. A judge's drift is not known from fewer.
fn panel_folder() -> tempfile::TempDir {
    const IDS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let data = folder_of(&IDS.map(|id| Story { fails: id > "f", ..Story::new(id, 3) }));
    let elsewhere = tempfile::tempdir().unwrap();
    let labels: String = IDS.iter().map(|id| format!("{id},ada,fine,complete\n")).collect();
    let file = elsewhere.path().join("labels.csv");
    std::fs::write(&file, format!("session_id,labeled_by,why,task_completion\n{labels}")).unwrap();
    run(on(data.path(), &["label", "import", file.to_str().unwrap()]), 0);
    data
}

#[test]
fn labels_go_in_and_out_as_a_table() {
    let data = labelled();
    let out = run(on(data.path(), &["label", "export", "-"]), 0);
    assert_eq!(out.lines().count(), 9, "{out}");
    assert!(out.contains("'=it failed"), "no spreadsheet runs it: {out}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("again.csv");
    std::fs::write(&file, &out).unwrap();
    let again = on(data.path(), &["label", "import", file.to_str().unwrap()]);
    assert_eq!(run(again, 0), "8 labels saved in the dataset ground-truth\n");
    assert_eq!(run(on(data.path(), &["label", "export", "-"]), 0), out, "the same labels again");
    std::fs::write(&file, "session_id,tool_mastery\r\na,0.5\r\nb,7\r\n").unwrap();
    let refused = on(data.path(), &["label", "import", file.to_str().unwrap()]).run();
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("line 3: tool_mastery must be a number from 0 to 1"),
        "{}",
        refused.stderr
    );
    assert_eq!(run(on(data.path(), &["label", "export", "-"]), 0), out, "nothing was kept");
}

#[test]
fn a_sample_is_labelled_in_a_pipe_and_the_judge_is_shown_after() {
    let data = folder_of(&STORIES);
    let none = run(on(data.path(), &["label", "--by", "eve"]).typing(""), 0);
    assert!(none.contains("No scored sessions in this time range"), "{none}");
    run(on(data.path(), &["score", "--days", "36500"]), 0);
    let typed = "complete\n0.7\n\n-\n\n\nall done\nq\n";
    let asked = ["label", "--by", "eve", "--days", "36500", "--size", "4"];
    let output = run(on(data.path(), &asked).typing(typed), 0);
    assert!(output.contains("(1 of 4)") && output.contains("Task: Please do step 0"), "{output}");
    let (before, after) = output.split_once("Saved. Judge scores:").unwrap();
    assert!(!before.contains("JUDGE") && after.contains("RATIONALE"), "{output}");
    assert!(output.ends_with("1 label saved in the dataset ground-truth\n"), "{output}");
    let next = run(on(data.path(), &asked).typing(""), 0);
    assert!(next.contains("(1 of 3)"), "what is labelled does not come again: {next}");
    let out = run(on(data.path(), &["label", "export", "-"]), 0);
    assert!(out.contains("eve") && out.contains("all done"), "{out}");
}

#[test]
fn calibration_has_a_number_with_its_interval_or_says_why_not() {
    let data = folder_of(&STORIES);
    let empty = calibrated(on(data.path(), &["calibrate"]));
    assert_eq!(empty["overall"]["pearson"]["undefined"], "empty");
    assert_eq!(empty["target"]["standing"], "cannot_tell");
    let data = labelled();
    let found = calibrated(on(data.path(), &["calibrate"]));
    assert_eq!((&found["labelled"], &found["sessions"]), (&6.into(), &6.into()));
    assert_eq!(found["judges"][0]["judge"], "offline");
    let task = &found["dimensions"]["task_completion"];
    for name in ["pearson", "spearman", "mae", "bias", "kappa", "weighted_kappa", "ac1"] {
        let statistic = &task[name];
        let is_told = statistic["value"].is_number() && statistic["n"] == 6;
        assert!(is_told || statistic["undefined"].is_string(), "{name}: {statistic}");
    }
    assert_eq!(task["confusion"]["labels"][0], "failed");
    assert_eq!(task["krippendorff_alpha"]["n"], 2, "two people marked two sessions: {task}");
    let text = on(data.path(), &["calibrate"]).run().stdout;
    assert!(text.contains("Largest disagreements"), "{text}");
    assert!(text.contains("6 of 30 labels needed") && !text.contains("kappa"), "{text}");
    let all = on(data.path(), &["calibrate", "--all"]).run().stdout;
    assert!(all.contains("n = 6") && all.contains("kappa"), "{all}");
}

#[test]
fn a_draft_is_tried_first_and_applied_on_somebodys_word_only() {
    let data = labelled();
    let rubric = data.path().join("rubrics/session-quality.toml");
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::text("Look at what the tools gave back."));
    let calibrate = |more: &[&str]| {
        let args = ["calibrate", "--threshold", "0", "--draft-with", "anthropic:test"];
        on(data.path(), &[&args, more].concat())
            .env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", "sk-test")
    };
    let drafted = calibrated(calibrate(&[]));
    assert!(!drafted["drafts"].as_array().unwrap().is_empty(), "{drafted}");
    assert_eq!(drafted["trial"][0]["dimension"], "overall_quality");
    assert!(!rubric.exists(), "nothing is changed yet");
    let alone = calibrate(&["--apply"]).typing("y\n").run();
    assert_eq!(alone.code, Some(1), "a pipe is nobody: {}", alone.stderr);
    assert!(!rubric.exists());
    let applied = calibrated(calibrate(&["--apply", "--yes"]));
    assert_eq!(
        (&applied["applied"]["rubric_version"], &applied["applied"]["rescored"]),
        (&2.into(), &6.into())
    );
    assert!(std::fs::read_to_string(&rubric).unwrap().contains("version = 2"));
    let after = calibrated(on(data.path(), &["calibrate"]));
    assert_eq!(after["overall"]["pearson"], drafted["overall"]["pearson"], "on the first scores");
    assert_eq!(after["judges"][0]["rubric_version"], 1);
}

#[test]
fn the_panel_is_judged_again_and_says_that_an_unchanged_judge_is_steady() {
    let data = labelled();
    let first = calibrated(on(data.path(), &["calibrate", "--panel"]));
    assert_eq!(first["drift"][0]["dimensions"][0]["bearing"], "cannot_tell");
    let second = calibrated(on(data.path(), &["calibrate", "--panel"]));
    assert_eq!(second["drift"].as_array().unwrap().len(), 1, "the same week is one: {second}");
}

/// The last bit of a number may differ after it was sent as JSON.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => format!("{:.9}", number.as_f64().unwrap()).into(),
        Value::Array(list) => list.iter().map(rounded).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), rounded(value))).collect()
        }
        _ => value.clone(),
    }
}

#[test]
fn a_server_says_the_same_as_its_folder() {
    let local = labelled();
    let expected = calibrated(on(local.path(), &["calibrate"]));
    let (remote, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let running = server(remote.path()).start();
    tell(&running, &STORIES);
    let there = |args: &[&str]| ask(&running, args).env("XDG_STATE_HOME", state.path());
    run(there(&["score", "--days", "36500"]), 0);
    let elsewhere = tempfile::tempdir().unwrap();
    run(there(&["label", "import", &table(elsewhere.path())]), 0);
    let found = calibrated(there(&["calibrate"]));
    for part in ["overall", "dimensions", "apart", "drafts", "people", "judges"] {
        assert_eq!(rounded(&found[part]), rounded(&expected[part]), "{part}");
    }
    let output = run(
        there(&["label", "--by", "eve", "--days", "36500"]).typing("complete\n\n\n\n\n\n\nq\n"),
        0,
    );
    assert!(output.contains("1 label saved"), "{output}");
}

#[test]
fn a_model_writes_the_drafts_if_one_is_named() {
    let data = labelled();
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::text("Look at what the tools gave back."));
    let drafted = |key: &str| {
        on(data.path(), &["calibrate", "--threshold", "0", "--draft-with", "anthropic:test"])
            .env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", key)
    };
    let found = calibrated(drafted("sk-test"));
    assert_eq!(found["drafts"][0]["after"], "Look at what the tools gave back.");
    let asked = model.requests();
    assert_eq!(asked.len(), found["drafts"].as_array().unwrap().len(), "once for each dimension");
    let reason = r#"people_reason\": \"fine"#;
    assert!(asked[0].to_string().contains(reason), "{}", asked[0]);
    let refused = drafted("").run();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("ANTHROPIC_API_KEY"), "{}", refused.stderr);
}
