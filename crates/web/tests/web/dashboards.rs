//! The overview, and dashboards that people make.

use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreSource;
use ratchet_store::catalog::Role;
use ratchet_testkit::build::{batch, generation, project, score, span, trace};
use ratchet_testkit::recording::RecordBatch;

use crate::browser::{Browser, Site};

const PAGE: &str = "/project/shop/dashboards";

async fn filled() -> Site {
    let site = Site::open().await;
    let shop = project("shop");
    let response = batch(&shop)
        .with(trace("t1").for_user("ann").tagged("vip").tagged("new"))
        .with(span("a").of("t1").named("<i>plan</i>").level(Level::Error).lasting(0, 40))
        .with(trace("t2").for_user("bob"))
        .with(generation("b").of("t2").named("answer").calling("gpt").costing(0.5).lasting(0, 90));
    site.record(response).await;
    site
}

#[tokio::test]
async fn the_overview_has_every_measure_by_every_dimension() {
    let site = filled().await;
    let all = site.get(&format!("{PAGE}?range=all")).await;
    for title in ["Observations", "Error rate", "Cost (USD)", "Tokens", "p50", "p95", "p99"] {
        assert!(all.text.contains(title), "{title}");
    }
    for by in [
        "model",
        "name",
        "type",
        "env",
        "agent",
        "trace-name",
        "user",
        "session",
        "tag",
        "release",
        "version",
        "level",
        "prompt",
    ] {
        let split = site.get(&format!("{PAGE}?range=all&by={by}")).await;
        assert_eq!(split.status, 200, "{by}");
        assert!(split.text.contains("class=\"by-key\""), "{by} has a table of its keys");
    }
    let users = site.get(&format!("{PAGE}?range=all&by=user")).await.text;
    assert!(users.contains(">ann<") && users.contains(">bob<"), "{users}");
    assert!(site.get(&format!("{PAGE}?range=all&by=tag")).await.text.contains("new, vip"));
    let names = site.get(&format!("{PAGE}?range=all&by=name")).await.text;
    assert!(names.contains("&lt;i&gt;plan") && !names.contains("<i>plan"), "{names}");
}

#[tokio::test]
async fn the_time_before_is_drawn_and_told_in_words() {
    let site = Site::open().await;
    let days = |days: i64| -days * 86_400_000;
    let response = batch(&project("shop"))
        .with(trace("t1").beginning(days(3)))
        .with(span("a").of("t1").beginning(days(3)))
        .with(span("b").of("t1").beginning(days(3)))
        .with(trace("t2").beginning(days(10)))
        .with(span("c").of("t2").beginning(days(10)));
    site.record(response).await;
    let week = site.get(&format!("{PAGE}?range=7d")).await.text;
    assert!(week.contains("+100% vs. previous 7 days"), "{week}");
    assert!(week.contains("class=\"before\""), "{week}");
    let from_to = "from=2001-01-01T00:00&to=2001-01-02T00:00";
    let old = site.get(&format!("{PAGE}?{from_to}")).await.text;
    assert!(
        old.contains("2001-01-01 to 2001-01-02") && old.contains("No traces in this time range"),
        "{old}"
    );
}

#[tokio::test]
async fn next_to_nothing_is_not_compared_with() {
    let site = Site::open().await;
    let days = |days: i64| -days * 86_400_000;
    let mut response = batch(&project("shop")).with(span("old").of("t").beginning(days(10)));
    for n in 0..50 {
        response = response.with(span(&format!("s{n}")).of("t").beginning(days(3)));
    }
    site.record(response).await;
    let week = site.get(&format!("{PAGE}?range=7d")).await.text;
    assert!(week.contains("50 observations") && !week.contains("×"), "{week}");
    assert!(!week.contains("class=\"before\""), "{week}");
}

