//! The lists of traces and observations, as a browser gets them.

use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreValue;
use ratchet_testkit::build::{batch, generation, project, score, span, text, trace};

use crate::browser::{Answer, Site};

const TRACES: &str = "/project/shop/traces";

/// Three traces: one that went well, one that failed, one that is old and cheap.
pub(crate) async fn shop() -> Site {
    let site = Site::open().await;
    let response = batch(&project("shop"))
        .with(
            trace("good")
                .rooted_in("g")
                .named("refund")
                .for_user("ann")
                .tagged("vip")
                .beginning(3_000),
        )
        .with(generation("g").of("good").named("answer").calling("claude-5").lasting(3_000, 3_400))
        .with(generation("g").of("good").tokens(900, 200).costing(0.25))
        .with(generation("g").of("good").input(text("Where is my parcel?")).output(text("There.")))
        .with(trace("bad").named("=HYPERLINK(\"x\")").for_user("bob").beginning(2_000))
        .with(span("s").of("bad").named("look up").lasting(2_000, 9_000).level(Level::Error))
        .with(span("s").of("bad").because("no network"))
        .with(trace("old").named("<script>alert(1)</script>").in_session("monday").beginning(1_000))
        .with(span("o").of("old").named("step").lasting(1_000, 1_010))
        .with(score("q").on("quality").of_trace("good").number(0.9))
        .with(score("t").on("thumbs_feedback").of_trace("bad").value(ScoreValue::Boolean(false)));
    site.record(response).await;
    site
}

