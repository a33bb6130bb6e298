use ratchet_core::money::Money;
use ratchet_core::secret::Secret;
use ratchet_testkit::scripted::{Failure, Reply, Tokens};
use serde_json::json;

use crate::talk::{Stage, Talk};

#[tokio::test]
async fn turns_are_counted_anew_for_each_message() {
    let stage = Stage::new();
    let again = || Reply::call("Bash", json!({"command": "true", "description": "Nothing"}));
    stage.model.script([again(), again(), Reply::text("Done.").on("Once more")]);
    let mut command = stage.real();
    command.options.max_turns = Some(2);
    command.options.allowed_tools = vec!["Bash".to_owned()];
    let mut talk = Talk::start(&command).await;
    talk.say("Go on and on.").await;
    let result = talk.result().await;
    assert_eq!(result["subtype"], "error_max_turns", "{result}");
    talk.say("Once more.").await;
    assert_eq!(talk.result().await["result"], "Done.");
}

#[tokio::test]
async fn a_budget_that_is_spent_stays_spent() {
    let stage = Stage::new();
    let tokens = Tokens { input: 1_000_000, output: 10, ..Tokens::default() };
    let costly = Reply { tokens, ..Reply::call("Bash", json!({"command": "true"})) };
    stage.model.script([costly]);
    let mut command = stage.real();
    command.options.max_budget = Money::from_dollars(0.5);
    command.options.allowed_tools = vec!["Bash".to_owned()];
    let mut talk = Talk::start(&command).await;
    for _ in 0..2 {
        talk.say("Spend.").await;
        let result = talk.result().await;
        assert_eq!(result["subtype"], "error_max_budget_usd", "{result}");
    }
    assert_eq!(stage.model.requests().len(), 1, "it asks on though the money is spent");
}

#[tokio::test]
async fn a_model_that_fails_fails_the_turn_and_no_more() {
    let stage = Stage::new();
    stage.model.script([
        Reply::failing(Failure::Status(529)).on("Second"),
        Reply::failing(Failure::Cut).on("Third"),
        Reply::text("Fine.").on("Third"),
        Reply::text("Fine again.").on("Fourth"),
    ]);
    // The program retries once without optional parameters.
    stage.model.say_always(Reply::rejecting("this is not allowed here").on("First"));
    let mut command = stage.real();
    let retries = ("CLAUDE_CODE_MAX_RETRIES".to_owned(), Secret::new("0"));
    command.environment.push(retries);
    let mut talk = Talk::start(&command).await;
    talk.say("First.").await;
    let result = talk.result().await;
    assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &json!(400)));
    assert!(result["result"].as_str().unwrap().contains("this is not allowed here"));
    talk.say("Second.").await;
    let result = talk.result().await;
    assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &json!(529)));
    talk.say("Third.").await;
    talk.result().await;
    talk.say("Fourth.").await;
    assert_eq!(talk.result().await["result"], "Fine again.");
}
