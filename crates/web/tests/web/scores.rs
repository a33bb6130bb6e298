use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_testkit::build::{batch, project, score, trace};

use crate::browser::Site;

fn label(label: &str) -> ScoreValue {
    ScoreValue::Categorical { label: label.to_owned(), number: None }
}

async fn site() -> Site {
    let site = Site::open().await;
    let mut response = batch(&project("shop"));
    for n in 0_i32..10 {
        let (id, at) = (format!("t{n}"), i64::from(n) * 1_000 - 60_000);
        let (model, person) = (f64::from(n) / 10.0, f64::from(n) / 10.0 + 0.05);
        let yes = ScoreValue::Boolean(n < 9);
        let outcome = label(if n % 3 == 0 { "<i>lost" } else { "solved" });
        let given =
            |name: &str, kind: &str| score(&format!("{kind}{n}")).on(name).of_trace(&id).given(at);
        response = response
            .with(trace(&id).beginning(at))
            .with(given("quality", "m").number(model).from(ScoreSource::Eval))
            .with(given("quality", "h").number(person).from(ScoreSource::Annotation))
            .with(given("ok", "b").value(yes))
            .with(given("outcome", "l").value(outcome).comment("why <b>not</b>"));
    }
    site.record(response).await;
    site
}

#[tokio::test]
async fn every_name_says_what_it_says_and_how_sure_it_is() {
    let site = site().await;
    let shown = site.get("/project/shop/scores").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    // The mean of 0 to 0.9 with the interval of bounded values, and nine of ten with Wilson's.
    for part in
        ["3 score types", "0.45", " to 0.6", "90%", "60 to 98%", "source=EVAL", "badge human"]
    {
        assert!(shown.text.contains(part), "{part} in {}", shown.text);
    }
    assert!(!shown.text.contains('±'), "intervals of bounded values are not symmetric");
    assert!(!shown.text.contains("<i>lost") && shown.text.contains("class=\"mini"));
    let none = site.get("/project/shop/scores?env=nowhere").await;
    assert!(none.text.contains("No scores in this time range"));
}

#[tokio::test]
async fn one_name_shows_how_its_values_lie_and_the_newest() {
    let site = site().await;
    let shown = site.get("/project/shop/scores/quality").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for part in ["20 scores", "Distribution", "Over time, mean", "All sources", "/traces/t9"] {
        assert!(shown.text.contains(part), "{part} in {}", shown.text);
    }
    let model = site.get("/project/shop/scores/quality?source=EVAL").await.text;
    assert_eq!(model.matches("<bdi>Distribution").count(), 1);
    let labels = site.get("/project/shop/scores/outcome").await.text;
    assert!(labels.contains("&lt;i&gt;lost") && !labels.contains("<i>lost"));
    assert!(labels.contains("why &lt;b&gt;not"), "{labels}");
    let nothing = site.get("/project/shop/scores/none").await;
    assert!(nothing.text.contains("No scores with this name"));
    assert_eq!(site.get("/project/shop/scores/quality?cursor=x").await.status, 400);
}

#[tokio::test]
async fn scores_show_who_really_judged_on_every_page() {
    let site = Site::open().await;
    let given = |id: &str, name: &str| score(id).on(name).of_trace("t").given(-60_000).number(1.0);
    let scores = batch(&project("shop"))
        .with(trace("t").beginning(-60_000))
        .with(given("a", "user-feedback"))
        .with(given("b", "reply-rate"))
        .with(given("c", "tone").by("ann", "config", "queue"))
        .with(given("d", "remote").metadata("judge", r#""anthropic""#))
        .with(given("e", "rules").metadata("judge", r#""offline""#));
    site.record(scores).await;
    let expected = [
        ("user-feedback", "human"),
        ("reply-rate", "code"),
        ("tone", "human"),
        ("remote", "model"),
        ("rules", "code"),
    ];
    let list = site.get("/project/shop/scores").await.text;
    let of_trace = site.get("/project/shop/traces/t").await.text;
    let column = |name: &str| format!("/project/shop/traces?col=name&col=score:{name}");
    for (name, by) in expected {
        let row = list.split("<tr data-id=").find(|row| row.contains(&format!("title=\"{name}\"")));
        let row = row.unwrap_or_else(|| panic!("{name} in {list}"));
        assert!(row.contains(&format!("badge {by}")), "{name}: {row}");
        let (_, verdict) = of_trace.split_once(&format!("<bdi>{name}</bdi>")).unwrap();
        let verdict = verdict.split("</li>").next().unwrap();
        assert!(verdict.contains(&format!("badge {by}")), "{name}: {verdict}");
        let page = site.get(&format!("/project/shop/scores/{name}")).await.text;
        assert!(page.contains(&format!("badge {by}")), "{name}: {page}");
        let traces = site.get(&column(name)).await.text;
        assert!(traces.contains(&format!("<span class=\"{by}\"")), "{name}: {traces}");
    }
}

#[tokio::test]
async fn a_score_may_be_named_like_a_page() {
    let site = Site::open().await;
    let given = score("s").on("compare").of_trace("t").given(-60_000).number(0.5);
    site.record(batch(&project("shop")).with(given)).await;
    let all = site.get("/project/shop/scores").await.text;
    let link = "/project/shop/scores/named/compare";
    assert!(all.contains(&format!("href=\"{link}?source=API\"")), "{all}");
    let one = site.get(link).await.text;
    assert!(one.contains("<h1>compare</h1>") && one.contains("0.5"), "{one}");
}

#[tokio::test]
async fn numbers_are_compared_as_points_and_labels_as_a_table() {
    let site = site().await;
    let form = site.get("/project/shop/scores/compare").await;
    assert!(form.text.contains("value=\"EVAL:quality\""), "{}", form.text);
    let address = "/project/shop/scores/compare?a=EVAL:quality&b=ANNOTATION:quality";
    let points = site.get(address).await.text;
    assert!(points.contains("10 pairs") && !points.contains("0.05 ± 0<"), "{points}");
    assert_eq!(points.matches("<circle").count(), 20, "one against the other, and how far apart");
    for part in ["Pearson", "1.00", "Upper limit", "0.05"] {
        assert!(points.contains(part), "{part} in {points}");
    }
    let table = site.get("/project/shop/scores/compare?a=ok&b=outcome").await.text;
    assert!(table.contains("class=\"matrix\"") && table.contains("Exact agreement"), "{table}");
    assert!(table.contains("&lt;i&gt;lost") && !table.contains("<i>lost"));
    assert!(table.contains("AC1") && table.contains("Cohen's kappa"), "{table}");
    let none = site.get("/project/shop/scores/compare?a=ok&b=nothing").await.text;
    assert!(none.contains("No trace has both scores"));
}