#[tokio::test]
async fn one_agent_is_looked_at_alone_on_every_page() {
    let site = Site::open().await;
    let response = batch(&project("shop"))
        .with(trace("t1").agent("desk"))
        .with(span("a").of("t1").named("plan").agent("desk").level(Level::Error))
        .with(span("b").of("t1").named("say").agent("desk"))
        .with(trace("t2").agent("clerk"))
        .with(span("c").of("t2").named("file").agent("clerk"));
    site.record(response).await;
    let all = site.get(&format!("{PAGE}?range=all&by=agent")).await.text;
    assert!(all.contains("agent=desk\""), "a row leads to the agent alone: {all}");
    let one = site.get(&format!("{PAGE}?range=all&by=name&agent=desk")).await.text;
    assert!(one.contains("2 observations") && !one.contains(">file<"), "{one}");
    assert!(one.contains("aria-label=\"Agent: desk\"") && one.contains(">all agents<"), "{one}");
    let home = site.get("/project/shop?range=all&agent=desk").await.text;
    assert!(home.contains("2 observations"), "{home}");
    assert!(home.contains("/project/shop/traces?agent=desk"), "{home}");
}

/// A member's browser on a new dashboard with one chart, and the address of the dashboard.
async fn with_chart(fields: &[(&str, &str)]) -> (Site, Browser, String) {
    let site = Site::new().await;
    let response = batch(&project("shop"))
        .with(trace("t1").for_user("ann"))
        .with(span("a").of("t1").named("plan").level(Level::Error).lasting(0, 40))
        .with(generation("b").of("t1").named("say").calling("gpt").costing(0.5).lasting(0, 90));
    site.data.telemetry().record(response.build()).await.unwrap();
    site.person("m@shop.example", Role::Member).await;
    let mut browser = site.signed_in("m@shop.example").await;
    browser.get(&format!("{PAGE}/all")).await.check(200, "No custom dashboards yet");
    let made = browser.post(PAGE, &[("name", "<b>Support</b>"), ("description", "")]).await;
    assert_eq!(made.status, 303, "{}", made.text);
    let page = made.header("location").split('?').next().unwrap_or_default().to_owned();
    browser.get(&page).await.check(200, "&lt;b&gt;Support").check(200, "No charts yet");
    let saved = browser.post(&format!("{page}/widgets"), fields).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    (site, browser, page)
}

const COST: [(&str, &str); 5] = [
    ("name", "Cost <i>by</i> model"),
    ("measure", "totalCost"),
    ("agg", "sum"),
    ("by", "providedModelName"),
    ("chart", "lying"),
];

#[tokio::test]
async fn a_chart_is_made_by_form_and_drawn_from_the_metrics() {
    let (_site, mut browser, page) = with_chart(&COST).await;
    let all = format!("{page}?range=all");
    let shown = browser.get(&all).await;
    shown.check(200, "Cost &lt;i&gt;by&lt;/i&gt; model").check(200, ">gpt<").check(200, "$0.5000");
    shown.check(200, "total cost by model").check(200, "n = 2");
    for chart in
        ["line", "area", "bars", "lying", "standing", "shares", "number", "histogram", "table"]
    {
        let preview =
            format!("{page}/widgets?range=all&measure=latency&agg=p95&by=name&chart={chart}");
        let drawn = browser.get(&preview).await;
        drawn.check(200, "class=\"chart");
        assert!(!drawn.text.contains("No data in this time range"), "{chart}: {}", drawn.text);
    }
    let narrowed = format!("{page}/widgets?range=all&q=level:error&by=name&chart=lying");
    let narrowed = browser.get(&narrowed).await;
    narrowed.check(200, ">plan<").check(200, "n = 1");
    let nonsense = browser.get(&format!("{page}/widgets?q=nonsense:1")).await;
    nonsense.check(200, "filter is not valid yet").check(200, "nonsense");
    let text = [("name", "x"), ("q", "\"free text\"")];
    browser.post(&format!("{page}/widgets"), &text).await.check(400, "free text");
    browser.post(&format!("{page}/widgets"), &[("name", "")]).await.check(400, "name: must have");
}

