use std::time::Duration;

use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::error::ModelError;
use ratchet_agent::request::{
    CacheablePart, LlmRequest, ResponseFormat, ToolCall, ToolOutcome, ToolResult, ToolSpec, Turn,
};
use ratchet_agent::response::StopReason;
use ratchet_core::record::tokens::Provenance;
use ratchet_testkit::scripted::{Call, Failure, Reply, ScriptedModel, Tokens};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::kit;

fn schema() -> Value {
    json!({"type": "object", "properties": {"score": {"type": "integer"}},
           "required": ["score"], "additionalProperties": false})
}

fn document() -> LlmRequest {
    LlmRequest { response_format: ResponseFormat::Json(schema()), ..LlmRequest::new("How good?") }
}

#[tokio::test]
async fn streamed_and_plain_responses_are_equal() {
    let server = ScriptedModel::start().unwrap();
    for model in kit::each(&server).await {
        let tokens =
            Tokens { input: 100, cache_read: 50, cache_write: 0, output: 10, reasoning: 0 };
        let reply = Reply { tokens, ..Reply::text("Blue light scatters.") };
        server.script([reply.clone(), reply]);
        let (budget, mut parts) = (Budget::unlimited(), String::new());
        let whole = model.complete(&LlmRequest::new("Why?"), &budget).await.unwrap();
        let mut listener = |piece: &str| parts.push_str(piece);
        let streamed =
            model.stream(&LlmRequest::new("Why?"), &budget, &mut listener).await.unwrap();
        assert_eq!(
            (parts.as_str(), &*whole.text),
            ("Blue light scatters.", "Blue light scatters.")
        );
        assert_eq!((whole.usage.total(), whole.provenance), (160, Provenance::Verified));
        assert_eq!((&whole.usage, whole.cost), (&streamed.usage, streamed.cost), "{model:?}");
        assert_eq!((whole.stop, streamed.stop), (StopReason::Done, StopReason::Done));
        assert!(whole.cost.is_some() && whole.request.is_some(), "{model:?}");
        assert_eq!(budget.spent().tokens, 320);
    }
}

#[tokio::test]
async fn documents_are_checked() {
    let server = ScriptedModel::start().unwrap();
    for model in kit::each(&server).await {
        let (good, bad) = (json!({"score": 1}), json!({"score": "high"}));
        server.script([Reply::document(good.clone()), Reply::document(good), Reply::document(bad)]);
        let budget = Budget::unlimited();
        let answer = model.complete(&document(), &budget).await.unwrap();
        assert_eq!((answer.json, answer.calls), (Some(json!({"score": 1})), Vec::new()));
        let streamed = model.stream(&document(), &budget, &mut |_| {}).await.unwrap();
        assert_eq!((streamed.json, streamed.stop), (Some(json!({"score": 1})), StopReason::Done));
        let Err(ModelError::InvalidResponse(bad)) = model.complete(&document(), &budget).await
        else {
            panic!("{model:?} takes anything")
        };
        assert!(bad.why.contains("/score") && bad.said.contains("high"), "{bad:?}");
        assert!(bad.bill.cost.is_some());
    }
}

