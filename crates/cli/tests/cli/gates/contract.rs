use serde_json::json;

use super::{Ci, DATASET, ended};
use crate::{ask, fails};

/// Doubles a number, those below `WRONG` wrongly.
const AGENT: &str = r#"
import json, os, sys
number = json.load(sys.stdin)["n"]
wrong = number < int(os.environ.get("WRONG", "0"))
sys.stdout.write("no idea" if wrong else "twice is %d\n" % (2 * number))
"#;

/// The smallest target file, the flags and the JSON that the documentation promises.
#[test]
fn the_smallest_target_file_and_the_promised_json() {
    let ci = Ci::start();
    std::fs::write(ci.file("agent.py"), AGENT).unwrap();
    let smallest = "kind = \"command\"\ncommand = [\"python3\", \"agent.py\"]\n";
    std::fs::write(ci.file("agent.toml"), smallest).unwrap();
    let file = ci.file("agent.toml");
    let least = ["--evaluator", "exact", "--min-accuracy", "0.7"];
    let gate = || ask(&ci.running, &["gate", "--dataset", DATASET, "--target", &file]).args(least);

    let (code, passed, all) = ended(gate().env("WRONG", "2"));
    assert_eq!((code, &passed["verdict"]), (Some(0), &json!("pass")), "{all}");
    assert!(passed["run"].is_string() && passed["difference"].is_null(), "{passed}");
    assert_eq!((&passed["flips"], &passed["cost"]), (&json!([]), &json!(null)));
    let accuracy = &passed["accuracy"];
    assert_eq!((&accuracy["value"], &accuracy["n"]), (&json!(0.95), &json!(40)));
    let interval: Vec<f64> = serde_json::from_value(accuracy["interval"].clone()).unwrap();
    assert!(interval.len() == 2 && interval[0] < 0.95 && interval[1] > 0.95, "{interval:?}");

    let baseline = passed["run"].as_str().unwrap();
    let once = ["--repeats", "1", "--no-extension"];
    let worse = gate().args(["--baseline", baseline]).args(once).env("WRONG", "30");
    let (code, blocked, all) = ended(worse);
    assert_eq!((code, &blocked["verdict"]), (Some(3), &json!("block")), "{all}");
    let difference = &blocked["difference"];
    assert!(difference["value"].as_f64().unwrap() < -0.6, "{difference}");
    assert_eq!(difference["n"], 40);
    assert_eq!((blocked["flips"].as_array().unwrap().len(), &blocked["cost"]), (28, &json!(null)));

    let (code, open, all) = ended(gate().args(once).env("WRONG", "10"));
    assert_eq!((code, &open["verdict"]), (Some(4), &json!("inconclusive")), "{all}");

    let nowhere = ["gate", "--dataset", "none", "--target", &file];
    fails(ask(&ci.running, &nowhere).args(least), 1);
    for wrong in [["--margin", "10"], ["--evaluator", "exactly"], ["--max-cost", "0"]] {
        fails(gate().args(wrong), 2);
    }
}
