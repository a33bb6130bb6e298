//! Queue items, reviewed by keyboard, by two people at once, and through a lost connection.

use ratchet_browser::{Page, Size, Theme};
use ratchet_testkit::process::PROJECT;
use serde_json::{Value, json};

use super::list::Places;
use super::stage::{PASSWORD, Served, stage};
use super::writer::Writer;

const ITEMS: usize = 10;
/// Session items.
const SESSIONS: usize = 4;
const ANN: &str = "ann@example.com";
const BEN: &str = "ben@example.com";

/// Traces of an agent with a judge's verdict, in a queue that two reviewers are assigned to.
pub(super) fn seed(writer: &Writer<'_>) -> Places {
    let queue = json!({ "name": "weekly-review", "scoreConfigIds": [] });
    let queue = writer.post("/api/public/annotation-queues", &queue)["id"].take();
    let queue = queue.as_str().unwrap().to_owned();
    for nth in 0..ITEMS {
        let id = format!("trace-{nth}");
        writer.record(&[
            (
                "trace-create",
                json!({
                    "id": id, "name": "refund", "userId": format!("customer-{nth}"),
                    "input": format!("Question {nth}: where is my refund?"),
                    "output": "It is on its way.", "metadata": { "agent": "support" },
                }),
            ),
            (
                "tool-create",
                json!({
                    "id": format!("tool-{nth}"), "traceId": id, "name": "find_order",
                    "input": { "order": nth }, "output": "found",
                }),
            ),
            (
                "score-create",
                json!({
                    "id": format!("quality-{nth}"), "traceId": id, "name": "quality",
                    "value": 0.4, "source": "EVAL", "comment": "It names no date.",
                }),
            ),
        ]);
        let item = json!({ "objectId": id, "objectType": "TRACE" });
        writer.post(&format!("/api/public/annotation-queues/{queue}/items"), &item);
    }
    let sessions = seed_sessions(writer);
    for email in [ANN, BEN] {
        let person = json!({
            "email": email, "password": PASSWORD, "role": "reviewer", "projectId": PROJECT,
        });
        let person = writer.post("/api/v1/users", &person)["id"].take();
        let assigned = json!({ "userId": person });
        for queue in [&queue, &sessions] {
            writer.post(&format!("/api/public/annotation-queues/{queue}/assignments"), &assigned);
        }
    }
    let sessions = ("sessions-queue", sessions);
    Places::from([("project", PROJECT.to_owned()), ("queue", queue), sessions])
}

/// Sessions with a judge's verdict, in a queue of their own; returns its id.
fn seed_sessions(writer: &Writer<'_>) -> String {
    let queue = json!({ "name": "ground-truth", "scoreConfigIds": [] });
    let queue = writer.post("/api/public/annotation-queues", &queue)["id"].take();
    let queue = queue.as_str().unwrap().to_owned();
    for nth in 0..SESSIONS {
        let session = format!("session-{nth}");
        writer.record(&[
            (
                "trace-create",
                json!({
                    "id": format!("turn-{nth}"), "name": "refund", "sessionId": session,
                    "input": format!("Question {nth}: cancel my order"), "output": "Done.",
                }),
            ),
            (
                "score-create",
                json!({
                    "id": format!("mastery-{nth}"), "sessionId": session, "name": "tool_mastery",
                    "value": 0.4, "source": "EVAL", "comment": "It called no tool.",
                    "metadata": { "rubric": "session-quality", "judge": "offline" },
                }),
            ),
        ]);
        let item = json!({ "objectId": session, "objectType": "SESSION" });
        writer.post(&format!("/api/public/annotation-queues/{queue}/items"), &item);
    }
    queue
}

/// The review page, opened by someone.
fn opened(served: &Served, page: &Page, email: &str) {
    served.sign_in_as(page, email);
    page.open(&served.url(&format!("/project/{PROJECT}/queues/{}/review", served.places["queue"])));
    page.wait_for("[data-review]");
}

/// The review page of the queue of sessions, opened by someone.
fn opened_sessions(served: &Served, page: &Page, email: &str) {
    served.sign_in_as(page, email);
    let queue = &served.places["sessions-queue"];
    page.open(&served.url(&format!("/project/{PROJECT}/queues/{queue}/review")));
    page.wait_for("[data-review]");
}

fn wait_for_sessions_done(page: &Page, done: usize) {
    page.wait_until(&format!(
        "document.querySelector('[data-progress]')?.textContent.startsWith('{done} of {SESSIONS} done')"
    ));
}

