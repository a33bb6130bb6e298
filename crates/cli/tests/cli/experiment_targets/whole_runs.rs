use ratchet_testkit::http;
use serde_json::json;

use super::Setting;
use crate::ask;

/// Figures over the items, and a command that reads all of them.
#[test]
fn a_run_as_a_whole_is_scored_once_its_trials_are_finished() {
    let items = ["a", "b", "c", "d"].map(|word| (json!(word), json!(word)));
    let setting = Setting::new(&items);
    let judge = setting.folder.path().join("judge.py");
    let source = "import json, sys\nrun = json.load(sys.stdin)\n\
                  said = {one['item']: one['output'] == one['expected_output'] for one in run['items']}\n\
                  right = [one['scores']['exact'] == 1 and one['input'] for one in run['items']]\n\
                  share = sum(map(bool, right)) / 4 if list(said.values()).count(True) == 3 else 0\n\
                  print(json.dumps({'score': share, 'rationale': run['run']}))\n";
    std::fs::write(&judge, source).unwrap();
    let config = setting.folder.path().join("ratchet.toml");
    let entry = format!("[evaluators.commands]\nbalance = [\"python3\", {judge:?}]\n");
    std::fs::write(&config, entry).unwrap();
    let target = "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"tr -d '\\\"' | tr d x\"]\n";
    let evaluators = ["exact", "run:mean:exact", "run:least:exact", "run:command:balance"];
    let launch = setting.run(target, &evaluators).env("RATCHET_CONFIG", &config);
    let run = crate::json(launch);
    let scores = run["summary"]["runScores"].as_array().unwrap();
    let shown: Vec<_> = scores.iter().map(|score| (&score["name"], &score["value"])).collect();
    let expected = [
        (&json!("balance"), &json!(0.75)),
        (&json!("least-exact"), &json!(0.0)),
        (&json!("mean-exact"), &json!(0.75)),
    ];
    assert_eq!(shown, expected, "{run}");
    assert_eq!(scores[0]["comment"], "only");
    let stored = "/api/public/experiments?fromStartTime=1970-01-01T00:00:00Z&fields=core,scores";
    let stored = setting.running.send(http::get(stored)).json();
    assert_eq!(stored["data"][0]["scores"].as_array().unwrap().len(), 3, "{stored}");
    let text = ask(&setting.running, &["experiment", "show", "only"]).run();
    assert!(text.stdout.contains("mean-exact: 0.750, the whole run"), "{}", text.stdout);
}