#[tokio::test]
async fn tiles_are_moved_resized_copied_and_taken_off() {
    let (_site, mut browser, page) = with_chart(&COST).await;
    let second = [("name", "Steps"), ("chart", "number")];
    browser.post(&format!("{page}/widgets"), &second).await;
    let edit = format!("{page}?edit=1&range=all");
    let shown = browser.get(&edit).await.text;
    let tile = |text: &str| -> String {
        let (_, after) = text.split_once("/tiles/").unwrap();
        after.split(['?', '"']).next().unwrap().to_owned()
    };
    assert!(shown.contains("tile x-0 w-6 h-6") && shown.contains("tile x-6 w-3 h-3"), "{shown}");
    let first = format!("{page}/tiles/{}", tile(&shown));
    for wish in ["wider", "taller", "later"] {
        assert_eq!(browser.post(&first, &[("do", wish)]).await.status, 303, "{wish}");
    }
    let moved = browser.get(&edit).await.text;
    assert!(moved.contains("tile x-3 w-8 h-7"), "{moved}");
    assert_ne!(tile(&moved), tile(&shown), "the other one is first now");
    assert_eq!(browser.post(&first, &[("do", "clone")]).await.status, 303);
    browser.get(&edit).await.check(200, "model (copy)");
    assert_eq!(browser.post(&first, &[("do", "off")]).await.status, 303);
    browser.get(&edit).await.check(200, "Add an existing chart");
    browser.post(&first, &[("do", "wider")]).await.check(404, "placement");
    assert_eq!(browser.post(&page, &[("do", "remove")]).await.status, 303);
    assert_eq!(browser.get(&page).await.status, 404);
}

#[tokio::test]
async fn a_chart_is_changed_and_a_dashboard_narrowed() {
    let (_site, mut browser, page) = with_chart(&COST).await;
    let edit = browser.get(&format!("{page}?edit=1")).await.text;
    let (_, after) = edit.split_once("/widgets/").unwrap();
    let widget = format!("{page}/widgets/{}", after.split(['?', '"']).next().unwrap());
    browser.get(&widget).await.check(200, "value=\"Cost &lt;i&gt;by");
    let change = [("name", "Steps"), ("measure", "count"), ("by", "name"), ("chart", "table")];
    assert_eq!(browser.post(&widget, &change).await.status, 303);
    let all = format!("{page}?range=all");
    browser.get(&all).await.check(200, "observations by name").check(200, ">plan<");
    let narrow = [("do", "change"), ("name", "Support"), ("q", "level:error")];
    assert_eq!(browser.post(&page, &narrow).await.status, 303);
    let narrowed = browser.get(&all).await;
    narrowed.check(200, "level:ERROR").check(200, ">plan<");
    assert!(!narrowed.text.contains(">say<"), "what did not fail is left out");
    let bad = [("do", "change"), ("name", "Support"), ("q", "\"text\"")];
    browser.post(&page, &bad).await.check(400, "is for lists only");
    assert_eq!(browser.post(&widget, &[("do", "delete")]).await.status, 303);
    browser.get(&all).await.check(200, "No charts yet");
}

#[tokio::test]
async fn viewers_look_and_change_nothing() {
    let (site, _, page) = with_chart(&COST).await;
    site.person("v@shop.example", Role::Viewer).await;
    let mut viewer = site.signed_in("v@shop.example").await;
    let seen = viewer.get(&format!("{page}?edit=1&range=all")).await;
    seen.check(200, ">gpt<");
    assert!(!seen.text.contains("value=\"off\"") && !seen.text.contains("Add chart"));
    viewer.get(&format!("{page}/widgets")).await.check(403, "viewer");
    viewer.post(PAGE, &[("name", "x")]).await.check(403, "viewer");
    viewer.post(&page, &[("do", "remove")]).await.check(403, "viewer");
    let elsewhere = page.replace("shop", "lab");
    assert_eq!(viewer.get(&elsewhere).await.status, 404, "of a project they do not see");
}

