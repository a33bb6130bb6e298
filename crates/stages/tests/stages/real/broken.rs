use ratchet_core::chat::event::EventKind;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::secret::Secret;
use ratchet_stages::chat::{ChatLimits, ChatSettings};
use ratchet_testkit::ask;
use ratchet_testkit::scripted::{Failure, Reply};
use serde_json::json;

use super::{Talking, calling, of_kind};
use crate::talk::{Stage, assert_in_order, kill};

/// Whether the trace of a turn has what was said before it broke off: a prompt, a round with its
/// tokens, and a tool without permission.
async fn check_left_over(talking: &Talking, turn: &ratchet_core::id::TraceId, why: &str) {
    let root = talking.root(turn).await;
    assert_eq!(root.level, Level::Error);
    assert!(root.status_message.as_ref().unwrap().contains(why), "{root:?}");
    let trace = talking.trace(turn).await;
    let content = trace.content.as_ref().unwrap();
    assert!(format!("{:?}", content.input).contains("Touch a file"), "{content:?}");
    assert!(format!("{:?}", content.output).contains("Let me see."), "{content:?}");
    let (into, out) = (trace.summary.input_tokens, trace.summary.output_tokens);
    assert_eq!((into, out), (50 + 7 + 5, 20));
    let steps = talking.steps(turn).await;
    assert_eq!(of_kind(&steps, ObservationKind::Generation).len(), 1, "{steps:#?}");
    let tools = of_kind(&steps, ObservationKind::Tool);
    // Resuming the conversation records that the call was interrupted.
    let [tool] = tools.as_slice() else { panic!("one tool: {tools:#?}") };
    assert!(tool.end.is_none() || tool.level == Level::Error, "{tool:#?}");
    let asked = of_kind(&steps, ObservationKind::Span);
    assert_eq!(asked.len(), 1);
    assert!(asked[0].end.is_some(), "nobody is asked any more");
}

#[tokio::test]
async fn a_killed_agent_or_server_goes_on_and_what_was_said_is_recorded() {
    let stage = Stage::real();
    let command = json!({"command": "touch here", "description": "touch"});
    stage.model.say(Reply::text("I will.").on("Remember the word plum"));
    stage.model.say_always(calling("toolu_touch", "Bash", command).on("Touch a file"));
    stage.model.say(Reply::text("Plum.").on("Which word"));
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    talking.say("Remember the word plum.").await;
    talking.done().await;

    let turn = talking.say("Touch a file, please.").await;
    talking.client.until(EventKind::Permission).await;
    let project = talking.stage.shop.clone();
    let chat = talking.chats.chat(project, talking.chat_id.clone()).await.unwrap();
    kill(chat.status.process.unwrap().pid);
    assert_eq!(talking.client.until(EventKind::Answered).await["decision"], "withdrawn");
    talking.client.until_state("failed").await;
    check_left_over(&talking, &turn, "signal 9").await;

    let turn = talking.say("Touch a file, please, again.").await;
    let (ask, _) = talking.asked(EventKind::Permission).await;
    // Like a killed server: no events, no cleanup.
    let Talking { stage, chats, chat_id, client } = talking;
    drop((chats, client));
    let chats = stage.serve(ChatLimits::default()).await;
    let client = stage.look_on(&chats, &chat_id, 0).await;
    let mut talking = Talking { stage, chats, chat_id, client };
    talking.client.until_state("failed").await;
    talking.client.until_state("failed").await;
    check_left_over(&talking, &turn, "restarted").await;
    let answers = talking.client.received().into_iter();
    let answers = answers
        .filter(|(kind, response)| *kind == EventKind::Answered && response["id"] == ask.as_str());
    assert_eq!(answers.count(), 1, "the question is withdrawn");

    talking.say("Which word was it?").await;
    talking.done().await;
    let asked = talking.stage.model.requests().pop().unwrap()["messages"].to_string();
    assert!(asked.contains("the word plum"), "the conversation went on: {asked}");
    assert!(talking.client.words().ends_with("Plum."));
    assert_in_order(&talking.client.seen);
}

#[tokio::test]
async fn a_model_that_fails_fails_the_turn_and_no_more() {
    let mut stage = Stage::real();
    stage.environment.push(("CLAUDE_CODE_MAX_RETRIES".to_owned(), Secret::new("0")));
    stage.model.say(Reply::text("Fine.").on("Again"));
    stage.model.say(Reply::failing(Failure::Cut).on("Break off"));
    stage.model.say(Reply::text("Whole.").on("Break off"));
    // What failed is said again with the next message, so that the last one counts.
    for status in [529, 500, 429, 401] {
        let failing = Reply::failing(Failure::Status(status));
        stage.model.say_always(failing.on(&format!("Fail with {status}")));
    }
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    for status in [401, 429, 500, 529] {
        let turn = talking.say(&format!("Fail with {status}.")).await;
        let done = talking.done().await;
        assert_eq!((&done["is_error"], &done["status"]), (&json!(true), &json!(status)), "{done}");
        talking.check_spent(&turn, &done, 0).await;
        let root = talking.root(&turn).await;
        assert_eq!(root.level, Level::Error, "{status}");
        assert!(root.status_message.unwrap().contains(&status.to_string()));
    }
    talking.say("Break off.").await;
    talking.done().await;
    let turn = talking.say("Again.").await;
    let done = talking.done().await;
    assert_eq!((&done["result"], &done["is_error"]), (&json!("Fine."), &json!(false)));
    talking.check_spent(&turn, &done, 1).await;
    let traces = ask::traces(talking.stage.data.telemetry(), &talking.stage.shop).await;
    assert_eq!(traces.len(), 6, "each turn is a trace, also one that failed");
}
