use ratchet_core::record::score::ScoreSource;
use ratchet_stages::score::evaluators::manage;
use ratchet_store::catalog::DocumentKind;
use ratchet_testkit::build::{batch, score, trace};
use ratchet_testkit::recording::RecordBatch as _;
use serde_json::{Value, json};

use super::{Evaluating, evaluator, later, rule};

/// How often the evaluator says what people say, and on how many records; of an agent, if named.
async fn agreement(shop: &Evaluating, agent: Option<&str>) -> Option<(f64, u64)> {
    let all = manage::list_of(shop.data.folder(), &shop.shop, agent, later(60)).await.unwrap();
    all[0].agreement.map(|estimate| (estimate.value, estimate.n))
}

async fn record_score(
    shop: &Evaluating,
    (id, on): (&str, &str),
    name: &str,
    by: (f64, ScoreSource),
) {
    let given = score(id).of_trace(on).on(name).number(by.0).from(by.1).given(5_000);
    let all = batch(&shop.shop).with(given).build();
    shop.data.telemetry().record(all).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn agreement_is_that_of_the_current_version_on_the_traces_that_it_judged() {
    let mut shop = Evaluating::new().await;
    shop.store(DocumentKind::Evaluator, evaluator()).await;
    shop.store(DocumentKind::EvaluationRule, rule(&json!({}))).await;
    shop.worker.prepare().await.unwrap();
    for id in ["t-1", "t-2"] {
        shop.record(id, 0, "default").await;
    }
    let billing = batch(&shop.shop).with(trace("t-2").agent("billing")).build();
    shop.data.telemetry().record(billing).await.unwrap();
    shop.start();
    shop.quiet().await;
    assert_eq!(agreement(&shop, None).await, None, "no person has said anything");
    let person = ScoreSource::Annotation;
    for (id, correct) in [("t-1", 1.0), ("t-2", 0.0)] {
        record_score(&shop, (&format!("human-{id}"), id), "correctness", (correct, person)).await;
    }
    assert_eq!(agreement(&shop, None).await, Some((0.5, 2)));

    // Another program's score of the same name is no verdict of this evaluator.
    shop.record("other", 0, "sdk-experiment").await;
    record_score(&shop, ("sdk", "other"), "good", (1.0, ScoreSource::Eval)).await;
    record_score(&shop, ("human", "other"), "correctness", (1.0, person)).await;
    assert_eq!(agreement(&shop, None).await, Some((0.5, 2)));

    assert_eq!(agreement(&shop, Some("billing")).await, Some((0.0, 1)));
    let all = manage::list_of(shop.data.folder(), &shop.shop, Some("billing"), later(60)).await;
    assert_eq!(all.unwrap()[0].judged_of_agent, Some(1));

    let mut changed = evaluator();
    let mut next: Value = changed["versions"][0].clone();
    next["version"] = json!(2);
    changed["versions"] = json!([changed["versions"][0], next]);
    shop.store(DocumentKind::Evaluator, changed).await;
    assert_eq!(agreement(&shop, None).await, None, "the new version has judged nothing");
}