#[tokio::test]
async fn figures_of_all_environments_leave_out_judges_and_experiments() {
    let site = Site::open().await;
    let shop = project("shop");
    let call = |id: &str, environment: &str| {
        let name = format!("{environment}-call");
        generation(id).of(id).named(&name).in_environment(environment).costing(0.5).lasting(0, 40)
    };
    let judges = "langfuse-llm-as-a-judge";
    let recorded = batch(&shop)
        .with(trace("a").in_environment("prod"))
        .with(call("a", "prod"))
        .with(trace("b").in_environment(judges))
        .with(call("b", judges))
        .with(trace("c").in_environment("sdk-experiment"))
        .with(call("c", "sdk-experiment"));
    site.record(recorded).await;
    let names = |scope: &str| format!("{PAGE}?range=all&by=name{scope}");
    let all = site.get(&names("")).await.text;
    assert!(all.contains("prod-call"), "{all}");
    assert!(!all.contains("judge-call") && !all.contains("experiment-call"), "{all}");
    assert!(all.contains("leave out judges and experiments"), "the menu says so");
    let judged = site.get(&names(&format!("&env={judges}"))).await.text;
    assert!(judged.contains("judge-call") && !judged.contains("prod-call"), "{judged}");
    let by_environment = site.get(&format!("{PAGE}?range=all&by=env")).await.text;
    assert!(by_environment.contains(judges), "{by_environment}");
    let home = site.get("/project/shop?range=all").await.text;
    assert!(home.contains("$0.5000") && !home.contains("$1.50"), "{home}");
}

/// Seven models: the first is called most, each costs more than the one before.
async fn record_models(site: &Site) {
    let mut recorded = batch(&project("shop")).with(trace("m"));
    for model in 0_u8..7 {
        for nth in 0..if model == 0 { 9 } else { 1 } {
            let call = generation(&format!("c{model}-{nth}")).of("m").named("call");
            let cost = 0.5 * f64::from(model + 1) / if model == 0 { 9.0 } else { 1.0 };
            let call = call.calling(&format!("model-{model}")).costing(cost);
            recorded = recorded.with(call.lasting(0, 100 * i64::from(model + 1)));
        }
    }
    site.record(recorded).await;
}

/// Texts in the order in which a page says them; all must be there.
#[track_caller]
fn are_in_order(page: &str, texts: &[&str]) {
    let mut rest = page;
    for text in texts {
        let (_, after) = rest.split_once(text).unwrap_or_else(|| panic!("{text} in {page}"));
        rest = after;
    }
}

#[tokio::test]
async fn series_are_ranked_by_what_is_charted_and_the_rest_stands_together() {
    let site = Site::open().await;
    record_models(&site).await;
    let made = site.post(&format!("{PAGE}/all"), PAGE, "name=Models").await;
    let page = made.header("location").split('?').next().unwrap_or_default().to_owned();
    let chart = |fields: &str| format!("{page}/widgets?range=all&by=providedModelName&{fields}");
    let cost = site.get(&chart("measure=totalCost&agg=sum&chart=bars")).await.text;
    let of_cost = cost.split("Show as table").nth(1).unwrap();
    are_in_order(of_cost, &["model-6", "model-5", "model-4", "model-3", "model-2", "others"]);
    assert!(!cost.contains(">model-0<"), "the cheapest is among the others: {cost}");
    let count = site.get(&chart("measure=count&agg=count&chart=bars")).await.text;
    are_in_order(count.split("Show as table").nth(1).unwrap(), &["model-0", "others"]);
}

