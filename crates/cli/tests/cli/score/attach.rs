use ratchet_testkit::http;
use serde_json::json;

use super::sessions::{Story, folder_of, stop, stored};
use super::{ids, reason, report, score_all};
use crate::server;

#[test]
fn scores_hang_on_the_first_trace_where_sessions_have_none() {
    let data = folder_of(&[Story::new("old", 3)]);
    let run = || score_all(data.path(), &["--attach", "first-trace"]);
    let found = report(run(), 0);
    assert_eq!(ids(&found, "sessions"), ["old"], "{found}");
    let again = report(run(), 0);
    assert_eq!(reason(&again, "skipped", "old"), "already scored", "{again}");

    let running = server(data.path()).start();
    assert_eq!(stored(&running, "old"), Vec::<serde_json::Value>::new(), "none on the session");
    let path = "/api/public/v2/scores?traceId=old-t0&limit=100";
    let scores = running.send(http::get(path)).json();
    let scores = scores["data"].as_array().unwrap();
    let overall = scores.iter().find(|score| score["name"] == "overall_quality").unwrap();
    assert_eq!(overall["metadata"]["session_id"], json!("old"), "{overall}");
    stop(running);
    // A report reads them like scores of the session.
    let week = crate::json(
        crate::ratchet(&["week", "--judge", "none", "--of", "2026-03-02", "--zone", "UTC"])
            .arg("--data")
            .arg(data.path()),
    );
    assert_eq!(week["report"]["synthesis"]["sessions"], json!(1), "{week}");
}
