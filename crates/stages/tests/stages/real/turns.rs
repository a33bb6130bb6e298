use ratchet_agent::claude::control::Rewind;
use ratchet_core::chat::event::EventKind;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_stages::chat::{ChatError, ChatSettings};
use ratchet_testkit::scripted::{Failure, Reply, Tokens};
use ratchet_testkit::{ask, wait};
use serde_json::json;
use uuid::Uuid;

use super::{Talking, free_shell, of_kind, touch, using};
use crate::talk::{Stage, assert_in_order, body};

#[tokio::test]
async fn a_turn_that_is_interrupted_says_so_and_what_it_did() {
    let stage = Stage::real();
    // First: the next request has the words of the interrupted turn, too.
    stage.model.say(Reply::text("Here.").on("Still"));
    stage.model.say(Reply::failing(Failure::Silence).on("toolu_a"));
    stage.model.say(touch("toolu_a", "a").on("Work"));
    let mut talking = Talking::start(stage, free_shell()).await;
    let turn = talking.say("Work, and then think.").await;
    talking.client.until(EventKind::ToolResult).await;
    let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
    talking.chats.interrupt(project, chat_id).await.unwrap();
    let done = talking.done().await;
    let expected = (&json!(true), &json!("interrupted"), &json!("error_during_execution"));
    assert_eq!((&done["is_error"], &done["result"], &done["subtype"]), expected);
    talking.check_spent(&turn, &done, 1).await;
    let root = talking.root(&turn).await;
    assert_eq!((root.level, root.status_message.as_deref()), (Level::Warning, Some("interrupted")));
    let steps = talking.steps(&turn).await;
    assert!(of_kind(&steps, ObservationKind::Tool)[0].end.is_some());
    let turn = talking.say("Still there?").await;
    let done = talking.done().await;
    talking.check_spent(&turn, &done, 1).await;
    assert_in_order(&talking.client.seen);
}

/// A model that says nothing to "Work", and answers the next message.
fn silent_at_work() -> Stage {
    let stage = Stage::real();
    stage.model.say(Reply::text("Here.").on("Still"));
    stage.model.say(Reply::failing(Failure::Silence).on("Work"));
    stage
}

