use ratchet_testkit::process::PROJECT;

use serde_json::json;

use super::hand::with_both;
use super::list::{Places, fill};
use super::writer::Writer;

#[test]
fn a_session_is_opened_and_a_turn_unfolded_in_place() {
    with_both("/project/{project}/sessions", |hand, page, _| {
        hand.open_first(page);
        page.wait_for_path(&format!("/project/{PROJECT}/sessions/"));
        hand.press(page, "details.steps > summary");
        page.wait_for(".step-list a");
        assert!(page.path().contains("/sessions/"), "the steps come to the reader");
        hand.press(page, ".step-list a");
        page.wait_for_path(&format!("/project/{PROJECT}/traces/"));
    });
}

#[test]
fn a_user_is_opened_and_a_trace_of_theirs() {
    with_both("/project/{project}/users", |hand, page, _| {
        hand.open_first(page);
        page.wait_for_path(&format!("/project/{PROJECT}/users/"));
        page.wait_for("figure.chart");
        hand.press(page, "main a[href*=\"/traces/\"]");
        page.wait_for_path(&format!("/project/{PROJECT}/traces/"));
    });
}

#[test]
fn a_score_is_opened_and_two_are_compared() {
    with_both("/project/{project}/scores", |hand, page, _| {
        hand.open_row(page, "quality EVAL model NUMERIC");
        page.wait_for_path(&format!("/project/{PROJECT}/scores/quality"));
        page.wait_for("figure.chart");
        hand.press(page, ".crumbs a:last-child");
        page.wait_for("form.compare");
        hand.choose(page, "form.compare [name=a]", "quality");
        hand.choose(page, "form.compare [name=b]", "helpful");
        hand.press(page, "form.compare button");
        page.wait_for_path(&format!("/project/{PROJECT}/scores/compare"));
        page.wait_for("figure.scatter");
    });
}

#[test]
fn evidence_of_a_verdict_leads_to_its_turn_on_whichever_page_it_is() {
    with_both("/project/{project}/sessions", |hand, page, demo| {
        let session = format!("long, read by {}", hand.word());
        demo.write(|writer| record_long_session(writer, &session));
        page.open(&demo.url(&fill(
            "/project/{project}/sessions/{long}",
            &Places::from([("project", PROJECT.to_owned()), ("long", session.clone())]),
        )));
        for turn in [3, 24] {
            hand.press(page, &format!(".evidence a[href$=\"#turn-{turn}\"]"));
            page.wait_for(&format!("#turn-{turn}:target"));
            page.wait_until(&format!(
                "(({{ top, bottom }}) => top < innerHeight && bottom > 0)\
                 (document.querySelector('#turn-{turn}').getBoundingClientRect())"
            ));
        }
        assert!(page.path().contains("page=2"), "{}", page.path());
    });
}

/// A session of more turns than a page has, and a verdict that cites two of them.
fn record_long_session(writer: &Writer<'_>, session: &str) {
    let turn = |nth: u8| {
        let at = format!("2026-03-02T10:{nth:02}:00Z");
        let body = json!({
            "id": format!("turn {nth} of {session}"), "name": "answer", "sessionId": session,
            "timestamp": at, "input": format!("question {nth}"), "output": "an answer",
        });
        ("trace-create", body)
    };
    let verdict = json!({
        "id": format!("verdict on {session}"), "sessionId": session, "name": "tool_mastery",
        "value": 0.5, "dataType": "NUMERIC", "source": "EVAL", "comment": "Two calls failed.",
        "metadata": { "judge": "offline", "evidence": [3, 24] },
    });
    let events: Vec<_> = (1..=30).map(turn).chain([("score-create", verdict)]).collect();
    writer.record(&events);
}
