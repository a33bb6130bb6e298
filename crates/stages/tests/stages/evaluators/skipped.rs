use ratchet_core::catalog::evaluator::document::EvaluatorState;
use ratchet_stages::score::evaluators::backfill::BackfillPlan;
use ratchet_stages::score::evaluators::manage;
use ratchet_store::catalog::DocumentKind;
use ratchet_testkit::build::{batch, span, trace};
use ratchet_testkit::recording::RecordBatch as _;
use ratchet_testkit::wait;
use serde_json::{Value, json};

use super::{Evaluating, evaluator, later, rule};

#[tokio::test(flavor = "multi_thread")]
async fn traces_that_ended_long_before_they_arrive_are_left_to_a_backfill() {
    let mut shop = Evaluating::new().await;
    let mut paid = evaluator();
    paid["versions"][0]["judge"] = json!("anthropic:claude-sonnet-5");
    shop.store(DocumentKind::Evaluator, paid).await;
    shop.store(DocumentKind::EvaluationRule, rule(&json!({}))).await;
    shop.worker.prepare().await.unwrap();
    let root = span("old-root").of("old").lasting(-8_000_000, -7_990_000);
    let all = batch(&shop.shop).with(trace("old").named("agent")).with(root).build();
    shop.data.telemetry().record(all).await.unwrap();
    shop.start();
    let is_counted = async || {
        let all = manage::list(shop.data.folder(), &shop.shop, later(60)).await.unwrap();
        all[0].last_day.skipped == 1 && all[0].queue.waiting == 0
    };
    wait::until_async("the trace is counted", is_counted).await;
    let a_week_later = later(7 * 86_400);
    let all = manage::list(shop.data.folder(), &shop.shop, a_week_later).await.unwrap();
    assert_eq!((all[0].last_day.skipped, all[0].skipped_last_30_days), (0, 1));
    let plan = BackfillPlan { since: None, limit: 10 };
    let estimate = shop.worker.estimate(&shop.shop, ("good", plan)).await.unwrap();
    assert_eq!((estimate.records, estimate.judged), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_while_an_evaluator_cannot_run_is_counted() {
    let no_judge = |evaluator: &mut Value| evaluator["versions"][0]["judge"] = Value::Null;
    let paused = |evaluator: &mut Value| {
        evaluator["paused"] = json!({"since": "2026-11-15T12:00:00Z", "reason": "too strict"});
    };
    for (change, why) in [(paused as fn(&mut Value), "too strict"), (no_judge, "modelConfig")] {
        let mut shop = Evaluating::new().await;
        let mut idle = evaluator();
        change(&mut idle);
        shop.store(DocumentKind::Evaluator, idle).await;
        shop.store(DocumentKind::EvaluationRule, rule(&json!({}))).await;
        shop.worker.prepare().await.unwrap();
        shop.record("t-1", 0, "default").await;
        shop.start();
        shop.quiet().await;
        let all = manage::list(shop.data.folder(), &shop.shop, later(60)).await.unwrap();
        let EvaluatorState::Paused(_, said) = &all[0].state else { panic!("{all:?}") };
        assert!(said.contains(why), "{said}");
        assert_eq!((all[0].last_day.skipped, all[0].last_day.judged), (1, 0), "{why}");
    }
}