#[tokio::test]
async fn a_message_after_an_interrupt_does_not_wait_for_a_silent_model() {
    let stage = silent_at_work();
    let model = stage.model.clone();
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    talking.say("Work.").await;
    wait::until_async("the silent call", async || model.requests().len() == 1).await;
    let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
    talking.chats.interrupt(project, chat_id).await.unwrap();
    assert_eq!(talking.done().await["is_error"], true);
    talking.say("Still there?").await;
    assert_eq!(talking.done().await["result"], "Here.");
    // A call that is waited for is repeated when its connection ends.
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_turn_that_is_stopped_as_soon_as_it_runs_ends() {
    let stage = silent_at_work();
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    talking.say("Work.").await;
    talking.client.until_state("running").await;
    // The agent may not even have read the message.
    let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
    talking.chats.interrupt(project, chat_id).await.unwrap();
    assert_eq!(talking.done().await["is_error"], true);
    talking.say("Still there?").await;
    assert_eq!(talking.done().await["result"], "Here.");
}

#[tokio::test]
async fn a_turn_that_the_agent_begins_itself_is_one_trace() {
    let stage = Stage::real();
    let background = json!({"command": "true", "description": "waits", "run_in_background": true});
    stage.model.say(using("toolu_bg", "Bash", background).on("Begin"));
    stage.model.say(Reply::text("It runs.").on("toolu_bg"));
    stage.model.say(Reply::text("It has ended.").on("task-notification"));
    let mut talking = Talking::start(stage, free_shell()).await;
    let first = talking.say("Begin, and tell me later.").await;
    let done = talking.client.until(EventKind::Done).await;
    assert_eq!(done["result"], "It runs.");
    talking.check_spent(&first, &done, 2).await;
    let own = talking.done().await;
    assert_eq!(own["result"], "It has ended.");
    let turn = own["turn"].as_str().unwrap().to_owned();
    assert_ne!(turn, first.to_string());
    let traces = ask::traces(talking.stage.data.telemetry(), &talking.stage.shop).await;
    assert_eq!(traces.len(), 2, "{traces:#?}");
    let own_trace = traces.iter().find(|trace| trace.id.to_string() == turn).unwrap();
    assert_eq!(own_trace.session.as_ref(), Some(&talking.chat_id));
    talking.check_spent(&own_trace.id, &own, 1).await;
    let project = talking.stage.shop.clone();
    let chat = talking.chats.chat(project, talking.chat_id.clone()).await.unwrap();
    assert_eq!(chat.status.turns, 2);
}

#[tokio::test]
async fn files_are_put_back() {
    let stage = Stage::real();
    let file = stage.path("work").join("note.txt");
    let write = json!({"file_path": file, "content": "after\n"});
    stage.model.say(using("toolu_w", "Write", write).on("Write"));
    stage.model.say(Reply::text("Written.").on("toolu_w"));
    stage.model.say(Reply::failing(Failure::Silence).on("Think"));
    let mode = Some("acceptEdits".to_owned());
    let mut talking = Talking::start(stage, ChatSettings { mode, ..ChatSettings::default() }).await;
    let turn = talking.say("Write it down.").await;
    talking.done().await;
    assert!(file.exists());
    let message = Uuid::parse_str(&turn.to_string()).unwrap();
    let rewind = |talking: &Talking, message, way| {
        let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
        let chats = talking.chats.clone();
        async move { chats.rewind(project, chat_id, message, way).await }
    };
    let trial = rewind(&talking, message, Rewind::DryRun).await.unwrap();
    assert!(trial.can_rewind && trial.files_changed.len() == 1 && file.exists(), "{trial:?}");
    let unknown = rewind(&talking, Uuid::new_v4(), Rewind::Apply).await;
    assert!(matches!(unknown, Err(ChatError::Agent(_))), "{unknown:?}");
    // Also when there is no process any more.
    talking.chats.stop().await;
    talking.chats = talking.stage.serve(ratchet_stages::chat::ChatLimits::default()).await;
    assert!(rewind(&talking, message, Rewind::Apply).await.unwrap().can_rewind);
    assert!(!file.exists(), "it was not there before");
    let turn = talking.say("Think.").await;
    let busy = rewind(&talking, message, Rewind::Apply).await.unwrap_err();
    assert!(matches!(&busy, ChatError::Busy { turn: runs } if *runs == turn), "{busy}");
}

#[tokio::test]
async fn shortening_a_conversation_is_told_and_counted() {
    let stage = Stage::real();
    stage.model.script([
        Reply::text("Lisbon."),
        Reply::text("<summary>They spoke of Lisbon.</summary>"),
        Reply::text("Of Lisbon."),
    ]);
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    let first = talking.say("Where to?").await;
    let done = talking.done().await;
    talking.check_spent(&first, &done, 1).await;
    let turn = talking.say("/compact").await;
    let response = talking.client.until(EventKind::Notice).await;
    assert_eq!(response["what"], "compact_boundary");
    let done = talking.done().await;
    talking.check_spent(&turn, &done, 1).await;
    let steps = talking.steps(&turn).await;
    let name = |name: &str| steps.iter().any(|step| step.name.as_deref() == Some(name));
    assert!(name("claude_code.compaction") && name("claude_code.compaction_request"), "{steps:#?}");
    let turn = talking.say("Of what did we speak?").await;
    let done = talking.done().await;
    assert_eq!(done["result"], "Of Lisbon.");
    talking.check_spent(&turn, &done, 1).await;
}

#[tokio::test]
async fn turns_and_budgets_have_ends() {
    let stage = Stage::real();
    stage.model.say(touch("toolu_1", "a").on("On and on"));
    stage.model.say(touch("toolu_2", "b").on("toolu_1"));
    let dear = Tokens { input: 1_000_000, output: 10, ..Tokens::default() };
    stage.model.say(Reply { tokens: dear, ..touch("toolu_3", "c").on("Spend") });
    let settings = ChatSettings { max_turns: Some(2), max_budget: Some(0.5), ..free_shell() };
    let mut talking = Talking::start(stage, settings).await;
    let turn = talking.say("On and on.").await;
    let done = talking.done().await;
    assert_eq!(done["subtype"], "error_max_turns", "{done}");
    talking.check_spent(&turn, &done, 2).await;
    let root = talking.root(&turn).await;
    assert_eq!(root.level, Level::Error);
    assert!(root.status_message.unwrap().contains("turns"));
    talking.say("Spend.").await;
    let done = talking.done().await;
    assert_eq!(done["subtype"], "error_max_budget_usd", "{done}");
    let spent = talking.stage.say(&talking.chats, &talking.chat_id, "Spend.").await.unwrap_err();
    assert!(matches!(spent, ChatError::Budget { .. }), "what is spent stays spent: {spent}");
    assert_eq!(talking.stage.model.requests().len(), 3);
    let response = talking.client.seen.iter().filter(|event| event.kind == EventKind::Done);
    let sum: f64 = response.map(|event| body(event)["cost"].as_f64().unwrap()).sum();
    let project = talking.stage.shop.clone();
    let chat = talking.chats.chat(project, talking.chat_id.clone()).await.unwrap();
    assert!((chat.status.cost.dollars() - sum).abs() < 1e-9);
    assert!((sum - (2.0 * 0.0003 + 2.0 + 0.0001)).abs() < 1e-9, "{sum}");
}