/// Answers every dimension of the framed session with one key each, and saves.
fn label(page: &Page) {
    let dimensions = page.js("document.querySelectorAll('[data-question]').length");
    for _ in 0..dimensions.as_u64().unwrap() {
        page.press("1");
    }
    page.press("Enter");
}

/// Labels of sessions: items of the dataset that calibration reads.
fn labels(served: &Served) -> Vec<Value> {
    let path = "/api/public/dataset-items?datasetName=ground-truth&limit=100";
    let found = served.write(|writer| writer.get(path)["data"].take());
    found.as_array().cloned().unwrap_or_default()
}

#[test]
fn sessions_are_labelled_by_keyboard_with_the_judge_hidden_first() {
    let (stage, served) = (stage(), Served::with_queue());
    let page = stage.browser.page();
    opened_sessions(&served, &page, ANN);
    assert!(!page.shows("It called no tool."), "the judge's verdict is hidden at first");
    let dimensions = page.js("document.querySelectorAll('[data-question]').length");
    page.press("-");
    for _ in 1..dimensions.as_u64().unwrap() {
        page.press("1");
    }
    page.wait_for("It called no tool.");
    page.press("Enter");
    for done in 1..SESSIONS {
        wait_for_sessions_done(&page, done);
        label(&page);
    }
    page.wait_for("All done");
    assert_eq!(labels(&served).len(), SESSIONS);
    assert_eq!(given(&served, "tool_mastery").len(), 2 * SESSIONS, "the judge's and the person's");
}

#[test]
fn two_reviewers_at_once_label_different_sessions_and_undo() {
    let (stage, served) = (stage(), Served::with_queue());
    let (ann, ben) = (stage.browser.page(), stage.browser.page());
    opened_sessions(&served, &ann, ANN);
    opened_sessions(&served, &ben, BEN);
    assert_ne!(question(&ann), question(&ben));
    let first = question(&ann);
    label(&ann);
    wait_for_sessions_done(&ann, 1);
    label(&ben);
    wait_for_sessions_done(&ben, 2);
    assert_ne!(question(&ann), question(&ben));
    assert_eq!(labels(&served).len(), 2);
    ann.press("u");
    wait_for_sessions_done(&ann, 1);
    assert_eq!(question(&ann), first);
    assert_eq!(labels(&served).len(), 1);
}

#[test]
fn the_review_of_a_session_is_accessible_and_fits_one_screen() {
    let (stage, served) = (stage(), Served::with_queue());
    let page = stage.browser.page();
    opened_sessions(&served, &page, ANN);
    for (size, theme) in [(Size::Laptop, Theme::Light), (Size::Phone, Theme::Dark)] {
        page.size(size);
        page.theme(theme);
        page.settle();
        let found: Vec<String> = page.accessibility().iter().map(ToString::to_string).collect();
        assert_eq!(found, [""; 0], "{size:?}");
        assert_eq!(page.overflow(size), [""; 0], "{size:?}");
    }
}

/// The number of the question that is shown.
fn question(page: &Page) -> String {
    let text = page.text(".review-record");
    let (_, after) = text.split_once("Question ").unwrap();
    after.split(':').next().unwrap().to_owned()
}

fn wait_for_done(page: &Page, done: usize) {
    page.wait_until(&format!(
        "document.querySelector('[data-progress]')?.textContent.startsWith('{done} of {ITEMS} done')"
    ));
}

/// Scores that people gave, by the name of the score.
fn given(served: &Served, name: &str) -> Vec<Value> {
    let path = format!("/api/public/v2/scores?name={name}&limit=100");
    let found = served.write(|writer| writer.get(&path)["data"].take());
    found.as_array().unwrap().clone()
}

#[test]
fn ten_items_are_reviewed_by_keyboard_alone() {
    let (stage, served) = (stage(), Served::with_queue());
    let page = stage.browser.page();
    opened(&served, &page, ANN);
    for done in 0..ITEMS {
        wait_for_done(&page, done);
        assert!(!page.shows("It names no date."), "the judge's verdict is hidden at first");
        page.press("1");
        page.wait_for("It names no date.");
        page.press("2");
        page.press("0");
        page.press("Enter");
    }
    page.wait_for("All done");
    for (name, value) in [("correctness", 1.0), ("helpfulness", 1.0), ("tool-usage", 0.0)] {
        let scores = given(&served, name);
        assert_eq!(scores.len(), ITEMS, "{name}");
        assert!(
            scores.iter().all(|score| score["value"].as_f64() == Some(value)),
            "{name}: {scores:?}"
        );
    }
}

