//! Lists that are too long to look at as a whole.

use std::time::Duration;

use ratchet_testkit::build::{batch, generation, project, span, text, trace};

use crate::browser::{Answer, Site};
use crate::lists::{next_page, rows};

fn ids(page: &Answer) -> Vec<String> {
    rows(page).into_iter().map(str::to_owned).collect()
}

/// Follows a list to its end.
async fn all_pages(site: &Site, first: &str) -> (Vec<String>, usize) {
    let (mut address, mut seen, mut pages) = (first.to_owned(), Vec::new(), 0);
    loop {
        let page = site.get(&address).await;
        assert_eq!(page.status, 200, "{}", page.text);
        seen.extend(ids(&page));
        pages += 1;
        assert!(pages < 100, "the list never ends");
        if !page.text.contains("rel=\"next\"") {
            return (seen, pages);
        }
        address = next_page(&page);
    }
}

#[tokio::test]
async fn a_list_that_takes_long_says_how_far_it_came_and_goes_on() {
    let site = Site::patient_for(Duration::ZERO).await;
    let mut response = batch(&project("shop"));
    for n in 0..2_500 {
        let name = if n == 7 { "rare" } else { "usual" };
        response = response.with(trace(&format!("t{n}")).named(name).beginning(n));
        response = response
            .with(span(&format!("s{n}")).of(&format!("t{n}")).named(name).lasting(n, n + 1));
    }
    site.record(response).await;
    for (list, rare) in [("traces", "t7"), ("observations", "s7")] {
        let address = format!("/project/shop/{list}?q=name:rare");
        let first = site.get(&address).await;
        assert!(first.text.contains("No matches yet"), "{}", first.text);
        assert!(first.text.contains("Searched back to "), "{}", first.text);
        assert!(first.text.contains("Search older"), "{}", first.text);
        let (seen, pages) = all_pages(&site, &address).await;
        assert_eq!((seen, pages), (vec![rare.to_owned()], 3));
        let sorted = site.get(&format!("/project/shop/{list}?sort=-cost_usd")).await;
        assert!(sorted.text.contains("Too many rows to sort"), "{}", sorted.text);
        let newest = site.get(&format!("/project/shop/{list}")).await;
        assert_eq!(rows(&sorted), rows(&newest), "what cannot be sorted shows by its time");
        assert_eq!(next_page(&sorted), next_page(&newest));
        let (seen, _) = all_pages(&site, &format!("/project/shop/{list}?q=name:usual")).await;
        assert_eq!(seen.len(), 2_499);
        let export = format!("/project/shop/list/{list}/export?format=jsonl&q=name:rare");
        let export = site.get(&export).await;
        assert_eq!(export.text.lines().count(), 1, "an export goes on until the end");
    }
}

#[tokio::test]
async fn observations_are_sorted_by_what_they_cost_took_and_used() {
    let site = Site::open().await;
    let mut response = batch(&project("shop")).with(trace("t"));
    for n in 0..60_i64 {
        let turned = n * 7 % 60;
        let call = generation(&format!("g{n:02}")).of("t").named(&format!("n{turned:02}"));
        let call = call.lasting(n, n + 10 * turned + 1).tokens(turned.unsigned_abs(), 0);
        response = response.with(call.costing(f64::from(u8::try_from(turned).unwrap())));
    }
    site.record(response).await;
    let least_first: Vec<String> = (0..60).map(|rank| format!("g{:02}", rank * 43 % 60)).collect();
    for order in ["name", "cost_usd", "latency_seconds", "tokens"] {
        let (seen, pages) =
            all_pages(&site, &format!("/project/shop/observations?sort={order}")).await;
        assert_eq!((&seen, pages), (&least_first, 2), "{order}");
        let (mut seen, _) =
            all_pages(&site, &format!("/project/shop/observations?sort=-{order}")).await;
        seen.reverse();
        assert_eq!(seen, least_first, "-{order}");
    }
}

