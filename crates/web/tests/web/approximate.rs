use std::time::Duration;

use ratchet_stages::record::count;
use ratchet_testkit::build::{batch, generation, project, text, trace};

use crate::browser::Site;

const MODELS: &str = "/project/shop/settings/models";

/// One user with two model calls that cost something: one said its usage, one was counted here.
async fn site() -> Site {
    let site = Site::open().await;
    let priced = "modelName=house&matchPattern=%5Ehouse%24&unit=TOKENS\
                  &pricingTiers=input%200.15%0Aoutput%200.6";
    let saved = site.post(MODELS, MODELS, priced).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let call = |id: &str| generation(id).of("t").named("answer").lasting(-1_000, 0);
    let response = batch(&project("shop"))
        .with(trace("t").named("ask").for_user("ann").in_session("s").beginning(-1_000))
        .with(call("said").calling("house").tokens(1_000_000, 0))
        .with(call("counted").calling("house").output(text(&"word ".repeat(2_000))));
    site.record(response).await;
    site.advance(Duration::from_secs(10));
    let slice = count::next(site.data.folder(), site.now()).await.unwrap();
    assert_eq!(slice.len(), 1);
    let counts = count::count(slice);
    count::write(site.data.folder(), counts, site.now()).await.unwrap();
    site
}

/// Checks that a page marks tokens and cost, and says how much of the cost is approximate.
async fn check(site: &Site, page: &str, marks: &[&str]) {
    let shown = site.get(page).await;
    assert_eq!(shown.status, 200, "{page}: {}", shown.text);
    for mark in marks {
        assert!(shown.text.contains(mark), "{mark} in {page}: {}", shown.text);
    }
}

#[tokio::test]
async fn every_sum_says_how_much_of_it_is_approximate() {
    let site = site().await;
    // A million tokens that were said for 15 cents, and 2,000 that were counted.
    let (cost, tokens, share) = ("≈$0.1512", "≈1.0 M", "of which ≈$0.0012 approximate");
    for page in [
        "/project/shop/users",
        "/project/shop/users/ann",
        "/project/shop/sessions",
        "/project/shop/sessions/s",
        "/project/shop/traces",
        "/project/shop/traces/t",
        "/project/shop?range=all",
        "/project/shop/dashboards?range=all",
        "/project/shop/dashboards?range=all&by=model",
        "/project/shop/dashboards?range=all&by=user",
    ] {
        check(&site, page, &[cost, tokens, share]).await;
    }
    let panels =
        [&format!("n = 2 observations, {share}"), "partly estimated", "partly approximate"];
    check(&site, "/project/shop/dashboards?range=all", &panels).await;
    check(&site, "/project/shop?range=all", &[&format!("<small class=\"note\">{share}")]).await;
    check(&site, "/project/shop/users/ann", &[&format!("n = 1 trace, {share}")]).await;
}

#[tokio::test]
async fn a_chart_of_costs_says_how_much_of_them_is_approximate() {
    let site = site().await;
    let made =
        site.post("/project/shop/dashboards/all", "/project/shop/dashboards", "name=x").await;
    assert_eq!(made.status, 303, "{}", made.text);
    let page = made.header("location").split('?').next().unwrap_or_default().to_owned();
    let chart = |asked: &str| format!("{page}/widgets?range=all&measure=totalCost&{asked}");
    let whole = "of which ≈$0.0012 approximate";
    for asked in ["bars&by=name", "lying&by=name", "table&by=userId", "line"] {
        check(&site, &chart(&format!("agg=sum&chart={asked}")), &[whole]).await;
    }
    check(&site, &chart("agg=sum&chart=number"), &[whole, ">≈$0.1512<"]).await;
    check(&site, &chart("agg=p95&chart=number"), &["partly approximate"]).await;
    let narrowed = site.get(&chart("agg=sum&chart=number&q=tokens%3E%3D10000")).await.text;
    assert!(!narrowed.contains(whole), "{narrowed}");
}
