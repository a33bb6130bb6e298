use std::path::Path;

use ratchet_testkit::http;
use ratchet_testkit::process::Ratchet;
use serde_json::{Value, json};

use super::{Ci, DATASET, ITEMS};
use crate::ask;

/// A run that an SDK recorded, with a person's correction, in all formats.
#[test]
fn recorded_runs_are_decided_with_and_without_corrections() {
    let ci = Ci::start();
    let record = |run: &str, wrong: usize| {
        for number in 0..ITEMS {
            let trace = format!("{run}-{number:02}");
            let batch = json!({ "batch": [
                { "id": format!("{trace}-t"), "type": "trace-create", "timestamp": "2026-11-15T10:00:00Z",
                  "body": { "id": trace, "timestamp": "2026-11-15T10:00:00Z", "output": format!("<b>{number}</b>") } },
                { "id": format!("{trace}-s"), "type": "score-create", "timestamp": "2026-11-15T10:00:00Z",
                  "body": { "traceId": trace, "name": "accuracy", "value": u8::from(number >= wrong) } },
            ] });
            let sent = running_post(&ci.running, "/api/public/ingestion", &batch);
            assert_eq!(sent["errors"], json!([]));
            let link = json!({ "runName": run, "datasetItemId": format!("item-{number:02}"), "traceId": trace });
            running_post(&ci.running, "/api/public/dataset-run-items", &link);
        }
    };
    record("before", 2);
    record("after", 8);
    are_shown_beside_ours(&ci.running);
    let files = [ci.file("gate.xml"), ci.file("gate.md")];
    let args = [
        "gate",
        "--dataset",
        DATASET,
        "--run",
        "after",
        "--baseline",
        "before",
        "--junit",
        &files[0],
        "--markdown",
        &files[1],
    ];
    let gate = |more: &[&str]| ask(&ci.running, &args).args(more).run();
    let plain = gate(&["--json"]);
    let report: Value = serde_json::from_str(&plain.stdout).unwrap();
    assert_eq!((plain.code, &report["verdict"]), (Some(3), &json!("block")), "{}", plain.stderr);
    assert_eq!((&report["mcnemar"]["b"], &report["mcnemar"]["c"]), (&json!(6), &json!(0)));
    let said = gate(&["--explain"]).stdout;
    for words in
        ["Blocked.", "Items that changed", "What it could not see", "Prompt:", "Model:", "Tools:"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let [junit, markdown] =
        files.each_ref().map(|file| std::fs::read_to_string(Path::new(file)).unwrap());
    // The verdict and the six items that fell, each with the two runs side by side.
    assert!(junit.contains("failures=\"7\"") && junit.contains("type=\"block\""), "{junit}");
    assert!(junit.contains("/datasets/support/compare?before=before&amp;after="), "{junit}");
    assert!(markdown.starts_with("## Gate: BLOCK") && markdown.contains("regressed"), "{markdown}");
    correct(&ci.running, "after", 2..8);
    let fixed: Value = serde_json::from_str(&gate(&["--json"]).stdout).unwrap();
    assert_eq!(fixed["corrections"]["items"], 6);
    assert_eq!(fixed["corrections"]["verdictWithout"], "block");
    assert_eq!(fixed["verdict"], "pass", "the same outputs are right in both runs: {fixed}");
    let compared = crate::json(ask(&ci.running, &["experiment", "compare", "before", "after"]));
    let score = &compared["scores"][0];
    assert_eq!((&score["corrected"], &score["correctedOnce"]), (&json!(6), &json!(0)), "{score}");
    assert_eq!(score["difference"]["value"], fixed["difference"]["value"], "as the gate counts");
}

/// Runs of other clients have the commands and the API that ours have.
fn are_shown_beside_ours(running: &Ratchet) {
    let shown = crate::json(ask(running, &["experiment", "show", "after"]));
    assert_eq!(shown["experiment"]["state"], "recorded", "{shown}");
    assert_eq!(shown["trials"].as_array().unwrap().len(), ITEMS);
    let score = &shown["summary"]["scores"][0];
    assert_eq!((&score["name"], &score["mean"]), (&json!("accuracy"), &json!(0.8)), "{score}");
    let compared = crate::json(ask(running, &["experiment", "compare", "before", "after"]));
    let score = &compared["scores"][0];
    assert_eq!((&score["difference"]["n"], &score["changed"]), (&json!(ITEMS), &json!(0)));
    let interval = score["difference"]["interval"].as_array().unwrap();
    assert!(interval[0].as_f64().unwrap() < -0.15 && interval[1].as_f64().unwrap() < 0.0);
}

fn running_post(running: &Ratchet, path: &str, body: &Value) -> Value {
    let answer = running.send(http::post(path).json(body.to_string()));
    assert!((200..300).contains(&answer.status), "{}", answer.text());
    answer.json()
}

/// A person says that answers were right.
fn correct(running: &Ratchet, run: &str, items: std::ops::Range<usize>) {
    let config = json!({ "name": "accuracy", "dataType": "NUMERIC" });
    let config = running_post(running, "/api/public/score-configs", &config);
    for number in items {
        let id = format!("{run}-{number:02}");
        let body = json!({
            "id": format!("person-{id}"), "traceId": id, "name": "accuracy", "value": 1,
            "source": "ANNOTATION", "configId": config["id"],
        });
        let event = json!({
            "id": format!("event-{id}"), "type": "score-create", "body": body,
            "timestamp": "2026-11-15T11:00:00Z",
        });
        let sent = running_post(running, "/api/public/ingestion", &json!({ "batch": [event] }));
        assert_eq!(sent["errors"], json!([]));
    }
}
