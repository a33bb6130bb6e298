use ratchet_agent::batch::{BatchFound, BatchId, BatchProgress, BatchRequest};
use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::error::ModelError;
use ratchet_agent::request::{LlmRequest, ResponseFormat};
use ratchet_core::money::Money;
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};
use serde_json::json;

use crate::kit;

fn asks(names: &[&str]) -> Vec<BatchRequest> {
    let ask = |name: &str| LlmRequest {
        response_format: ResponseFormat::Json(json!({"type": "object", "required": ["score"]})),
        ..LlmRequest::new(format!("How good is {name}?"))
    };
    names.iter().map(|name| BatchRequest { name: (*name).to_owned(), ask: ask(name) }).collect()
}

#[tokio::test]
async fn answers_come_under_their_names_for_half_the_price() {
    let server = ScriptedModel::start().unwrap();
    server.batches_take(1);
    let score = |score: u32| Reply::document(json!({"score": score}));
    server.say(score(1).on("one"));
    server.say(Reply::failing(Failure::Status(500)).on("two"));
    server.say(Reply::document(json!({})).on("three"));
    let (model, budget) = (kit::anthropic(&server), Budget::unlimited());
    let asks = asks(&["one", "two", "three"]);
    let id = model.submit_batch(&asks, &budget).await.unwrap();
    let working = BatchProgress::Working { done: 0, of: 3 };
    assert_eq!(model.batch_progress(&id).await.unwrap(), working);
    assert_eq!(model.batch_progress(&id).await.unwrap(), BatchProgress::Done);
    let answers = model.batch_answers(&id, &asks, &budget).await.unwrap();
    let of = |name: &str| &answers.iter().find(|(known, _)| known == name).unwrap().1;
    let one = of("one").as_ref().unwrap();
    assert_eq!(one.json, Some(json!({"score": 1})));
    // A hundred tokens in for $2 a million, ten out for $10, and half of that.
    assert_eq!(one.cost, Money::from_dollars(0.000_15));
    assert!(matches!(of("two"), Err(ModelError::Overloaded { .. })));
    assert!(matches!(of("three"), Err(ModelError::InvalidResponse(_))));
    assert_eq!((budget.spent().calls, budget.spent().tokens), (2, 220));
}

#[tokio::test]
async fn a_batch_is_found_again_by_the_name_of_a_question() {
    let server = ScriptedModel::start().unwrap();
    server.say_always(Reply::document(json!({"score": 1})));
    let (model, budget) = (kit::anthropic(&server), Budget::unlimited());
    assert_eq!(model.find_batch("one").await.unwrap(), BatchFound::Nowhere);
    let mut ids = Vec::new();
    for names in [["one", "two"], ["three", "four"]] {
        ids.push(model.submit_batch(&asks(&names), &budget).await.unwrap());
    }
    let newest_first: Vec<BatchId> = ids.iter().rev().cloned().collect();
    assert_eq!(model.find_batch("two").await.unwrap(), BatchFound::Perhaps(newest_first));
    for id in &ids {
        model.batch_progress(id).await.unwrap();
    }
    assert_eq!(model.find_batch("two").await.unwrap(), BatchFound::Done(ids[0].clone()));
    assert_eq!(model.find_batch("five").await.unwrap(), BatchFound::Nowhere);
}

#[tokio::test]
async fn a_batch_fits_the_budget_and_the_provider_or_is_not_handed_in() {
    let server = ScriptedModel::start().unwrap();
    let model = kit::anthropic(&server);
    let tokens = Some(10);
    let small = Budget::new(Allowance { tokens, ..Allowance::default() });
    let error = model.submit_batch(&asks(&["one"]), &small).await.unwrap_err();
    assert!(matches!(error, ModelError::OverBudget(_)), "{error}");
    let budget = Budget::unlimited();
    let error = model.submit_batch(&asks(&["no spaces"]), &budget).await.unwrap_err();
    assert!(error.to_string().contains("no spaces"), "{error}");
    let error = kit::openai(&server).submit_batch(&asks(&["one"]), &budget).await.unwrap_err();
    assert!(error.to_string().contains("anthropic can"), "{error}");
    assert_eq!(server.heard().len(), 0);
}
