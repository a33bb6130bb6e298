use ratchet_stages::score::evaluators::backfill::BackfillPlan;
use ratchet_store::catalog::DocumentKind;
use serde_json::json;

use super::{Evaluating, OfflineMachine, code_evaluator, rule, worker_on};

#[tokio::test(flavor = "multi_thread")]
async fn code_gives_several_scores_and_runs_in_node_too() {
    let mut shop = Evaluating::new().await;
    shop.worker = worker_on(&shop.data, OfflineMachine { runs_code: true });
    let mut in_node = code_evaluator(
        "export function evaluate(ctx) {
            console.log('seen');
            const length = ctx.observation.output.length;
            return { scores: [{ name: 'tone', value: 'kind' }, { name: 'length', value: length }] };
        }",
    );
    in_node["versions"][0]["sourceCodeLanguage"] = json!("TYPESCRIPT");
    shop.store(DocumentKind::Evaluator, in_node).await;
    shop.store(DocumentKind::EvaluationRule, rule(&json!({}))).await;
    shop.worker.prepare().await.unwrap();
    shop.record("t-1", 0, "default").await;
    let (_, tested) = shop.worker.test(&shop.shop, ("good", 1)).await.unwrap();
    assert_eq!(tested.len(), 2, "{tested:?}");
    shop.start();
    shop.quiet().await;
    let mut names: Vec<String> =
        shop.verdicts().await.into_iter().map(|score| score.name).collect();
    names.sort();
    assert_eq!(names, ["length", "tone"]);
    let plan = BackfillPlan { since: None, limit: 10 };
    let estimate = shop.worker.estimate(&shop.shop, ("good", plan)).await.unwrap();
    assert_eq!((estimate.records, estimate.judged), (1, 1));
}
