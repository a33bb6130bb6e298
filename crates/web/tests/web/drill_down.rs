//! From a chart to the list of what it counts: with its filter, and without what it leaves out.

use ratchet_core::environment::Environment;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreSource;
use ratchet_testkit::build::{batch, generation, project, score, span, trace};

use crate::browser::Site;

const PAGE: &str = "/project/shop/dashboards";

/// Links of a page to a list, as a browser reads them.
fn links(page: &str, list: &str) -> Vec<String> {
    let begin = format!("href=\"/project/shop/{list}?");
    let hrefs = page.split(begin.as_str()).skip(1).filter_map(|rest| rest.split('"').next());
    hrefs.map(|href| href.replace("&amp;", "&")).collect()
}

async fn site() -> Site {
    let site = Site::open().await;
    let judges = Environment::of_judges().to_string();
    let recorded = batch(&project("shop"))
        .with(trace("t1").named("refund"))
        .with(span("a").of("t1").named("plan").level(Level::Error).lasting(0, 40))
        .with(generation("g").of("t1").named("say").calling("gpt").costing(0.5).lasting(0, 90))
        .with(trace("j").in_environment(&judges))
        .with(generation("v").of("j").calling("gpt").in_environment(&judges).lasting(0, 9))
        .with(score("s1").on("helpful").of_trace("t1").number(0.2).from(ScoreSource::Api))
        .with(score("s2").on("helpful").of_trace("t1").number(0.9).from(ScoreSource::Eval));
    site.record(recorded).await;
    site
}

#[tokio::test]
async fn the_lists_behind_charts_leave_out_what_the_charts_leave_out() {
    let site = site().await;
    let judges = Environment::of_judges().to_string();
    let page = site.get(&format!("{PAGE}?range=all&by=model")).await.text;
    let mut found = links(&page, "observations");
    // The menu leads to the whole list.
    found.retain(|link| link != "range=all");
    assert!(!found.is_empty(), "{page}");
    for link in &found {
        assert!(link.contains("q=-env:") && link.contains(&judges), "{link}");
    }
    let by_model = found.iter().filter(|link| link.contains("model:gpt"));
    assert!(by_model.clone().any(|link| link.contains("level:error")), "error rate: {found:?}");
    assert!(by_model.clone().any(|link| link.contains("type:generation")), "latency: {found:?}");
    let home = site.get("/project/shop?range=all").await.text;
    for words in ["level:error", "model:gpt"] {
        let link = links(&home, "observations").into_iter().find(|link| link.contains(words));
        assert!(link.is_some_and(|link| link.contains("-env:")), "{words} in {home}");
    }
    let chosen = site.get(&format!("{PAGE}?range=all&by=env")).await.text;
    for link in links(&chosen, "observations") {
        assert!(!link.contains("-env"), "a chart by environment leaves none out: {link}");
    }
}

#[tokio::test]
async fn charts_of_scores_lead_to_the_scores() {
    let site = site().await;
    let mut browser = site.browser();
    browser.get(&format!("{PAGE}/all")).await;
    let made = browser.post(PAGE, &[("name", "Scores"), ("description", "")]).await;
    let board = made.header("location").split('?').next().unwrap().to_owned();
    let widgets = format!("{board}/widgets");
    let of_scores = [
        ("view", "scores-numeric"),
        ("measure", "value"),
        ("q", "name:helpful"),
        ("name", "Helpful"),
    ];
    for fields in [
        [("agg", "avg"), ("chart", "lying"), ("by", "source")],
        [("agg", "histogram"), ("chart", "histogram"), ("by", "")],
    ] {
        let fields: Vec<_> = of_scores.into_iter().chain(fields).collect();
        let saved = browser.post(&widgets, &fields).await;
        assert_eq!(saved.status, 303, "{}", saved.text);
    }
    let page = site.get(&format!("{board}?range=all")).await.text;
    let found = links(&page, "list/scores");
    let evaluators = found.iter().find(|link| link.contains("EVAL")).expect("by source");
    let list = site.get(&format!("/project/shop/list/scores?{evaluators}")).await;
    list.check(200, "0.9").check(200, "source any of EVAL").check(200, "helpful");
    assert!(!list.text.contains("<bdi>0.2</bdi>"), "{}", list.text);
    let part = found.iter().find(|link| link.contains("%3E%3D")).expect("a part of the spread");
    site.get(&format!("/project/shop/list/scores?{part}")).await.check(200, "value &gt;= ");
    let file = site.get(&format!("/project/shop/list/scores/export?format=csv&{evaluators}")).await;
    assert!(file.text.contains("s2") && !file.text.contains("s1,"), "{}", file.text);
    site.get("/project/shop/list/scores?where=%5B%7B%5D").await.check(400, "where: ");
}
