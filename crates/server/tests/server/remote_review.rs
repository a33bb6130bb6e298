//! Weekly reviews of a remote Langfuse, which a second Ratchet server stands in for.

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::review::metrics::Basis;
use ratchet_core::time::Timestamp;
use ratchet_stages::review::rebalancing::{self, RebalanceQuery};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw;
use ratchet_stages::review::weekly_metrics::{self, MetricsFilter};
use ratchet_stages::source::Source;
use ratchet_store::catalog::DrawEffect;
use ratchet_testkit::build::{self, START, batch, score, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;

use crate::client::to;
use crate::harness::{TestServer, project};

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
    let mut answers = batch(&project());
    for id in &items {
        let correct = !["W1", "W2", "W5"].iter().any(|bad| id.starts_with(bad));
        let on = score(&format!("{id}-answer")).of_trace(id).on("correctness");
        answers = answers.with(on.number(f64::from(u8::from(correct))).given(90_000));
    }
    let late = items.iter().find(|id| id.starts_with("W6")).unwrap();
    let thumb = score("late").of_trace(late).on("thumbs_feedback").number(0.0).given(95_000);
    server.app.store.telemetry.record(answers.with(thumb).build()).await.unwrap();
    let found = weekly_metrics::metrics(&site(), &week, &MetricsFilter::default()).await.unwrap();
    assert_eq!((found.basis, found.drawn, found.drawn_reviewed), (Basis::Drawn, 50, 50));
    assert!(!found.provisional);
    let accuracy = found.metrics[0].weighted.value.unwrap();
    assert!((accuracy - 87.0 / 106.0).abs() < 1e-9, "{accuracy}");
    let months = weekly_metrics::months(&site()).await.unwrap();
    assert_eq!(months.len(), 1);
    assert!((months[0].agent_accuracy.value.unwrap() - 87.0 / 106.0).abs() < 1e-9);
    let query = RebalanceQuery { agent: None, half_width: None, now: week.end() };
    let proposal = rebalancing::propose(&site(), query).await.unwrap();
    assert_eq!((proposal.agent.as_deref(), proposal.weeks), (Some("support"), 1));
    assert!(proposal.missing[0].starts_with("4 weeks"), "{:?}", proposal.missing);
    server.stop().await;
}
