use serde_json::{Value, json};

use super::{WEEK, demo, done};
use crate::ratchet;

/// The output that other programs read.
#[test]
fn review_metrics_have_their_contract_and_say_why_a_value_is_missing() {
    let folder = demo();
    let metrics = |args: &[&str]| {
        let launch = ratchet(&["metrics", "week", "--of", WEEK, "--zone", "UTC"]).args(args);
        done(launch.arg("--data").arg(folder.path()))
    };
    let found: Value = serde_json::from_str(&metrics(&["--json"])).unwrap();
    assert_eq!(found["week"], WEEK);
    let all = found["metrics"].as_array().unwrap();
    let names: Vec<&str> = all.iter().map(|metric| metric["name"].as_str().unwrap()).collect();
    let expected = [
        "agent_accuracy",
        "judge_accuracy",
        "user_satisfaction",
        "traces_reviewed",
        "dataset_growth",
    ];
    assert_eq!(names, expected);
    let targets: Vec<&Value> = all.iter().map(|metric| &metric["target"]).collect();
    assert_eq!(targets, [&json!(0.9), &json!(0.85), &json!(0.8), &json!(30.0), &json!(1.0)]);
    // There are thumbs, but neither reviews nor verdicts of a judge.
    let [accuracy, judge, satisfaction] = [&all[0], &all[1], &all[2]];
    assert_eq!(accuracy["raw"], json!({"value": null, "n": 0}));
    assert_eq!(accuracy["weighted"]["reason"], "no trace of the sample is reviewed yet");
    assert_eq!(accuracy["standing"], "cannot tell");
    assert_eq!(judge["weighted"]["reason"], "no trace has a judge's verdict");
    let value = satisfaction["weighted"]["value"].as_f64().unwrap();
    let ends = satisfaction["weighted"]["interval"].as_array().unwrap();
    assert!(ends[0].as_f64().unwrap() < value && value < ends[1].as_f64().unwrap());
    assert!(satisfaction["raw"]["n"].as_u64().unwrap() > 0, "{satisfaction}");

    let table = metrics(&[]);
    assert!(table.contains("User satisfaction") && table.contains("cannot tell"), "{table}");
    let csv = metrics(&["--csv"]);
    assert!(csv.starts_with("week,metric,raw,raw_n,weighted,lower,upper"), "{csv}");
    assert_eq!(csv.lines().count(), 9, "five metrics and three figures of the judge");
    for name in ["judge_sensitivity", "judge_specificity", "judge_corrected_accuracy"] {
        assert!(csv.lines().any(|line| line.starts_with(&format!("{WEEK},{name},"))), "{csv}");
    }
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .contains(",n,represents,ppi,ppi_lower,ppi_upper,ppi_represents,")
    );
    assert!(table.contains("Sensitivity") && table.contains("Corrected accuracy"), "{table}");
    assert!(table.contains("PPI REPRESENTS"), "{table}");
    assert!(table.contains("REPRESENTS") && table.contains("PPI"), "{table}");
    let satisfied = csv.lines().find(|line| line.contains("user_satisfaction")).unwrap();
    assert!(satisfied.contains(&format!(",{value},")), "{satisfied}");
    for (args, why) in [
        (["week", "--of", "never"], "week: "),
        (["week", "--zone", "Mars/Olympus"], "zone: "),
        (["rebalance", "--half-width", "7"], "halfWidth: a number between 0 and 1"),
    ] {
        let launch = ratchet(&["metrics"]).args(args).arg("--data").arg(folder.path());
        let said = launch.run();
        assert_ne!(said.code, Some(0), "{args:?}");
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
    }
}
