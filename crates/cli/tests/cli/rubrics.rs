use ratchet_testkit::process::Launch;
use serde_json::json;

use crate::{fails, json, ok, ratchet};

const OWN: &str = r#"
name = "session-quality"
version = 7
description = "Ours."
[[dimension]]
name = "tool_mastery"
weight = 1
kind = "numeric"
criteria = """
Are the right tools used?
1.0: yes.
"""
"#;

fn rubrics(args: &[&str]) -> Launch {
    ratchet(&[&["rubrics"], args].concat())
}

#[test]
fn what_comes_with_ratchet_is_listed_and_shown() {
    let list = ok(rubrics(&["list"]));
    assert!(list.starts_with("NAME "), "{list}");
    assert!(list.contains("session-quality  "), "{list}");
    assert!(list.contains("session-quality-v0  "), "{list}");
    let file = ok(rubrics(&["show", "session-quality"]));
    assert!(file.contains("# ") && file.contains("[[dimension]]"), "{file}");
    let shown = json(rubrics(&["show", "session-quality"]));
    let weights: Vec<_> = shown["dimensions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["weight"].as_f64().unwrap()))
        .collect();
    assert_eq!(
        weights,
        [
            ("task_completion", 0.30),
            ("execution_quality", 0.25),
            ("tool_mastery", 0.20),
            ("resource_efficiency", 0.15),
            ("security_compliance", 0.05),
            ("user_satisfaction", 0.05),
        ]
    );
    // What is shown is a rubric again.
    let copy = rubrics(&["diff", "session-quality", "copy.toml"]).file("copy.toml", &file);
    assert_eq!(ok(copy), "no differences\n");
}

#[test]
fn a_rubric_in_the_data_folder_overrides_by_name() {
    let own = || rubrics(&["list", "--data", "d"]);
    assert_eq!(json(own())[0]["version"], 1);
    let list = json(own().file("d/rubrics/ours.toml", OWN));
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!((&list[1]["name"], &list[1]["version"]), (&json!("session-quality"), &json!(7)));
    assert!(list[1]["from"].as_str().unwrap().ends_with("ours.toml"));
    let twice = own().file("d/rubrics/a.toml", OWN).file("d/rubrics/b.toml", OWN);
    let twice = twice.run();
    assert_eq!(twice.code, Some(0), "{}", twice.stderr);
    assert!(twice.stderr.contains("has the same name session-quality"), "{}", twice.stderr);
    let broken = own().file("d/rubrics/a.toml", "name = 1").run();
    assert_eq!(broken.code, Some(0), "{}", broken.stderr);
    assert!(
        broken.stderr.contains("a.toml") && broken.stderr.contains("line 1: "),
        "{}",
        broken.stderr
    );
}

#[test]
fn mistakes_are_told_with_their_place() {
    let fine = rubrics(&["validate", "mine.toml"]).file("mine.toml", OWN);
    assert_eq!(ok(fine), "session-quality, version 7: 1 dimensions, valid\n");
    let bad = OWN.replace("weight = 1", "weight = 0.9").replace("version = 7", "version = 0");
    let finished = rubrics(&["validate", "mine.toml"]).file("mine.toml", &bad).run();
    assert_eq!(finished.code, Some(3));
    assert_eq!(
        finished.stdout,
        "version: must be at least 1\nweight: weights add up to 0.9, not to 1\n"
    );
    let finished =
        rubrics(&["validate", "mine.toml", "--json"]).file("mine.toml", "nmae = 1").run();
    let view: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!((&view["valid"], &view["faults"][0]["line"]), (&json!(false), &json!(1)));
    let message = fails(rubrics(&["validate", "nowhere.toml"]), 1);
    assert!(message.contains("cannot read nowhere.toml"), "{message}");
}

#[test]
fn differences_read_well() {
    let other = OWN.replace("1.0: yes.", "1.0: always.").replace("version = 7", "version = 8");
    let both = |args: &[&str]| rubrics(args).file("one.toml", OWN).file("two.toml", &other);
    assert_eq!(
        ok(both(&["diff", "one.toml", "two.toml"])),
        "version: 7 -> 8\n\
         tool_mastery criteria:\n    Are the right tools used?\n  - 1.0: yes.\n  + 1.0: always.\n"
    );
    let changes = json(both(&["diff", "one.toml", "two.toml"]));
    assert_eq!(
        changes[0],
        json!({
            "dimension": null, "part": "version", "before": "7", "after": "8",
        })
    );
    insta::assert_snapshot!(ok(rubrics(&["diff", "session-quality-v0", "session-quality"])));
    let message = fails(rubrics(&["show", "session-qualty"]), 1);
    assert!(message.contains("available: session-quality, session-quality-v0"), "{message}");
}
