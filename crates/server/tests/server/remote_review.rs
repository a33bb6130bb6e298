//! Weekly reviews of a remote Langfuse, which a second Ratchet server stands in for.

use std::sync::Arc;

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::review::metrics::Basis;
use ratchet_core::time::Timestamp;
use ratchet_stages::review::rebalancing::{self, RebalanceQuery};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw::{self, QueuePage};
use ratchet_stages::review::weekly_metrics::{self, MetricsFilter};
use ratchet_stages::source::Source;
use ratchet_store::catalog::DrawEffect;
use ratchet_testkit::build::{self, START, batch, score, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;
use serde_json::json;

use crate::client::{access, to};
use crate::harness::{OfflineMachine, TestServer, project};

/// Traces by category: thumb, judge and how many.
const EXAMPLE: [(&str, Option<f64>, f64, usize); 6] = [
    ("W1", Some(0.0), 0.2, 4),
    ("W2", Some(0.0), 0.9, 3),
    ("W3", Some(1.0), 0.2, 4),
    ("W4", Some(1.0), 0.9, 15),
    ("W5", None, 0.2, 12),
    ("W6", None, 0.9, 68),
];

async fn record_example(server: &TestServer) {
    let mut batch = batch(&project());
    for (category, thumb, quality, count) in EXAMPLE {
        for n in 0..count {
            let id = format!("{category}-{n}");
            batch = batch.with(trace(&id).beginning(1_000).named("support").release("v1"));
            for (name, value) in [("thumbs_feedback", thumb), ("quality", Some(quality))] {
                let Some(value) = value else { continue };
                let on = score(&format!("{id}-{name}")).of_trace(&id).on(name);
                batch = batch.with(on.number(value).given(2_000));
            }
        }
    }
    server.app.store.telemetry.record(batch.build()).await.unwrap();
}

async fn queued(server: &TestServer) -> (String, Vec<String>) {
    let queues = server.get("/api/public/annotation-queues").send().await.json();
    let queue = &queues["data"][0];
    let path =
        format!("/api/public/annotation-queues/{}/items?limit=100", queue["id"].as_str().unwrap());
    let items = server.get(&path).send().await.json();
    let id = |item: &serde_json::Value| item["objectId"].as_str().unwrap().to_owned();
    let items = items["data"].as_array().unwrap().iter().map(id).collect();
    (queue["name"].as_str().unwrap().to_owned(), items)
}

async fn draw(site: &ReviewSite, week: &Week, now: Timestamp) -> (DrawEffect, usize) {
    let targets = weekly_draw::targets(site, week).await.unwrap();
    assert_eq!(targets.len(), 1, "the trace's name is the agent");
    let report = weekly_draw::draw(site, week, &targets[0], now).await.unwrap();
    (report.effect, report.drawn)
}

/// People's answers about traces: what users and the judge say nothing bad of is correct.
async fn answer(server: &TestServer, traces: &[String]) {
    let mut answers = batch(&project());
    for id in traces {
        let correct = !["W1", "W2", "W5"].iter().any(|bad| id.starts_with(bad));
        let on = score(&format!("{id}-answer")).of_trace(id).on("correctness");
        answers = answers.with(on.number(f64::from(u8::from(correct))).given(90_000));
    }
    server.app.store.telemetry.record(answers.build()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_served_as_json_and_csv_and_errors_name_their_field() {
    let server = TestServer::start().await;
    record_example(&server).await;
    let site = ReviewSite::local(&server.app.store, &project());
    let week = Week::of(START, &Zone::utc());
    assert_eq!(draw(&site, &week, week.end()).await, (DrawEffect::Made, 50));
    let drawn = site.catalog.draws(project(), week.to_string()).await.unwrap().remove(0);
    let drawn: Vec<String> = drawn.traces.into_iter().map(|one| one.trace).collect();
    answer(&server, &drawn).await;
    let path = |rest: &str| format!("/api/v1/projects/{}/metrics/{rest}", project());
    let asked = format!("week?week={week}&zone=UTC");
    let found = server.get(&path(&asked)).send().await.json();
    let accuracy = &found["metrics"][0];
    let near = |value: &serde_json::Value, want: f64| {
        assert!((value.as_f64().unwrap() - want).abs() < 1e-9, "{value} for {want}");
    };
    near(&accuracy["weighted"]["value"], 87.0 / 106.0);
    near(&accuracy["weighted"]["represents"], 1.0);
    assert!(accuracy["prediction_powered"]["value"].is_number(), "{accuracy}");
    near(&found["metrics"][2]["weighted"]["value"], 19.0 / 26.0);
    let csv = server.get(&path(&format!("{asked}&format=csv"))).send().await;
    csv.check(200, ",agent_accuracy,").check(200, ",n,represents,ppi,");
    assert!(csv.header("content-type").starts_with("text/csv"));
    for (query, field) in [
        ("week?week=never", "week: "),
        ("week?zone=Mars", "zone: "),
        ("week?format=xml", "format: must be json or csv"),
        ("week?weeks=2", "weeks"),
        ("months?week=2026-03-01", "week"),
        ("rebalance?halfWidth=7", "halfWidth: "),
    ] {
        server.get(&path(query)).send().await.check(400, field);
    }
    let months = server.get(&path("months?agent=support&release=v1")).send().await.json();
    near(&months["months"][0]["agent_accuracy"]["value"], 87.0 / 106.0);
    assert_eq!(months["months"][0]["reviewed"], 50);
    for cut in ["agent=nobody", "environment=staging", "release=v2"] {
        let none = server.get(&path(&format!("months?{cut}"))).send().await.json();
        assert_eq!(none["months"], json!([]), "{cut}");
    }
    let split = server.get(&path("rebalance?halfWidth=0.2")).send().await.json();
    assert!(split["missing"][0].as_str().unwrap().starts_with("4 weeks"), "{split}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_week_of_another_server_is_drawn_into_its_queue_and_measured_by_what_was_drawn() {
    let server = TestServer::start().await;
    record_example(&server).await;
    let here = DataFolder::new();
    let journal = build::project("at-langfuse");
    let site = || {
        let source = Source::Remote(to(&server));
        ReviewSite::new(source, here.catalog().clone(), journal.clone())
    };
    let week = Week::of(START, &Zone::utc());
    assert_eq!(draw(&site(), &week, week.end()).await, (DrawEffect::Made, 50));
    let (name, items) = queued(&server).await;
    assert_eq!((name.as_str(), items.len()), ("weekly-review", 50));
    assert_eq!(draw(&site(), &week, week.end()).await.0, DrawEffect::Known);
    assert_eq!(queued(&server).await.1.len(), 50, "nothing is added twice");

    // People answer on the other server; a thumb that comes later changes no probability.
    answer(&server, &items).await;
    let late = items.iter().find(|id| id.starts_with("W6")).unwrap();
    let thumb = score("late").of_trace(late).on("thumbs_feedback").number(0.0).given(95_000);
    server.app.store.telemetry.record(batch(&project()).with(thumb).build()).await.unwrap();
    let found = weekly_metrics::metrics(&site(), &week, &MetricsFilter::default()).await.unwrap();
    assert_eq!((found.basis, found.drawn, found.drawn_reviewed), (Basis::Drawn, 50, 50));
    assert!(!found.provisional);
    let accuracy = found.metrics[0].weighted.value.unwrap();
    assert!((accuracy - 87.0 / 106.0).abs() < 1e-9, "{accuracy}");
    let months = weekly_metrics::months(&site(), &MetricsFilter::default()).await.unwrap();
    assert_eq!(months.len(), 1);
    assert!((months[0].agent_accuracy.value.unwrap() - 87.0 / 106.0).abs() < 1e-9);
    let query = RebalanceQuery { agent: None, half_width: None, now: week.end() };
    let proposal = rebalancing::propose(&site(), query).await.unwrap();
    assert_eq!((proposal.agent.as_deref(), proposal.weeks), (Some("support"), 1));
    assert!(proposal.missing[0].starts_with("4 weeks"), "{:?}", proposal.missing);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_dataset_items_are_no_traffic_here_and_on_another_server() {
    let server = TestServer::start().await;
    record_example(&server).await;
    // Production by its environment, but the run of a dataset item.
    let run = trace("run").beginning(1_000).named("support");
    server.app.store.telemetry.record(batch(&project()).with(run).build()).await.unwrap();
    for (path, body) in [
        ("v2/datasets", json!({"name": "refunds"})),
        ("dataset-items", json!({"datasetName": "refunds", "id": "i1"})),
        (
            "dataset-run-items",
            json!({"runName": "nightly", "datasetItemId": "i1", "traceId": "run"}),
        ),
    ] {
        let request = server.post(&format!("/api/public/{path}")).json(body.to_string());
        request.send().await.check(200, "");
    }
    let here = DataFolder::new();
    let remote = ReviewSite::new(
        Source::Remote(to(&server)),
        here.catalog().clone(),
        build::project("at-langfuse"),
    );
    let local = ReviewSite::local(&server.app.store, &project());
    let week = Week::of(START, &Zone::utc());
    for site in [&local, &remote] {
        let target = weekly_draw::targets(site, &week).await.unwrap().remove(0);
        let report = weekly_draw::draw(site, &week, &target, week.end()).await.unwrap();
        assert_eq!(report.traces, 106, "{report:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_of_a_project_that_reports_on_another_server_shows_the_reviews_of_that_one() {
    let (there, here) = (TestServer::start().await, TestServer::start().await);
    record_example(&there).await;
    let langfuse = Some(access(&format!("http://{}", there.web)));
    here.app.use_environment(Arc::new(OfflineMachine { langfuse }));
    let site = here.app.review_site(&project()).unwrap();
    // Its agents are those of the project here.
    let on_call = vec!["ann@shop.example".to_owned()];
    let settings = AgentSettings { on_call, review_capacity: 40, ..AgentSettings::default() };
    let catalog = &here.app.store.catalog;
    catalog.save_agent(project(), "support".into(), settings, START).await.unwrap();
    let week = Week::of(START, &Zone::utc());
    let target = weekly_draw::targets(&site, &week).await.unwrap().remove(0);
    let report = weekly_draw::draw(&site, &week, &target, week.end()).await.unwrap();
    assert_eq!((report.drawn, report.on_call.as_deref()), (40, Some("ann@shop.example")));
    let QueuePage::There(page) = report.page else { panic!("{report:?}") };
    let begin = format!("http://{}/project/{}/annotation-queues/", there.web, project());
    assert!(page.starts_with(&begin), "{page}");
    answer(&there, &queued(&there).await.1).await;
    let path = format!("/api/v1/projects/{}/metrics", project());
    let found = here.get(&format!("{path}/week?week={week}&zone=UTC")).send().await.json();
    assert_eq!((&found["drawn"], &found["drawn_reviewed"]), (&json!(40), &json!(40)), "{found}");
    let months = here.get(&format!("{path}/months?agent=support")).send().await.json();
    assert_eq!(months["months"][0]["reviewed"], 40, "{months}");
    here.stop().await;
    there.stop().await;
}
