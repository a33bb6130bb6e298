use ratchet_testkit::http;
use ratchet_testkit::webhook_receiver::Inbox;
use serde_json::json;

use super::{Ci, DATASET, ITEMS, ended};

/// The last item is critical. It blocks alone only if it fails again when it is run again.
#[test]
fn a_critical_item_is_run_again_before_it_blocks() {
    let ci = Ci::start();
    let critical = (ITEMS - 1).to_string();
    let (code, _, all) = ended(ci.launch(&["--min-accuracy", "0.7", "--repeats", "5"]));
    assert_eq!(code, Some(0), "five right trials are its history: {all}");
    let calls = ci.calls();
    let once = ci.launch(&["--min-accuracy", "0.7", "--repeats", "1"]).env("ONCE", &critical);
    let (code, report, all) = ended(once);
    assert_eq!((code, &report["verdict"]), (Some(0), &json!("pass")), "{all}");
    assert_eq!(report["critical"][0]["state"], "right_again", "{report}");
    assert_eq!(ci.calls(), calls + ITEMS + 1, "only that item is run again");

    let (code, report, all) = ended(ci.launch(&["--min-accuracy", "0.7", "--repeats", "5"]));
    assert_eq!(code, Some(0), "{all} {report}");
    let always = ci.launch(&["--min-accuracy", "0.7", "--repeats", "1"]).env("ALWAYS", &critical);
    let (code, report, all) = ended(always);
    // One of its earlier trials failed: it is not reliable any more.
    assert_eq!((code, &report["critical"][0]["state"]), (Some(0), &json!("unreliable")), "{all}");
}

#[test]
fn a_critical_item_that_fails_again_blocks_and_the_owner_hears_of_it() {
    let ci = Ci::start();
    let project = ci.running.send(http::get("/api/public/projects")).json();
    let project = project["data"][0]["id"].as_str().unwrap().to_owned();
    let agent = json!({ "owner": "team-a", "datasets": [DATASET] });
    let path = format!("/api/v1/projects/{project}/agents/desk");
    let put = ci.running.send(http::request("PUT", &path).json(agent.to_string()));
    assert!((200..300).contains(&put.status), "{}", put.text());
    let inbox = Inbox::start();
    let hook = json!({ "name": "ci", "url": inbox.url("hook"), "events": ["gate.blocked"] });
    let hook =
        ci.running.send(http::post("/api/v1/notifications/webhooks").json(hook.to_string())).json();

    let critical = (ITEMS - 1).to_string();
    let (code, _, all) = ended(ci.launch(&["--min-accuracy", "0.7", "--repeats", "5"]));
    assert_eq!(code, Some(0), "{all}");
    let always = ci.launch(&["--min-accuracy", "0.7", "--repeats", "1"]).env("ALWAYS", &critical);
    let (code, report, all) = ended(always);
    assert_eq!((code, &report["verdict"]), (Some(3), &json!("block")), "{all}");
    assert_eq!(report["critical"][0]["state"], "failed_again", "{report}");
    let (_, message) = inbox.next().verified(hook["secret"].as_str().unwrap());
    assert_eq!(
        (&message["type"], &message["data"]["owner"]),
        (&json!("gate.blocked"), &json!("team-a"))
    );
    assert!(
        message["data"]["text"].as_str().unwrap().contains("Critical item item-39"),
        "{message}"
    );
}

/// Several evaluators: the first decides, or the one that is named.
#[test]
fn a_changed_evaluator_judges_the_baseline_again() {
    let ci = Ci::start();
    let once = ["--min-accuracy", "0.7", "--repeats", "1"];
    let says = |more: &[&str]| ci.launch(&once).args(more).env("SAYS", "I think twice is");
    let (code, before, all) = ended(says(&["--run", "before"]));
    assert_eq!((code, &before["score"]), (Some(3), &json!("exact")), "{all}");
    let (code, after, all) = ended(says(&[
        "--evaluator",
        "contains",
        "--evaluator",
        "exact",
        "--baseline",
        "before",
        "--explain",
    ]));
    assert_eq!((code, &after["score"]), (Some(0), &json!("contains")), "{all}");
    assert_eq!(after["difference"]["value"], 0.0);
    assert!(all.contains("40 of its answers were judged again"), "{all}");
    let (code, named, all) =
        ended(says(&["--evaluator", "contains", "--evaluator", "exact", "--score", "exact"]));
    assert_eq!((code, &named["accuracy"]["value"]), (Some(3), &json!(0.0)), "{all}");
}