#[tokio::test]
async fn tools_are_called_and_answered() {
    let server = ScriptedModel::start().unwrap();
    let (name, description) = ("look".to_owned(), "Looks.".to_owned());
    let tool = ToolSpec { name, description, input: json!({"type": "object"}) };
    for model in kit::each(&server).await {
        let (id, name) = ("t1".to_owned(), "look".to_owned());
        let call = Call { id, name, input: json!({"at": "sky"}) };
        let calls = Reply { calls: vec![call], ..Reply::text("") };
        server.script([calls.clone(), calls, Reply::text("Blue.").on("It is blue.")]);
        let budget = Budget::unlimited();
        let mut ask = LlmRequest { tools: vec![tool.clone()], ..LlmRequest::new("What colour?") };
        let answer = model.complete(&ask, &budget).await.unwrap();
        let streamed = model.stream(&ask, &budget, &mut |_| {}).await.unwrap();
        assert_eq!((&answer.calls, &answer.stop), (&streamed.calls, &StopReason::Tools));
        let (id, name) = ("t1".to_owned(), "look".to_owned());
        assert_eq!(answer.calls, [ToolCall { id, name, input: json!({"at": "sky"}) }]);
        ask.turns.push(Turn::Model { text: answer.text, calls: answer.calls });
        let (text, outcome) = ("It is blue.".to_owned(), ToolOutcome::Fine);
        ask.turns.push(Turn::Tools(vec![ToolResult { id: "t1".to_owned(), text, outcome }]));
        assert_eq!(model.complete(&ask, &budget).await.unwrap().text, "Blue.");
    }
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_and_a_strict_one_is_not() {
    let server = ScriptedModel::start().unwrap();
    let fails = |status| Reply::failing(Failure::Status(status));
    for model in kit::each(&server).await {
        let later = Reply::failing(Failure::Later(429, 0));
        server.script([fails(529), later, Reply::text("at last")]);
        let budget = Budget::unlimited();
        let answer = model.complete(&LlmRequest::new("?"), &budget).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.attempts), ("at last", 3));
        assert_eq!(budget.spent().tokens, answer.usage.total(), "failures cost nothing");
        for status in [400, 401, 404] {
            server.script([fails(status)]);
            let error = model.complete(&LlmRequest::new("?"), &budget).await.unwrap_err();
            assert!(!error.is_passing(), "{error}");
            assert_eq!(server.requests().len(), 1, "{error}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_wants_an_hour_is_not_waited_for() {
    let server = ScriptedModel::start().unwrap();
    for model in kit::each(&server).await {
        server.script([Reply::failing(Failure::Later(429, 3_600))]);
        let error = model.complete(&LlmRequest::new("?"), &Budget::unlimited()).await.unwrap_err();
        let hour = Some(Duration::from_secs(3_600));
        assert!(
            matches!(error, ModelError::RateLimited { retry_after } if retry_after == hour),
            "{error} from {model:?}"
        );
    }
}

#[tokio::test]
async fn a_cut_stream_is_retried_unless_text_was_passed_on() {
    let server = ScriptedModel::start().unwrap();
    let long = "Blue light scatters more than red light does. ".repeat(20);
    for model in kit::each(&server).await {
        let cut = Reply { failure: Some(Failure::Cut), ..Reply::text(&long) };
        server.script([cut.clone(), Reply::text("whole"), cut]);
        let budget = Budget::unlimited();
        let answer = model.complete(&LlmRequest::new("?"), &budget).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.attempts), ("whole", 2));
        assert!(budget.spent().tokens > answer.usage.total(), "what broke off may be billed");
        let mut streamed = 0;
        let mut listener = |_: &str| streamed += 1;
        let error = model.stream(&LlmRequest::new("?"), &budget, &mut listener).await.unwrap_err();
        assert!(matches!(error, ModelError::CutStream(_)), "{error} from {model:?}");
        assert!(streamed > 0, "{model:?}");
        assert_eq!(server.requests().len(), 3, "{model:?}");
    }
}

#[tokio::test]
async fn an_invalid_response_is_an_error() {
    let server = ScriptedModel::start().unwrap();
    for model in kit::each(&server).await {
        let nonsense = Reply { failure: Some(Failure::Malformed), ..Reply::text("hm") };
        server.say_always(nonsense);
        let whole = model.complete(&LlmRequest::new("?"), &Budget::unlimited()).await.unwrap_err();
        let text = whole.to_string();
        assert!(text.contains("is invalid") || text.contains("was cut off"), "{text}");
        server.script([]);
    }
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let server = ScriptedModel::start().unwrap();
    server.say_always(Reply::failing(Failure::Endless));
    for model in kit::each(&server).await {
        let error = model.complete(&LlmRequest::new("?"), &Budget::unlimited()).await.unwrap_err();
        assert!(error.to_string().contains("more than 8388608 bytes"), "{error}");
    }
}

