use ratchet_core::chat::event::EventKind;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::price::PriceTable;
use ratchet_stages::chat::{BudgetChoice, ChatChange, ChatError, ChatLimits, ChatSettings};
use ratchet_store::StoreOptions;
use ratchet_testkit::folder::{self, DataFolder};
use ratchet_testkit::scripted::{Failure, Reply, Tokens};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Talking, calling, of_kind};
use crate::talk::{Stage, kill};

/// A reply for so many thousand tokens in at $2 a million, and ten out at $10.
fn dear(thousands: u64) -> Reply {
    let tokens = Tokens { input: thousands * 1_000, output: 10, ..Tokens::default() };
    Reply { tokens, ..Reply::text("Spent.") }
}

/// A stage on which models have their prices.
fn priced() -> Stage {
    let prices = PriceTable::builtin().into();
    let mut stage = Stage::real();
    stage.data = DataFolder::with(StoreOptions { prices, ..folder::options() });
    stage
}

impl Talking {
    /// The budget passed to the chat's process.
    async fn allowance(&self, chat_id: &SessionId) -> f64 {
        let chat = self.chats.chat(self.stage.shop.clone(), chat_id.clone()).await.unwrap();
        let pid = chat.status.process.unwrap().pid;
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        let word = words.split('\0').find_map(|word| word.strip_prefix("--max-budget-usd="));
        word.unwrap().parse().unwrap()
    }

    /// Whether chat and trace say the same of a turn.
    async fn check_agrees(&self, turn: &TraceId, response: &Value) {
        let trace = self.trace(turn).await;
        let tokens = (trace.summary.input_tokens, trace.summary.output_tokens);
        let said = (response["tokens"]["input"].as_u64(), response["tokens"]["output"].as_u64());
        assert_eq!((Some(tokens.0), Some(tokens.1)), said, "{response}");
        let cost = trace.summary.cost.map(Money::dollars);
        let said = response["cost"].as_f64();
        let is_same = cost.zip(said).is_some_and(|(one, other)| (one - other).abs() < 1e-9);
        assert!(is_same, "{cost:?} is not {said:?}: {response} {:#?}", self.steps(turn).await);
        let metadata = trace.content.unwrap().metadata;
        let is_at_least =
            metadata.iter().any(|(key, value)| key == "at_least" && value.as_str() == "true");
        assert_eq!(is_at_least, response["at_least"] == true, "{response}");
    }
}

#[tokio::test]
async fn a_budget_is_the_conversations_and_its_forks() {
    let stage = priced();
    stage.model.say(dear(400).on("First"));
    stage.model.say_always(dear(400).on("Second"));
    stage.model.say(Reply::text("Gone on.").on("Third"));
    let settings = ChatSettings { max_budget: Some(1.0), ..ChatSettings::default() };
    let mut talking = Talking::start(stage, settings).await;
    talking.say("First.").await;
    let done = talking.done().await;
    assert_eq!(done["cost"], 0.8001);
    let own = talking.chat_id.clone();
    assert_eq!(talking.allowance(&own).await, 1.0);
    let shop = talking.stage.shop.clone();
    let fork = talking.chats.fork(shop.clone(), own.clone(), Uuid::new_v4(), None).await.unwrap();
    talking.chats.stop().await;
    talking.chats = talking.stage.serve(ChatLimits::default()).await;

    // A new process has what is left, and what it spends is spent.
    for chat_id in [&own, &fork.id] {
        talking.client = talking.stage.look_on(&talking.chats, chat_id, 0).await;
        talking.stage.say(&talking.chats, chat_id, "Second.").await.unwrap();
        let is_error = |done: &Value| done["is_error"] == true;
        let done = talking.client.until_such(EventKind::Done, is_error).await;
        assert_eq!(done["subtype"], "error_max_budget_usd", "{done}");
        talking.client.until_state("idle").await;
        assert!((talking.allowance(chat_id).await - 0.1999).abs() < 1e-9);
        let refused = talking.stage.say(&talking.chats, chat_id, "Third.").await.unwrap_err();
        assert!(matches!(refused, ChatError::Budget { .. }), "{refused}");
        let response = refused.to_string();
        assert!(
            response.contains("$1.6002 of its budget of $1;") && response.contains("/budget"),
            "{response}"
        );
    }
    let chat = talking.chats.chat(shop.clone(), fork.id.clone()).await.unwrap();
    assert_eq!(chat.status.cost.dollars(), 0.8001, "what is its own");

    let limit = BudgetChoice::Limit(Money::from_dollars(2.0).unwrap());
    let change = ChatChange { budget: Some(limit), ..ChatChange::default() };
    talking.chats.change(shop, fork.id.clone(), change).await.unwrap();
    talking.stage.say(&talking.chats, &fork.id, "Third.").await.unwrap();
    let done = talking.client.until(EventKind::Done).await;
    assert_eq!(done["result"], "Gone on.", "{done}");
    assert!((talking.allowance(&fork.id).await - 0.3998).abs() < 1e-9);
}