#[test]
fn two_reviewers_at_once_never_see_the_same_item() {
    let (stage, served) = (stage(), Served::with_queue());
    let (ann, ben) = (stage.browser.page(), stage.browser.page());
    opened(&served, &ann, ANN);
    opened(&served, &ben, BEN);
    for round in 0..ITEMS / 2 {
        assert_ne!(question(&ann), question(&ben), "round {round}");
        for (nth, page) in [&ann, &ben].into_iter().enumerate() {
            page.press("1");
            page.press("Enter");
            wait_for_done(page, round * 2 + nth + 1);
        }
    }
    let scores = given(&served, "correctness");
    let mut traces: Vec<&str> =
        scores.iter().filter_map(|score| score["traceId"].as_str()).collect();
    traces.sort_unstable();
    traces.dedup();
    assert_eq!((scores.len(), traces.len()), (ITEMS, ITEMS));
}

#[test]
fn an_answer_after_the_lease_expired_is_kept_as_a_second_review() {
    let (stage, served) = (stage(), Served::with_queue());
    let (ann, ben) = (stage.browser.page(), stage.browser.page());
    opened(&served, &ann, ANN);
    opened(&served, &ben, BEN);
    let lost = question(&ann);
    let action = ann.js("document.querySelector('[data-review]').getAttribute('action')");
    let item = action.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let wanted = served
        .url(&format!("/project/{PROJECT}/queues/{}/review?item={item}", served.places["queue"]));
    ben.open(&wanted);
    ben.wait_for("This item is not free");
    // Ann's browser has slept for longer than a lease.
    served
        .change_catalog("UPDATE job SET expires_at = 0 WHERE kind = 'review' AND phase = 'leased'");
    ben.open(&wanted);
    ben.wait_for("[data-review]");
    assert_eq!(question(&ben), lost, "ben has the item now");
    ann.press("0");
    ann.press("Enter");
    ann.wait_for("Saved as a second review");
    assert_ne!(question(&ann), lost, "ann goes on to another one");
    ben.press("1");
    ben.press("Enter");
    wait_for_done(&ben, 1);
    let of_item = |score: &&Value| score["traceId"] == format!("trace-{lost}");
    let given = given(&served, "correctness");
    let mut values: Vec<_> =
        given.iter().filter(of_item).filter_map(|score| score["value"].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    assert_eq!(values, [0.0, 1.0], "both reviews are kept");
}

#[test]
fn a_refused_answer_stays_in_the_browser_with_the_reason_until_it_is_saved() {
    let (stage, served) = (stage(), Served::with_queue());
    let page = stage.browser.page();
    opened(&served, &page, ANN);
    // The page is older than the sign-in: the server refuses its token.
    let token = "document.querySelector('[data-review] [name=form_token]')";
    page.js(&format!("{token}.value = 'stale'"));
    page.press("1");
    page.press("Enter");
    page.wait_for("[data-refused]");
    assert!(page.text("[data-refused]").contains("correctness: 1"));
    assert!(page.text("[data-refused]").starts_with("Not saved: "));
    // It is there after a reload too, and is sent with the token of the new page.
    page.open(&served.url(&page.path()));
    page.wait_for("[data-refused]");
    assert!(given(&served, "correctness").is_empty());
    page.click("[data-refused] button");
    wait_for_done(&page, 1);
    assert_eq!(given(&served, "correctness").len(), 1);
    assert!(!page.shows("[data-refused]"));
}

#[test]
fn a_long_conversation_with_tool_calls_and_verdict_fits_one_screen() {
    let (stage, served) = (stage(), Served::with_queue());
    served.write(|writer| seed_long(writer, &served.places["queue"]));
    let page = stage.browser.page();
    served.sign_in_as(&page, ANN);
    page.size(Size::Screen);
    let queue = &served.places["queue"];
    page.open(&served.url(&format!("/project/{PROJECT}/queues/{queue}?status=PENDING")));
    let item = "[...document.querySelectorAll('a.row-link')].find((a) => \
                a.closest('tr').textContent.includes('double charge')).href";
    let item = page.js(item);
    page.open(item.as_str().unwrap());
    page.wait_for("[data-review]");
    let fits = |selector: &str| {
        let size = format!(
            "(({{ scrollHeight, clientHeight }}) => [scrollHeight, clientHeight])\
             (document.querySelector('{selector}'))"
        );
        let size = page.js(&size);
        assert!(size[0].as_f64() <= size[1].as_f64(), "{selector} scrolls: {size}");
    };
    for answered in [false, true] {
        if answered {
            page.press("0");
            page.wait_for("promises a date");
        }
        page.settle();
        for part in ["html", ".review-record", ".review-side", ".review-said", ".review-tools"] {
            fits(part);
        }
    }
    for shown in ["8 earlier messages", "refund_payment", "cannot promise", "Add to", "Skip"] {
        assert!(page.text("main").contains(shown), "{shown}");
    }
}

/// A trace as agents of shops have them: a conversation of some length, calls of tools, one of which
/// failed, and verdicts with reasons.
fn seed_long(writer: &Writer<'_>, queue: &str) {
    let turns = (0..4).flat_map(|nth| {
        [
            json!({ "role": "user", "content": format!("Turn {nth}: my card was charged, and the \
                parcel has not moved since Monday. What is going on with order 10{nth}7?") }),
            json!({ "role": "assistant", "content": format!("Order 10{nth}7 is with the carrier. \
                The last scan was in Leipzig on Monday at 14:05; it is late by two days.") }),
        ]
    });
    let asked = json!({ "role": "user", "content": "I see a double charge on my statement: 49.90 on \
        the 3rd and again on the 4th, for the same order. I have sent two mails already and nobody \
        answered. Please refund one of the two today, and tell me when the money is back on my card." });
    let messages: Vec<Value> = turns.chain([asked]).collect();
    let answer = "I am sorry for the trouble, and for the mails that nobody answered. I have found both \
        charges: one is the payment of order 1037, the other is an authorisation that was not released \
        because the first attempt timed out. I have asked for its release and opened a ticket with our \
        payment provider. Authorisations usually disappear within three to five working days; I cannot \
        promise a date, because your bank decides that. You will get a mail as soon as it is confirmed.";
    let mut events = vec![(
        "trace-create",
        json!({ "id": "long", "name": "refund", "userId": "customer-long", "input": messages,
            "output": { "role": "assistant", "content": answer }, "metadata": { "agent": "support" } }),
    )];
    for (nth, name) in
        ["find_order", "list_charges", "refund_payment", "open_ticket"].iter().enumerate()
    {
        let level = if *name == "refund_payment" { "ERROR" } else { "DEFAULT" };
        events.push((
            "tool-create",
            json!({ "id": format!("long-{nth}"), "traceId": "long", "name": name, "level": level,
                "input": { "order": "1037", "customer": "customer-long", "reason": "double charge" },
                "output": { "status": "ok", "charges": [{ "amount": 49.9, "at": "2026-11-03" }] } }),
        ));
    }
    let why = "The answer explains both charges and what happens next, but the refund call failed and the \
        answer does not say so; it promises a date for a mail instead of the money.";
    events.push((
        "score-create",
        json!({ "id": "long-quality", "traceId": "long", "name": "quality", "value": 0.45,
            "source": "EVAL", "comment": why, "metadata": { "judge": "offline" } }),
    ));
    writer.record(&events);
    let item = json!({ "objectId": "long", "objectType": "TRACE" });
    writer.post(&format!("/api/public/annotation-queues/{queue}/items"), &item);
}

#[test]
fn an_answer_is_taken_back_with_one_key() {
    let (stage, served) = (stage(), Served::with_queue());
    let page = stage.browser.page();
    opened(&served, &page, ANN);
    let first = question(&page);
    page.press("0");
    page.press("Enter");
    wait_for_done(&page, 1);
    assert_ne!(question(&page), first);
    page.press("u");
    wait_for_done(&page, 0);
    assert_eq!(question(&page), first);
    assert!(given(&served, "correctness").is_empty());
}

#[test]
fn an_answer_given_without_a_connection_is_sent_when_it_is_back() {
    let (stage, served) = (stage(), Served::with_queue());
    let page = stage.browser.page();
    opened(&served, &page, ANN);
    page.offline(true);
    page.press("1");
    page.press("Enter");
    page.wait_until(
        "document.querySelector('[data-status]').textContent.includes('kept in this browser')",
    );
    assert!(given(&served, "correctness").is_empty());
    page.offline(false);
    wait_for_done(&page, 1);
    assert_eq!(given(&served, "correctness").len(), 1);
}

#[test]
fn the_pages_of_reviewers_are_accessible_and_fit_one_screen() {
    let (stage, served) = (stage(), Served::with_queue());
    let page = stage.browser.page();
    opened(&served, &page, ANN);
    for (size, theme) in [(Size::Laptop, Theme::Light), (Size::Phone, Theme::Dark)] {
        page.size(size);
        page.theme(theme);
        page.settle();
        let found: Vec<String> = page.accessibility().iter().map(ToString::to_string).collect();
        assert_eq!(found, [""; 0], "{size:?}");
        assert_eq!(page.overflow(size), [""; 0], "{size:?}");
    }
    page.size(Size::Laptop);
    page.settle();
    let fits = "document.documentElement.scrollHeight <= innerHeight";
    assert_eq!(page.js(fits), true, "the page scrolls");
}
