//! The values that lists offer to filter by, and how many rows have each.

use ratchet_core::catalog::agent::AgentSettings;
use ratchet_testkit::build::{START, batch, project, span, text, trace};

use crate::browser::{Site, id};

/// The menu of a field.
#[track_caller]
fn facet<'a>(page: &'a str, title: &str) -> &'a str {
    let opening = format!("aria-label=\"Filter: {title}\"");
    let (_, rest) = page.split_once(&opening).unwrap_or_else(|| panic!("{title} in {page}"));
    rest.split("</details>").next().unwrap()
}

#[tokio::test]
async fn values_are_counted_among_the_rows_that_a_text_search_found() {
    let site = Site::open().await;
    let said = |name: &str, user: &str, words: &str| {
        let step = span(&format!("{name}-a")).of(name).named(user).input(text(words));
        let asked = trace(name).for_user(user).in_session(user).input(text(words));
        batch(&project("shop")).with(asked).with(step)
    };
    site.record(said("t1", "ann", "where is the parcel")).await;
    site.record(said("t2", "bob", "refund me")).await;
    for (list, title) in [("traces", "User"), ("sessions", "User"), ("observations", "Name")] {
        let all = site.get(&format!("/project/shop/{list}?range=all")).await.text;
        let shown = facet(&all, title);
        assert!(shown.contains("ann") && shown.contains("bob"), "{list}: {shown}");
        let found = site.get(&format!("/project/shop/{list}?range=all&q=parcel")).await.text;
        let shown = facet(&found, title);
        assert!(shown.contains("ann") && !shown.contains("bob"), "{list}: {shown}");
        assert!(shown.contains(">1<"), "{list}: {shown}");
    }
}

#[tokio::test]
async fn counts_from_hourly_sums_are_marked_as_approximate() {
    let site = Site::open().await;
    let recorded = batch(&project("shop")).with(span("a").of("t").named("plan"));
    site.record(recorded.with(span("b").of("t").named("plan"))).await;
    let sums = site.get("/project/shop/observations?range=all").await.text;
    assert!(facet(&sums, "Name").contains("≈2"), "{sums}");
    let read = site.get("/project/shop/observations?range=all&q=level:default").await.text;
    assert!(facet(&read, "Name").contains(">2<"), "{read}");
}

#[tokio::test]
async fn aliases_of_an_agent_are_one_agent_in_lists() {
    let site = Site::open().await;
    let settings = AgentSettings { aliases: vec!["bot-v1".to_owned()], ..AgentSettings::default() };
    site.data.catalog().save_agent(id("shop"), "bot".into(), settings, START).await.unwrap();
    let recorded = batch(&project("shop"))
        .with(trace("t1").agent("bot").in_session("s1"))
        .with(trace("t2").agent("bot-v1").in_session("s1").beginning(1))
        .with(trace("t3").agent("bot-v1").in_session("s2").beginning(2))
        .with(trace("t4").agent("clerk").in_session("s3").beginning(3));
    site.record(recorded).await;
    for (list, count) in [("traces", 3), ("sessions", 2)] {
        let page = site.get(&format!("/project/shop/{list}?range=all")).await.text;
        let shown = facet(&page, "Agent");
        assert!(!shown.contains("bot-v1"), "{list}: {shown}");
        let bot = shown.split_once("<bdi>bot</bdi>").unwrap().1.split("</a>").next().unwrap();
        assert!(bot.contains(&format!(">{count}<")), "{list}: {shown}");
        for scope in ["agent=bot", "q=agent:bot-v1"] {
            let page = site.get(&format!("/project/shop/{list}?range=all&{scope}")).await.text;
            let rows = page.matches("<tr data-id=").count();
            assert_eq!(rows, count, "{list} {scope}: {page}");
        }
    }
}