#[tokio::test]
async fn a_refusal_is_no_answer() {
    let server = ScriptedModel::start().unwrap();
    for model in kit::each(&server).await {
        let refusal = Reply { failure: Some(Failure::Refusal), ..Reply::text("I will not.") };
        server.script([refusal.clone(), refusal]);
        let budget = Budget::unlimited();
        for _ in 0..2 {
            let error = model.complete(&document(), &budget).await.unwrap_err();
            assert!(matches!(error, ModelError::Refused(_)), "{error} from {model:?}");
            let bill = error.bill().unwrap();
            assert_eq!(bill.usage.total(), 110, "the caller hears what it was billed");
            assert!(error.to_string().contains("I will not."), "{error}");
        }
        assert_eq!(budget.spent().tokens, 220, "it is billed");
    }
}

#[tokio::test]
async fn silence_ends_with_the_time_of_the_budget() {
    let server = ScriptedModel::start().unwrap();
    for model in kit::each(&server).await {
        server.script([Reply::failing(Failure::Silence)]);
        let time = Some(Duration::from_millis(200));
        let budget = Budget::new(Allowance { time, ..Allowance::default() });
        let error = model.complete(&LlmRequest::new("?"), &budget).await.unwrap_err();
        assert!(matches!(error, ModelError::TooSlow(_)), "{error}");
        assert!(budget.spent().tokens > 0, "it may be billed");
        let error = model.complete(&LlmRequest::new("?"), &budget).await.unwrap_err();
        assert!(matches!(error, ModelError::OverBudget(_)), "{error}");
    }
}

#[tokio::test]
async fn a_question_can_be_given_up() {
    let server = ScriptedModel::start().unwrap();
    for model in kit::each(&server).await {
        server.script([Reply::failing(Failure::Silence)]);
        let budget = Budget::unlimited();
        {
            let ask = LlmRequest::new("?");
            let asked =
                wait::until_async("the model is asked", async || !server.requests().is_empty());
            let question = model.complete(&ask, &budget);
            tokio::select! {
                biased;
                answer = question => panic!("{answer:?}"),
                () = asked => {}
            }
        }
        assert!(budget.spent().tokens > 0, "it may be billed");
    }
}

#[tokio::test]
async fn a_model_that_takes_no_temperature_is_asked_without() {
    let server = ScriptedModel::start().unwrap();
    let model = kit::anthropic(&server);
    let picky = "`temperature` is deprecated for this model.";
    server.script([Reply::rejecting(picky), Reply::text("Blue."), Reply::text("Blue.")]);
    let ask = LlmRequest { temperature: Some(0.0), ..LlmRequest::new("?") };
    let answer = model.complete(&ask, &Budget::unlimited()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.attempts), ("Blue.", 1));
    model.complete(&ask, &Budget::unlimited()).await.unwrap();
    let sent: Vec<bool> =
        server.requests().iter().map(|asked| asked["temperature"].is_number()).collect();
    assert_eq!(sent, [true, false, false]);
}

#[tokio::test]
async fn an_unreachable_server_is_named_in_the_error() {
    let nowhere = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let access = ratchet_agent::access::ModelAccess {
        base_url: nowhere.clone(),
        key: None,
        headers: std::collections::BTreeMap::new(),
    };
    let provider = ratchet_agent::provider::openai::OpenAi::new(kit::client(), access).unwrap();
    let model = kit::model(ratchet_agent::provider::Provider::OpenAi(provider), "gpt-4o");
    let budget = Budget::unlimited();
    let ask = LlmRequest { system: vec![CacheablePart::new("Be brief.")], ..LlmRequest::new("?") };
    let error = model.complete(&ask, &budget).await.unwrap_err();
    assert!(error.to_string().contains(&nowhere), "{error}");
    assert_eq!((budget.spent().calls, budget.spent().tokens), (3, 0));
}
