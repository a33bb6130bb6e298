//! Lists that get rows as they come.

use ratchet_testkit::build::{batch, project, span, trace};

use crate::browser::{Answer, Site};
use crate::lists::{link_after, rows, shop};

const TRACES: &str = "/project/shop/list/traces/newer";
const OBSERVATIONS: &str = "/project/shop/list/observations/newer";

/// The moment up to which a page or a piece of it shows everything.
fn arrived(page: &Answer) -> &str {
    let (_, rest) = page.text.split_once("data-arrived=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn what_came_is_shown_once() {
    let site = shop().await;
    let page = site.get("/project/shop/traces").await;
    let newer = format!("{TRACES}?after={}", arrived(&page));
    assert_eq!(rows(&site.get(&newer).await), Vec::<&str>::new());
    let later = batch(&project("shop")).with(trace("new").named("n").beginning(4_000));
    site.record(later).await;
    let fragment = site.get(&newer).await;
    assert_eq!(rows(&fragment), ["new"]);
    let again = site.get(&format!("{TRACES}?after={}", arrived(&fragment))).await;
    assert_eq!(rows(&again), Vec::<&str>::new());
    assert_eq!(site.get(&format!("{TRACES}?after=x")).await.status, 400);
}

#[tokio::test]
async fn what_began_long_ago_or_lies_ahead_is_shown_when_it_comes() {
    let site = shop().await;
    let page = site.get("/project/shop/observations").await;
    let newer = format!("{OBSERVATIONS}?after={}", arrived(&page));
    let late = span("late").of("good").named("late").lasting(-30_000, 3_500);
    let ahead = span("ahead").of("good").named("ahead").beginning(9_000_000);
    site.record(batch(&project("shop")).with(ahead)).await;
    site.record(batch(&project("shop")).with(late)).await;
    assert_eq!(rows(&site.get(&newer).await), ["ahead", "late"]);
    let filtered = site.get(&format!("{newer}&q=name:late")).await;
    assert_eq!(rows(&filtered), ["late"]);
    let traces = site.get(&format!("{TRACES}?after={}", arrived(&page))).await;
    assert_eq!(rows(&traces), ["good"], "a trace changes when a step of it comes");
}

#[tokio::test]
async fn more_than_one_answer_holds_comes_with_the_next() {
    let site = Site::open().await;
    let empty = site.get("/project/shop/traces?q=name:x").await;
    assert!(empty.text.contains("data-live="), "an empty list can go live too");
    let mut response = batch(&project("shop"));
    for n in 0..120 {
        response = response.with(trace(&format!("t{n}")).named("x").beginning(n));
    }
    site.record(response).await;
    let (mut seen, mut after) = (Vec::new(), arrived(&empty).to_owned());
    loop {
        let piece = site.get(&format!("{TRACES}?q=name:x&after={after}")).await;
        seen.extend(rows(&piece).into_iter().map(str::to_owned));
        arrived(&piece).clone_into(&mut after);
        if !piece.text.contains("data-more") {
            break;
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 120);
}

#[tokio::test]
async fn links_of_rows_that_came_lead_to_the_list() {
    let site = shop().await;
    let page = site.get("/project/shop/traces").await;
    let later = trace("new").named("n").tagged("beta").beginning(4_000);
    site.record(batch(&project("shop")).with(later)).await;
    let address = format!("{TRACES}?col=tags&q=user%3A-ann&after={}", arrived(&page));
    let fragment = site.get(&address.replace("&q=user%3A-ann", "")).await;
    let tagged = link_after(&fragment, "class=\"badges\">");
    assert_eq!(tagged, "/project/shop/traces?col=tags&q=tag:beta");
    assert_eq!(rows(&site.get(&tagged).await), ["new"]);
}