#[tokio::test]
async fn tables_of_charts_are_sorted_and_every_mark_leads_to_its_records() {
    let site = Site::open().await;
    record_models(&site).await;
    let made = site.post(&format!("{PAGE}/all"), PAGE, "name=Models").await;
    let page = made.header("location").split('?').next().unwrap_or_default().to_owned();
    let widgets = format!("{page}/widgets");
    let saved = async |fields: &str| {
        let answer = site.post(&widgets, &widgets, fields).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
    };
    saved("name=T&measure=totalCost&agg=sum&by=providedModelName&chart=table").await;
    let all = format!("{page}?range=all");
    let shown = site.get(&all).await.text;
    are_in_order(&shown, &["model-6", "model-5", "model-1", "model-0"]);
    let (_, sort) = shown.split_once("sort=").unwrap();
    let (widget, _) = sort.split_once('~').or_else(|| sort.split_once("%7E")).unwrap();
    let sorted = site.get(&format!("{all}&sort={widget}~1~asc")).await.text;
    are_in_order(&sorted, &["model-0", "model-1", "model-5", "model-6"]);
    saved("name=X&measure=count&agg=count&by=providedModelName&then=name&chart=table").await;
    let shown = site.get(&all).await.text;
    let crossed = shown.rsplit("<figure").next().unwrap();
    assert!(crossed.contains("q=model:model-0%20name:call"), "both keys: {crossed}");
    assert!(crossed.contains("sort="), "{crossed}");
    saved("name=H&measure=latency&agg=histogram&chart=histogram").await;
    let shown = site.get(&all).await.text;
    let histogram = shown.rsplit("<figure").next().unwrap();
    let (_, link) = histogram.split_once("data-href=\"").unwrap_or_else(|| panic!("{histogram}"));
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    assert!(link.contains("latency"), "{link}");
    let list = site.get(&link).await;
    list.check(200, "call");
    assert!(!list.text.contains("role=\"alert\""), "the filter is understood: {link}");
}

#[tokio::test]
async fn latency_of_traces_and_of_model_calls_are_told_apart() {
    let site = Site::open().await;
    let recorded = batch(&project("shop"))
        .with(trace("t"))
        .with(span("s").of("t").lasting(0, 9_000))
        .with(generation("g").of("t").calling("gpt").lasting(0, 1_000));
    site.record(recorded).await;
    let page = site.get(&format!("{PAGE}?range=all")).await.text;
    are_in_order(&page, &["p50 trace latency", "9.00 s", "p50 model call latency", "1.00 s"]);
}

/// A mean of scores is of one judge: the others get lines, bars or rows of their own.
#[tokio::test]
async fn scores_of_two_judges_are_never_one_figure() {
    let fields =
        [("name", "Tone"), ("view", "scores-numeric"), ("measure", "value"), ("agg", "avg")];
    let (site, mut browser, page) = with_chart(&fields).await;
    let given = |id: &str, judge: &str, value: f64| {
        let score = score(id).on("tone").of_trace("t1").number(value).from(ScoreSource::Eval);
        score.metadata("judge", &format!("\"{judge}\"")).metadata("rubric_version", "1")
    };
    let first = batch(&project("shop"))
        .with(given("a", "offline", 0.5))
        .with(given("b", "offline", 0.75))
        .with(given("old", "offline", 0.0).metadata("superseded_by", "\"a\""));
    site.data.telemetry().record(first.build()).await.unwrap();
    let chart = |kind: &str, by: &str| {
        format!(
            "{page}/widgets?range=all&view=scores-numeric&measure=value&agg=avg&by={by}&chart={kind}"
        )
    };
    let alone = browser.get(&chart("number", "")).await;
    alone.check(200, "0.625").check(200, "n = 2").check(200, "judged by offline, rubric version 1");
    let second = batch(&project("shop")).with(given("c", "gpt-9", 0.1)).build();
    site.data.telemetry().record(second).await.unwrap();
    let number = browser.get(&chart("number", "")).await;
    number.check(200, "0.625").check(200, "scores by others are left out");
    for kind in ["line", "lying", "table"] {
        let split = browser.get(&chart(kind, "name")).await;
        split.check(200, "offline, rubric version 1").check(200, "gpt-9, rubric version 1");
        split.check(200, "by name and judge");
    }
}
