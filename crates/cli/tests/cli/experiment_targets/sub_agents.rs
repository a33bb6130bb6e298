use ratchet_testkit::http;
use ratchet_testkit::process::{PUBLIC_KEY, SECRET_KEY};
use serde_json::json;

use super::Setting;

/// A front desk that has a span in the trace of its item, and asks billing, which records a trace of its
/// own in the same session.
const DESK: &str = r#"
import json, os, sys, urllib.request
json.load(sys.stdin)
_, trace, parent, _ = os.environ["TRACEPARENT"].split("-")
when = {"startTime": "2026-11-15T12:00:00Z", "endTime": "2026-11-15T12:00:01Z"}
apart = "apart-" + trace
bodies = [
    ("trace-create", {"id": apart, "name": "billing", "sessionId": trace}),
    ("span-create", {"id": "span-" + apart, "traceId": apart, "name": "answer",
                     "input": "Refund for order 7?", "output": "Refunded.", **when}),
    ("span-create", {"id": "desk-" + trace, "traceId": trace, "parentObservationId": parent,
                     "name": "desk", **when}),
]
batch = [{"id": "event-" + body["id"], "type": kind, "timestamp": "2026-11-15T12:00:02Z", "body": body}
         for kind, body in bodies]
request = urllib.request.Request(
    os.environ["SERVER"] + "/api/public/ingestion", json.dumps({"batch": batch}).encode(),
    {"Content-Type": "application/json", "Authorization": os.environ["KEYS"]})
urllib.request.urlopen(request).read()
print("You get it back.")
"#;

#[test]
fn a_sub_agent_in_a_trace_of_its_own_is_found_by_the_session() {
    let expected = json!({ "agents": { "billing": "Refunded." } });
    let setting = Setting::new(&[(json!("My money back!"), expected)]);
    std::fs::write(setting.folder.path().join("desk.py"), DESK).unwrap();
    let target = format!(
        "kind = \"command\"\ncommand = [\"python3\", \"desk.py\"]\n\
         [variables]\nSERVER = {:?}\nKEYS = {:?}\n",
        setting.running.web(),
        http::basic(PUBLIC_KEY, SECRET_KEY)
    );
    let run = crate::json(setting.run(&target, &["each-agent:exact"]));
    assert_eq!((&run["done"], &run["faults"]), (&json!(1), &json!(0)), "{run}");
    let billing = ("item-0".to_owned(), "exact@billing".to_owned(), 1.0);
    assert_eq!(setting.scores(), [billing], "{run}");
    let trace = setting.trace();
    let scores = format!("/api/public/v2/scores?traceId={}", trace["id"].as_str().unwrap());
    let scores = setting.running.send(http::get(&scores)).json();
    let comment = scores["data"][0]["comment"].as_str().unwrap();
    assert!(comment.contains("(of trace apart-"), "{scores}");
}