#[tokio::test]
async fn a_search_shows_each_trace_once_on_all_its_pages() {
    let site = Site::open().await;
    let mut response = batch(&project("shop"));
    // Each trace says it at its beginning and, much later, at its end.
    for n in 0..120_i64 {
        let id = format!("t{n:03}");
        response = response.with(trace(&id).beginning(n));
        for (what, begins) in [("a", n), ("b", 100_000 + n)] {
            let step = span(&format!("{what}{n:03}")).of(&id).lasting(begins, begins + 1);
            response = response.with(step.input(text("the parcel")));
        }
    }
    site.record(response).await;
    let (mut seen, pages) = all_pages(&site, "/project/shop/traces?q=parcel").await;
    assert!(pages > 1);
    seen.sort();
    let all: Vec<String> = (0..120).map(|n| format!("t{n:03}")).collect();
    assert_eq!(seen, all);
    let export = site.get("/project/shop/list/traces/export?format=jsonl&q=parcel").await;
    assert_eq!(export.text.lines().count(), 120);
}

/// A row is left out if anything of it has the text, whatever else is searched for.
#[tokio::test]
async fn a_negated_text_leaves_rows_out_also_alone() {
    let site = Site::open().await;
    let mut response = batch(&project("shop"));
    for n in 0..60_i64 {
        let (id, at) = (format!("t{n:02}"), n * 10);
        let asked = trace(&id).beginning(at).in_session(&format!("s{:02}", n / 2)).named("ask");
        let words = ["where is the parcel", "refund the parcel", "hello"];
        let said = words[usize::try_from(n % 3).unwrap()];
        let step = span(&format!("a{n:02}")).of(&id).lasting(at, at + 1).named("plan");
        let other = span(&format!("b{n:02}")).of(&id).lasting(at + 2, at + 3).named("answer");
        response = response.with(asked).with(step.input(text(said))).with(other);
    }
    // Nothing but the trace itself has it.
    let own = trace("t99").beginning(9_000).named("ask").input(text("refund"));
    site.record(response.with(own)).await;
    let traces = |keeps: fn(i64) -> bool| -> Vec<String> {
        (0..60).filter(|n| keeps(*n)).map(|n| format!("t{n:02}")).collect()
    };
    for (filter, expected) in [
        ("-refund", traces(|n| n % 3 != 1)),
        ("-parcel -refund", traces(|n| n % 3 == 2)),
        ("parcel -refund", traces(|n| n % 3 == 0)),
        ("-name:*ask*", Vec::new()),
        ("name:ask -parcel -hello -refund", Vec::new()),
    ] {
        let filter = filter.replace(' ', "+");
        let (mut seen, _) = all_pages(&site, &format!("/project/shop/traces?q={filter}")).await;
        seen.sort();
        assert_eq!(seen, expected, "{filter}");
        let export = format!("/project/shop/list/traces/export?format=jsonl&q={filter}");
        assert_eq!(site.get(&export).await.text.lines().count(), expected.len(), "{filter}");
    }
    // Both traces of a session count, and of observations only what they say themselves.
    let sessions = site.get("/project/shop/list/sessions/export?format=jsonl&q=-refund").await.text;
    assert_eq!(sessions.lines().count(), 10, "{sessions}");
    let export = "/project/shop/list/observations/export?format=jsonl&q=-refund";
    assert_eq!(site.get(export).await.text.lines().count(), 100);
    let page = site.get("/project/shop/traces?range=all&q=-refund").await;
    assert!(page.text.contains("found in") && !page.text.contains("Excluding"), "{}", page.text);
}

#[tokio::test]
async fn exports_come_in_the_order_of_time_and_refuse_what_they_cannot_mean() {
    let site = Site::open().await;
    let mut response = batch(&project("shop"));
    for n in 0..60_i64 {
        response = response.with(trace(&format!("t{n}")).named("x").beginning(n));
    }
    site.record(response).await;
    let export = "/project/shop/list/traces/export?format=jsonl";
    let by_name = site.get(&format!("{export}&sort=name")).await;
    assert_eq!(by_name.text, site.get(export).await.text);
    assert_eq!(by_name.text.lines().count(), 60);
    let refused = site.get("/project/shop/list/traces/export?format=poem").await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn ten_thousand_are_not_more_than_ten_thousand() {
    let site = Site::open().await;
    for hundred in 0..100 {
        let mut response = batch(&project("shop"));
        for n in 0..100 {
            response =
                response.with(trace(&format!("t{hundred}-{n}")).beginning(hundred * 100 + n));
        }
        site.record(response).await;
    }
    let page = site.get("/project/shop/traces").await;
    assert!(page.text.contains(">10,000 traces, no errors"), "{}", page.text);
    site.record(batch(&project("shop")).with(trace("more").beginning(1))).await;
    let page = site.get("/project/shop/traces").await;
    assert!(page.text.contains("More than 10,000 traces; of the newest 10,000"), "{}", page.text);
}
