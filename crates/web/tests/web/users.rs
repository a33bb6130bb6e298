use ratchet_core::record::observation::Level;
use ratchet_testkit::build::{batch, generation, project, score, span, trace};

use crate::browser::Site;

async fn site() -> Site {
    let site = Site::open().await;
    let response = batch(&project("shop"))
        .with(trace("t1").named("ask").for_user("ann").in_session("s").beginning(-9_000))
        .with(trace("t2").named("ask").for_user("ann").beginning(-5_000).in_environment("beta"))
        .with(trace("t3").named("ask").for_user("bob/<b>").beginning(-1_000))
        .with(generation("g1").of("t1").lasting(-9_000, -8_000).tokens(100, 20).costing(0.5))
        .with(generation("g2").of("t2").lasting(-5_000, -4_000).tokens(7, 3).costing(0.25))
        .with(span("g3").of("t3").lasting(-1_000, 0).level(Level::Error))
        .with(score("q").on("helpful").of_trace("t1").number(0.5).given(-7_000));
    site.record(response).await;
    site
}

#[tokio::test]
async fn users_are_listed_with_what_they_took() {
    let site = site().await;
    let shown = site.get("/project/shop/users").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for part in ["2 users", "/project/shop/users/ann", "$0.7500", "bob/&lt;b&gt;"] {
        assert!(shown.text.contains(part), "{part} in {}", shown.text);
    }
    let at = |part: &str| shown.text.find(part).unwrap();
    assert!(at(">bob/") < at(">ann<"), "last seen first");
    let dear = site.get("/project/shop/users?order=cost").await.text;
    assert!(dear.find(">ann<") < dear.find(">bob/"), "the dearest first");
    let named = site.get("/project/shop/users?q=AN").await.text;
    assert!(named.contains(">ann<") && !named.contains(">bob/"));
    let in_beta = site.get("/project/shop/users?env=beta").await.text;
    assert!(in_beta.contains("$0.2500") && in_beta.contains("1 user"));
    let none = site.get("/project/shop/users?env=nowhere").await.text;
    assert!(none.contains("No users in this time range"));
}

#[tokio::test]
async fn one_user_has_sessions_traces_cost_and_scores() {
    let site = site().await;
    let shown = site.get("/project/shop/users/ann").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for part in [
        "$0.7500",
        "Cost over time",
        "Mean scores over time",
        "helpful",
        "/sessions/s",
        "/traces/t2",
    ] {
        assert!(shown.text.contains(part), "{part} in {}", shown.text);
    }
    let odd = site.get("/project/shop/users/bob%2F%3Cb%3E").await;
    assert_eq!(odd.status, 200);
    assert!(odd.text.contains("/traces/t3") && !odd.text.contains("bob/<b>"));
    let nobody = site.get("/project/shop/users/nobody").await;
    assert!(nobody.text.contains("No traces of this user in this time range"));
}
