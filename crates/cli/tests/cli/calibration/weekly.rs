use serde_json::Value;

use super::models::make_older;
use super::{calibrated, on, panel_folder, run};
use crate::week::listener::Listener;

#[test]
fn the_week_sits_the_panel_and_tells_whoever_is_told_of_the_report() {
    let data = panel_folder();
    run(on(data.path(), &["score", "--days", "36500"]), 0);
    let week = |args: &[&str]| on(data.path(), &["week", "--zone", "UTC"]).args(args);
    let first: Value = serde_json::from_str(&run(week(&["--format", "json"]), 0)).unwrap();
    assert_eq!(first["report"]["drift"], Value::Array(Vec::new()), "{first}");
    let panel = calibrated(on(data.path(), &["calibrate", "--panel"]));
    assert_eq!(panel["panel"]["judged"], 0, "the week's run has judged it: {panel}");
    make_older(data.path(), 0.3);
    let listener = Listener::answering(&[200, 200]);
    let url = listener.url();
    let output =
        week(&["--slack", &url, "--webhook", &url]).env("RATCHET_WEBHOOK_SECRET", "shared");
    let text = run(output, 0);
    assert!(text.contains("ALERT: offline scores overall_quality"), "{text}");
    let heard = listener.heard();
    let [slack, signed] = heard.as_slice() else { panic!("two messages, not {heard:?}") };
    assert!(slack.body.contains("Judge drift"), "{}", slack.body);
    let signed: Value = serde_json::from_str(&signed.body).unwrap();
    assert_eq!(signed["report"]["drift"][0]["since"], "2026-01-04", "{signed}");
    let markdown = run(week(&["--format", "markdown"]), 0);
    assert!(markdown.contains("> **Judge drift.** offline scores overall_quality"), "{markdown}");
    let html = run(week(&["--format", "html"]), 0);
    assert!(html.contains("judge drift"), "{html}");
}
