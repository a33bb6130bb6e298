//! What many weeks say together.

use ratchet_core::calendar::{Week, Zone};
use ratchet_testkit::http;
use ratchet_testkit::process::Ratchet;
use serde_json::{Value, json};

use super::done;
use crate::score::sessions::stop;
use crate::{ratchet, server};

/// Has a server keep the overall marks of three sessions, given on the week's Monday.
fn mark(running: &Ratchet, week: &Week, mean: f64) {
    let at = week.start().plus_nanos(24 * 3_600_000_000_000).to_string();
    let events: Vec<Value> = [-0.02, 0.0, 0.02]
        .into_iter()
        .enumerate()
        .map(|(nth, off)| {
            let id = format!("{week}-{nth}");
            let body = json!({
                "id": id, "sessionId": id, "name": "overall_quality", "value": mean + off,
                "dataType": "NUMERIC", "source": "EVAL", "timestamp": at,
                "metadata": { "rubric": "session-quality", "generation": 1 },
            });
            json!({"id": format!("e-{id}"), "timestamp": at, "type": "score-create", "body": body})
        })
        .collect();
    let batch = json!({ "batch": events }).to_string();
    let answer = running.send(http::post("/api/public/ingestion").json(batch));
    assert_eq!(answer.json()["errors"], json!([]), "{}", answer.text());
}

#[test]
fn a_trend_is_told_from_eight_weeks_on_and_not_before() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let zone = Zone::utc();
    let mut week = Week::parse("2026-01-04", &zone).unwrap();
    let mut weeks = Vec::new();
    for nth in 0..8 {
        mark(&running, &week, 0.4 + 0.05 * f64::from(nth));
        weeks.push(week.to_string());
        week = week.after();
    }
    stop(running);
    let overall = |of: &str| {
        let week = ratchet(&["week", "--of", of, "--zone", "UTC", "--judge", "none", "--json"]);
        let output = done(week.arg("--data").arg(data.path()));
        let output: Value = serde_json::from_str(&output).unwrap();
        output["report"]["synthesis"]["overall"].clone()
    };
    let seven = overall(&weeks[6]);
    assert_eq!(seven["trend"]["too_early"], "needs 8 weeks, 7 available", "{seven}");
    let change = &seven["change"]["by"];
    assert!((change["value"].as_f64().unwrap() - 0.05).abs() < 1e-9, "{seven}");
    assert!(change["interval"][0].as_f64().unwrap() < 0.0, "three sessions say little: {seven}");
    assert_eq!(change["p"], Value::Null, "they are too few for a test: {seven}");
    let eight = overall(&weeks[7]);
    let slope = &eight["trend"]["rising"];
    assert!((slope["per_week"].as_f64().unwrap() - 0.05).abs() < 1e-9, "{eight}");
    assert!(slope["p"].as_f64().unwrap() < 0.05, "{eight}");
}