#[tokio::test]
async fn tokens_of_sub_agents_are_the_turns() {
    let stage = priced();
    let errand = json!({"description": "look", "prompt": "Look around.",
        "subagent_type": "general-purpose", "run_in_background": false});
    stage.model.say(calling("toolu_errand", "Task", errand).on("Send someone"));
    stage.model.say(Reply::text("Nothing there.").on("Look around"));
    stage.model.say_always(Reply::text("All is well."));
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    let turn = talking.say("Send someone to look.").await;
    let done = talking.done().await;
    assert_eq!(done["tokens"], json!({"input": 50 + 7 + 5 + 100 + 100, "output": 20 + 10 + 10}));
    let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
    talking.chats.close(project, chat_id).await.unwrap();
    talking.client.until_state("closed").await;
    talking.check_agrees(&turn, &done).await;
}

#[tokio::test]
async fn an_interrupted_call_costs_at_least_what_it_had_used() {
    let stage = priced();
    let stalling = Reply { failure: Some(Failure::Stall), ..Reply::text("Let me think.") };
    stage.model.say(stalling.on("Think"));
    stage.model.say(Reply::failing(Failure::Silence).on("Wait"));
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    let turn = talking.say("Think.").await;
    let has_begun = |line: &Value| line["event"]["type"] == "message_start";
    talking.client.until_such(EventKind::Raw, has_begun).await;
    let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
    talking.chats.interrupt(project.clone(), chat_id.clone()).await.unwrap();
    let done = talking.done().await;
    assert_eq!((&done["at_least"], &done["cost"]), (&json!(true), &json!(0.00021)), "{done}");
    assert_eq!(done["tokens"], json!({"input": 100, "output": 1}));
    talking.check_agrees(&turn, &done).await;

    // Of a call that had not begun, nothing is known, which is not nothing.
    talking.say("Wait.").await;
    let is_asked = |line: &Value| line["status"] == "requesting";
    talking.client.until_such(EventKind::Raw, is_asked).await;
    talking.chats.interrupt(project.clone(), chat_id.clone()).await.unwrap();
    let done = talking.done().await;
    assert_eq!((&done["at_least"], &done["cost"]), (&json!(true), &Value::Null), "{done}");
    let chat = talking.chats.chat(project, chat_id).await.unwrap();
    assert!(chat.status.is_at_least && chat.status.cost.dollars() == 0.00021);
}

#[tokio::test]
async fn a_call_that_is_tried_again_is_counted_in_chat_and_trace() {
    let stage = priced();
    stage.model.say(Reply { failure: Some(Failure::Cut), ..Reply::text("Half.") }.on("Break off"));
    stage.model.say(Reply::text("Whole.").on("Break off"));
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    let turn = talking.say("Break off.").await;
    let done = talking.done().await;
    assert_eq!((&done["result"], &done["at_least"]), (&json!("Whole."), &json!(true)), "{done}");
    talking.check_agrees(&turn, &done).await;
}

#[tokio::test]
async fn a_killed_turn_says_what_is_known_of_it() {
    let stage = priced();
    let command = json!({"command": "touch here", "description": "touch"});
    stage.model.say(calling("toolu_touch", "Bash", command).on("Touch a file"));
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    let turn = talking.say("Touch a file, please.").await;
    talking.client.until(EventKind::Permission).await;
    let project = talking.stage.shop.clone();
    let chat = talking.chats.chat(project.clone(), talking.chat_id.clone()).await.unwrap();
    kill(chat.status.process.unwrap().pid);
    let error = talking.client.until(EventKind::Error).await;
    assert_eq!(error["at_least"], true, "{error}");
    talking.client.until_state("failed").await;
    talking.check_agrees(&turn, &error).await;
    let chat = talking.chats.chat(project, talking.chat_id.clone()).await.unwrap();
    assert!(chat.status.is_at_least, "{chat:?}");
    assert_eq!(Some(chat.status.cost.dollars()), error["cost"].as_f64());
}

#[tokio::test]
async fn a_model_without_a_price_costs_what_the_agent_says() {
    let stage = priced();
    stage.model.say(Reply::text("Hello.").on("Hi"));
    let model = Some("claude-zeta-9".to_owned());
    let mut talking =
        Talking::start(stage, ChatSettings { model, ..ChatSettings::default() }).await;
    let turn = talking.say("Hi.").await;
    let done = talking.done().await;
    talking.check_agrees(&turn, &done).await;
    let steps = talking.steps(&turn).await;
    assert_eq!(of_kind(&steps, ObservationKind::Generation)[0].cost, None, "nobody knows a price");
    let own = of_kind(&steps, ObservationKind::Event);
    let [own] = own.as_slice() else { panic!("one step: {steps:#?}") };
    assert_eq!(own.name.as_deref(), Some("claude_code.reported_cost"));
    let label = own.content.as_ref().unwrap().metadata.iter();
    let label: Vec<_> = label.map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let expected = [("cost_basis", "\"unknown\""), ("cost_source", "\"agent\"")];
    assert_eq!(label, expected, "it says whose reckoning it is");
}
