use ratchet_agent::budget::{Allowance, Budget, BudgetExceeded};
use ratchet_agent::error::ModelError;
use ratchet_agent::request::{CacheablePart, LlmRequest, ResponseFormat, ToolSpec};
use ratchet_core::money::Money;
use ratchet_core::record::tokens::Provenance;
use ratchet_testkit::scripted::{Call, Reply, ScriptedModel, Tokens};
use serde_json::json;

use crate::kit;

fn says(text: &str) -> Reply {
    let tokens =
        Tokens { input: 100, cache_read: 1_000, cache_write: 200, output: 10, reasoning: 0 };
    Reply { text: text.to_owned(), tokens, ..Reply::default() }
}

#[tokio::test]
async fn an_answer_comes_with_what_it_used_and_cost() {
    let server = ScriptedModel::start().unwrap();
    server.script([says("Blue light scatters.")]);
    let model = kit::anthropic(&server);
    let budget = Budget::unlimited();
    let system = vec![CacheablePart::cached("Be brief.")];
    let answer =
        model.complete(&LlmRequest { system, ..LlmRequest::new("Why?") }, &budget).await.unwrap();
    assert_eq!(answer.text, "Blue light scatters.");
    assert_eq!((answer.tokens().count, answer.provenance), (1_310, Provenance::Verified));
    // Dollars per million: 2 fresh, 0.2 read, 2.5 written, 10 out.
    assert_eq!(answer.cost, Money::from_dollars(0.0002 + 0.0002 + 0.0005 + 0.0001));
    assert_eq!((budget.spent().tokens, Some(budget.spent().money)), (1_310, answer.cost));
    let [asked] = &server.requests()[..] else { panic!("asked more than once") };
    assert_eq!(asked["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(asked["messages"][0]["content"][0]["text"], "Why?");
}

#[tokio::test]
async fn a_document_fits_its_schema_or_is_no_answer() {
    let server = ScriptedModel::start().unwrap();
    let hand_in = |input| Call { id: "t1".to_owned(), name: "answer".to_owned(), input };
    let reply = |input| Reply { calls: vec![hand_in(input)], ..says("") };
    server.script([
        reply(json!({"score": 1})),
        reply(json!({"score": "high"})),
        says("{\"score\":2}"),
    ]);
    let model = kit::anthropic(&server);
    let schema = json!({"type": "object", "required": ["score"],
                        "properties": {"score": {"type": "integer"}}});
    let ask = LlmRequest {
        response_format: ResponseFormat::Json(schema),
        ..LlmRequest::new("How good?")
    };
    let budget = Budget::unlimited();
    let answer = model.complete(&ask, &budget).await.unwrap();
    assert_eq!((answer.json, answer.calls.len()), (Some(json!({"score": 1})), 0));
    let Err(ModelError::InvalidResponse(bad)) = model.complete(&ask, &budget).await else {
        panic!("no")
    };
    assert!(bad.why.contains("/score") && bad.said.contains("high"), "{bad:?}");
    assert!(bad.bill.cost.is_some());
    assert_eq!(model.complete(&ask, &budget).await.unwrap().json, Some(json!({"score": 2})));
    assert_eq!(server.requests()[0]["tool_choice"]["name"], "answer");
}

#[tokio::test]
async fn tools_are_called() {
    let server = ScriptedModel::start().unwrap();
    let call = Call { id: "t1".to_owned(), name: "look".to_owned(), input: json!({"at": "sky"}) };
    server.script([Reply { calls: vec![call], ..says("") }]);
    let (name, description) = ("look".to_owned(), "Looks.".to_owned());
    let tools = vec![ToolSpec { name, description, input: json!({"type": "object"}) }];
    let model = kit::anthropic(&server);
    let answer = model
        .complete(&LlmRequest { tools, ..LlmRequest::new("?") }, &Budget::unlimited())
        .await
        .unwrap();
    assert_eq!(answer.calls[0].input, json!({"at": "sky"}));
}

#[tokio::test]
async fn nothing_is_sent_that_could_exceed_the_budget() {
    let server = ScriptedModel::start().unwrap();
    let model = kit::anthropic(&server);
    let budget =
        Budget::new(Allowance { money: Money::from_dollars(0.01), ..Allowance::default() });
    let refused =
        model.complete(&LlmRequest { max_tokens: 1_001, ..LlmRequest::new("?") }, &budget).await;
    assert!(
        matches!(refused, Err(ModelError::OverBudget(BudgetExceeded::Money { .. }))),
        "{refused:?}"
    );
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn tokens_are_counted_by_the_provider() {
    let server = ScriptedModel::start().unwrap();
    server.count_tokens_as(100);
    let count = kit::anthropic(&server).count(&LlmRequest::new("?")).await.unwrap();
    assert_eq!((count.count, count.provenance), (100, Provenance::Measured));
}
