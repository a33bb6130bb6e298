//! Scores as columns of lists, and one row beside the list.

use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_testkit::build::{batch, generation, project, score, text, trace};

use crate::browser::{Answer, Site};

const TRACES: &str = "/project/shop/traces";

async fn shop() -> Site {
    let site = Site::open().await;
    let word = |label: &str| ScoreValue::Categorical { label: label.to_owned(), number: None };
    let response = batch(&project("shop"))
        .with(trace("one").rooted_in("g").named("<i>refund</i>").beginning(2_000))
        .with(generation("g").of("one").named("answer").lasting(2_000, 2_500))
        .with(generation("g").of("one").input(text("Where is it?")).output(text("=There")))
        .with(trace("two").named("other").beginning(1_000))
        .with(score("a").on("quality").of_trace("one").number(0.5))
        .with(score("b").on("quality").of_trace("one").number(1.0))
        .with(score("c").on("=tone").of_trace("one").value(word("<b>kind</b>")))
        .with(score("d").on("quality").of_trace("two").number(0.25));
    site.record(response).await;
    site
}

#[track_caller]
fn check(page: &Answer, words: &str) {
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains(words), "{words} in {}", page.text);
}

#[tokio::test]
async fn scores_are_columns_that_people_choose() {
    let site = shop().await;
    let page = site.get(TRACES).await;
    check(&page, "value=\"score:quality\"");
    assert!(!page.text.contains("mean of 2"), "nobody chose it");
    let page =
        site.get(&format!("{TRACES}?col=name&col=score%3Aquality&col=score%3A%3Dtone")).await;
    check(&page, "<span class=\"code\" title=\"mean of 2 by code\">0.75");
    check(&page, "<span class=\"code\" title=\"one score by code\">0.25");
    check(&page, "<bdi>&lt;b&gt;kind&lt;/b&gt;</bdi>");
    assert!(!page.text.contains("<b>kind"), "a score is text, never markup");
}

/// Verdicts of several judges, and those that a newer one took the place of, have no common mean.
#[tokio::test]
async fn a_cell_says_who_judged_and_leaves_superseded_verdicts_out() {
    let site = Site::open().await;
    let given = |id: &str, judge: &str, value: f64| {
        let score = score(id).on("quality").of_trace("one").from(ScoreSource::Eval);
        score
            .metadata("judge", &format!("\"{judge}\""))
            .metadata("rubric_version", "2")
            .number(value)
    };
    let response = batch(&project("shop"))
        .with(trace("one").beginning(1_000))
        .with(given("old", "offline", 0.1).metadata("superseded_by", "2"))
        .with(given("new", "offline", 0.9))
        .with(given("other", "anthropic:m", 0.4));
    site.record(response).await;
    let page = site.get(&format!("{TRACES}?col=name&col=score%3Aquality")).await;
    check(&page, "class=\"code\" title=\"one score by offline, rubric version 2\">0.9");
    check(&page, "class=\"model\" title=\"one score by anthropic:m, rubric version 2\">0.4");
    assert!(!page.text.contains("mean of"), "{}", page.text);
    let page = site.get("/project/shop/scores/quality").await;
    check(&page, "3 scores");
    check(&page, "without 1 superseded by a newer verdict");
    check(&page, "code, offline, rubric version 2");
}

#[tokio::test]
async fn exports_have_all_scores() {
    let site = shop().await;
    let lines = site.get("/project/shop/list/traces/export?format=jsonl").await;
    let rows = lines.text.lines().map(|line| serde_json::from_str(line).unwrap());
    let rows: Vec<serde_json::Value> = rows.collect();
    assert_eq!(rows[0]["scores"], serde_json::json!({"quality": 0.75, "=tone": "<b>kind</b>"}));
    assert_eq!(rows[1]["scores"], serde_json::json!({"quality": 0.25}));
    let table = site.get("/project/shop/list/traces/export?format=csv").await;
    assert!(table.text.lines().next().unwrap().ends_with(",scores"), "{}", table.text);
    assert!(!table.text.contains(",="), "no cell begins as a formula: {}", table.text);
}

#[tokio::test]
async fn one_row_is_shown_beside_the_list() {
    let site = shop().await;
    let page = site.get(&format!("{TRACES}?peek=one&timestamp=2026-01-01T00:00:00Z")).await;
    check(&page, "data-peeked=\"one\"");
    check(&page, "Where is it?");
    check(&page, "href=\"/project/shop/traces/one\"");
    assert!(!page.text.contains("<i>refund"), "a name is text, never markup");
    let step = site.get(&format!("{TRACES}?peek=one&observation=g")).await;
    check(&step, "href=\"/project/shop/traces/one?observation=g\"");
    check(&site.get("/project/shop/observations?peek=g").await, "data-peeked=\"g\"");
    check(&site.get("/project/shop/observations?peek=one").await, "Where is it?");
    check(&site.get("/project/shop/list/traces/panel?peek=two").await, "other");
    let nothing = site.get(&format!("{TRACES}?peek=%3Cb%3Enobody")).await;
    check(&nothing, "No record with the ID");
    assert!(!nothing.text.contains("<b>nobody"));
}

/// What Langfuse's SDKs print and its pages link to.
#[tokio::test]
async fn deep_links_lead_to_their_pages() {
    let site = shop().await;
    let response =
        batch(&project("shop")).with(trace("three").in_session("monday").for_user("ann"));
    site.record(response).await;
    for (address, words) in [
        ("/project/shop/traces/one", "Where is it?"),
        ("/project/shop/traces/one?observation=g&timestamp=2026-01-01T00:00:00.000Z", "answer"),
        ("/project/shop/traces?peek=one", "data-peeked"),
        ("/project/shop/sessions/monday", "monday"),
        ("/project/shop/users/ann", "ann"),
        ("/project/shop/datasets", "Datasets"),
        ("/project/shop/prompts", "Prompts"),
    ] {
        check(&site.get(address).await, words);
    }
    let led = site.get("/trace/one").await;
    assert_eq!((led.status, led.header("location")), (303, "/project/shop/traces/one"));
}