/// The ids of the rows, in order.
pub(crate) fn rows(page: &Answer) -> Vec<&str> {
    let parts = page.text.split("<tr data-id=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap()).collect()
}

/// The first link that follows a text.
pub(crate) fn link_after(page: &Answer, text: &str) -> String {
    let (_, rest) = page.text.split_once(text).unwrap();
    let (_, rest) = rest.split_once("href=\"").unwrap();
    rest.split('"').next().unwrap().replace("&amp;", "&")
}

/// Where the next rows are.
pub(crate) fn next_page(page: &Answer) -> String {
    let (before, _) = page.text.split_once("\" rel=\"next\"").unwrap();
    before.rsplit("href=\"").next().unwrap().replace("&amp;", "&")
}

pub(crate) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[tokio::test]
async fn filters_narrow_the_list() {
    let site = shop().await;
    let check = async |filter: &str, expected: &[&str]| {
        let page = site.get(&format!("{TRACES}?q={}", encoded(filter))).await;
        assert_eq!((page.status, rows(&page)), (200, expected.to_vec()), "{filter}");
        assert!(!page.text.contains("role=\"alert\""), "{filter} was not understood");
    };
    check("", &["good", "bad", "old"]).await;
    check("level:error", &["bad"]).await;
    check("-level:error", &["good", "old"]).await;
    check("name:ref*", &["good"]).await;
    check("name:*EFUN*", &["good"]).await;
    check("-name:*EFUN*", &["bad", "old"]).await;
    check("-model:*CLAUDE*", &["bad", "old"]).await;
    check("user:ann,bob latency>1s", &["bad"]).await;
    check("model:claude*", &["good"]).await;
    check("-model:*", &["bad", "old"]).await;
    check("cost>0.1 tokens>=1k", &["good"]).await;
    check("tag:vip", &["good"]).await;
    check("session:monday", &["old"]).await;
    check("score.quality>0.5", &["good"]).await;
    check("score.thumbs_feedback:false", &["bad"]).await;
    check("parcel", &["good"]).await;
    check("\"PARCEL?\" user:bob", &[]).await;
}

#[tokio::test]
async fn observations_are_a_list_too() {
    let site = shop().await;
    let check = async |filter: &str, expected: &[&str]| {
        let page = site.get(&format!("/project/shop/observations?q={}", encoded(filter))).await;
        assert_eq!((page.status, rows(&page)), (200, expected.to_vec()), "{filter}");
    };
    check("", &["g", "s", "o"]).await;
    check("type:generation", &["g"]).await;
    check("user:bob status:*network*", &["s"]).await;
    check("parcel type:generation", &["g"]).await;
    check("parcel type:span", &[]).await;
    let page = site.get("/project/shop/observations").await;
    assert!(
        page.text.contains("3 observations, 1 with errors in the last 7 days"),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_named_and_the_list_still_shows() {
    let site = shop().await;
    let page = site.get(&format!("{TRACES}?q={}", encoded("colour:<b> level:error"))).await;
    assert_eq!((page.status, rows(&page)), (200, vec!["bad"]));
    assert!(page.text.contains("unknown filter “colour”"), "{}", page.text);
    assert!(!page.text.contains("<b>"));
}

#[tokio::test]
async fn the_head_says_how_many() {
    let site = shop().await;
    let says = async |query: &str, words: &str| {
        let page = site.get(&format!("{TRACES}?{query}")).await;
        assert!(page.text.contains(words), "{words} in {}", page.text);
    };
    says("", "3 traces, 1 with errors in the last 7 days").await;
    says("q=user:ann", "1 of 3 traces match, no errors in the last 7 days").await;
    says("q=parcel", "1 trace found in 3 observations, back to ").await;
}

#[tokio::test]
async fn chips_and_quick_filters_are_links() {
    let site = shop().await;
    let page = site.get(&format!("{TRACES}?q=user%3Aann+level%3Aerror")).await;
    let without_user = link_after(&page, "<li class=\"chip\">");
    assert_eq!(without_user, "/project/shop/traces?q=level:error");
    let without_errors = link_after(&page, "aria-label=\"Quick filters\">");
    assert_eq!(without_errors, "/project/shop/traces?q=user:ann");
    let page = site.get(&without_user).await;
    assert_eq!(rows(&page), ["bad"]);
}

#[tokio::test]
async fn rows_come_fifty_at_a_time_in_any_order() {
    let site = Site::open().await;
    let mut response = batch(&project("shop"));
    for n in 0..120_i64 {
        let id = format!("t{n}");
        let cost = f64::from(u8::try_from(n * 7 % 120).unwrap());
        response = response.with(trace(&id).named("x").beginning(n));
        response =
            response.with(generation(&format!("g{n}")).of(&id).lasting(n, n + 1).costing(cost));
    }
    site.record(response).await;
    for order in ["-time", "time", "-cost_usd", "name"] {
        let mut address = format!("{TRACES}?sort={order}");
        let mut seen = Vec::new();
        for expected in [50, 50, 20] {
            let page = site.get(&address).await;
            assert_eq!(rows(&page).len(), expected, "{order}");
            seen.extend(rows(&page).into_iter().map(str::to_owned));
            if expected == 50 {
                address = next_page(&page);
            } else {
                assert!(!page.text.contains("rel=\"next\""));
            }
        }
        if order == "-cost_usd" {
            assert_eq!(seen.first().map(String::as_str), Some("t17"), "the dearest first");
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 120, "{order}");
    }
}

#[tokio::test]
async fn columns_are_chosen_in_the_address() {
    let site = shop().await;
    let page = site.get(&format!("{TRACES}?col=name&col=input&col=id")).await;
    let (_, head) = page.text.split_once("<thead>").unwrap();
    let (head, _) = head.split_once("</thead>").unwrap();
    assert!(head.contains("Input") && head.contains("ID") && !head.contains("Latency"), "{head}");
    assert!(page.text.contains("Where is my parcel?"));
}

#[tokio::test]
async fn a_look_shows_what_went_in_and_out() {
    let site = shop().await;
    let look = site.get("/project/shop/list/traces/peek?id=good").await;
    assert!(look.text.contains("Where is my parcel?") && look.text.contains("There."));
    assert_eq!(site.get("/project/shop/list/traces/peek?id=").await.status, 400);
    let look = site.get("/project/shop/list/observations/peek?id=nobody").await;
    assert_eq!(look.status, 200);
}

#[tokio::test]
async fn exports_are_whole_and_harmless() {
    let site = shop().await;
    let csv = site.get("/project/shop/list/traces/export?format=csv").await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    assert!(csv.header("content-disposition").starts_with("attachment; filename=\"tr"));
    assert_eq!(csv.text.matches("\r\n").count(), 4);
    assert!(csv.text.starts_with("name,time,level,latency_seconds,"), "{}", csv.text);
    assert!(csv.text.contains("\"'=HYPERLINK(\"\"x\"\")\""), "{}", csv.text);
    let jsonl = site.get("/project/shop/list/traces/export?format=jsonl&q=user:ann").await;
    let row: serde_json::Value = serde_json::from_str(&jsonl.text).unwrap();
    assert_eq!(row["id"], "good");
    assert_eq!(row["tags"], serde_json::json!(["vip"]));
    assert_eq!(row["cost_usd"], 0.25);
    let steps = site.get("/project/shop/list/observations/export?format=jsonl&q=parcel").await;
    assert_eq!(steps.text.lines().count(), 1);
    assert_eq!(site.get("/project/shop/list/traces/export?format=xls").await.status, 400);
}

#[tokio::test]
async fn whatever_has_an_id_is_found() {
    let site = shop().await;
    let leads = async |typed: &str, to: &str| {
        let answer = site.get(&format!("/project/shop/find?q={}", encoded(typed))).await;
        assert_eq!((answer.status, answer.header("location")), (303, to), "{typed}");
    };
    leads("good", "/project/shop/traces/good").await;
    leads("s", "/project/shop/traces/bad?observation=s").await;
    leads("monday", "/project/shop/sessions/monday").await;
    leads("ann", "/project/shop/users/ann").await;
    leads("level:error", "/project/shop/traces?q=level:error").await;
    leads("my parcel", "/project/shop/traces?q=my%20parcel").await;
    leads("a:b", "/project/shop/traces?q=%22a:b%22").await;
    leads("", "/project/shop/traces").await;
}

#[tokio::test]
async fn recorded_markup_is_text() {
    let site = shop().await;
    let page = site.get(TRACES).await;
    assert!(page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!page.text.contains("<script>alert"));
}

#[tokio::test]
async fn an_empty_list_teaches() {
    let site = Site::open().await;
    let page = site.get(TRACES).await;
    let command = "ratchet import claude-code --follow --server http://localhost";
    assert!(page.text.contains(command), "{}", page.text);
    assert!(page.text.contains("Connect an SDK"), "{}", page.text);
    let site = shop().await;
    let page = site.get(&format!("{TRACES}?q=user:nobody")).await;
    assert!(page.text.contains("No matches"), "{}", page.text);
}

#[tokio::test]
async fn an_address_that_somebody_mangled_is_refused() {
    let site = shop().await;
    assert_eq!(site.get(&format!("{TRACES}?cursor=x")).await.status, 400);
    assert_eq!(site.get("/project/nowhere/traces").await.status, 404);
}
