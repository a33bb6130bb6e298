use ratchet_testkit::process::PROJECT;

use super::hand::with_both;

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
