//! Chats that share fewer slots than they need, and messages that are taken back in time.

use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::permission_prompt::{Decision, PermissionScope};
use ratchet_core::chat::state::{ChatStateName, PermissionPromptId};
use ratchet_core::record::observation::Level;
use ratchet_stages::chat::{ChatError, ChatLimits, ChatSettings};
use ratchet_testkit::ask;
use serde_json::{Value, json};

use crate::talk::{Client, Stage};

const ONE_SLOT: ChatLimits = ChatLimits {
    processes: 1,
    idle: std::time::Duration::from_secs(600),
    answer: std::time::Duration::from_secs(600),
    backlog: 4_096,
    text_bytes: 1_000_000,
};

const QUEUED: &str = "waiting for a slot (1 of 1)";

/// Looks on until the chat says that it waits for a slot.
async fn until_queued(client: &mut Client) -> Value {
    client.until_such(EventKind::State, |body| body["why"] == QUEUED).await
}

#[tokio::test]
async fn a_chat_that_waits_for_a_slot_says_so_and_can_be_stopped() {
    let stage = Stage::fake();
    let chats = stage.serve(ONE_SLOT).await;
    let (first, second) = (stage.new_chat(&chats).await, stage.new_chat(&chats).await);
    let mut busy = stage.look_on(&chats, &first, 0).await;
    let mut queued = stage.look_on(&chats, &second, 0).await;
    stage.say(&chats, &first, "silence").await.unwrap();
    busy.until_state("running").await;
    let turn = stage.say(&chats, &second, "hello").await.unwrap();
    let output = until_queued(&mut queued).await;
    assert_eq!((&output["state"], &output["turn"]), (&json!("starting"), &json!(turn.to_string())));
    let chat = chats.chat(stage.shop.clone(), second.clone()).await.unwrap();
    assert_eq!(
        (chat.status.state, chat.status.why.as_deref()),
        (ChatStateName::Starting, Some(QUEUED))
    );

    chats.interrupt(stage.shop.clone(), second.clone()).await.unwrap();
    let done = queued.until(EventKind::Done).await;
    let expected = (&json!(turn.to_string()), &json!(true), &json!("interrupted"));
    assert_eq!((&done["turn"], &done["is_error"], &done["result"]), expected);
    let parked = queued.until_state("parked").await;
    assert_eq!((&parked["turn"], &parked["why"]), (&Value::Null, &Value::Null));
    let again = chats.interrupt(stage.shop.clone(), second.clone()).await;
    assert!(matches!(again, Err(ChatError::NoTurn)), "{again:?}");
    let root = ask::observation(stage.data.telemetry(), &stage.shop, &turn.to_string()).await;
    assert_eq!((root.level, root.status_message.as_deref()), (Level::Warning, Some("interrupted")));

    // The queue is empty: the first has the slot until it is done, then the second.
    let again = stage.say(&chats, &second, "hello").await.unwrap();
    until_queued(&mut queued).await;
    chats.interrupt(stage.shop.clone(), first.clone()).await.unwrap();
    busy.until_state("idle").await;
    let done = queued.until(EventKind::Done).await;
    assert_eq!((&done["turn"], &done["result"]), (&json!(again.to_string()), &json!("Hello")));
    let words = queued.received().into_iter().filter(|(kind, _)| *kind == EventKind::Done).count();
    assert_eq!(words, 2, "the agent never heard what was taken back");
}

#[tokio::test]
async fn a_message_can_be_taken_back_while_its_process_starts() {
    let stage = Stage::fake();
    let chats = stage.serve(ONE_SLOT).await;
    let mute = ChatSettings { model: Some("mute".to_owned()), ..ChatSettings::default() };
    let chat_id = stage.new_chat_with(&chats, mute).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    client.until_state("starting").await;
    chats.interrupt(stage.shop.clone(), chat_id.clone()).await.unwrap();
    assert_eq!(client.until(EventKind::Done).await["reason"], "aborted_start");
    client.until_state("parked").await;
    // Its slot is free again.
    let other = stage.new_chat(&chats).await;
    let mut next = stage.look_on(&chats, &other, 0).await;
    stage.say(&chats, &other, "hello").await.unwrap();
    assert_eq!(next.until(EventKind::Done).await["result"], "Hello");
}

#[tokio::test]
async fn a_chat_that_waits_for_a_person_gives_its_slot_back() {
    let stage = Stage::fake();
    let chats = stage.serve(ONE_SLOT).await;
    let (first, second) = (stage.new_chat(&chats).await, stage.new_chat(&chats).await);
    let mut asking = stage.look_on(&chats, &first, 0).await;
    let mut working = stage.look_on(&chats, &second, 0).await;
    stage.say(&chats, &first, "ask").await.unwrap();
    let asked = asking.until(EventKind::Permission).await;
    stage.say(&chats, &second, "silence").await.unwrap();
    working.until_state("running").await;
    assert!(!working.received().iter().any(|(_, body)| body["why"] == QUEUED), "there was a slot");

    // Going on takes a slot again, and there is none.
    let ask = PermissionPromptId::new(asked["id"].as_str().unwrap());
    let allow = Decision::Allow { allowance: PermissionScope::Once, input: None };
    let by = Some("ann".to_owned());
    chats.answer(stage.shop.clone(), first.clone(), (ask, allow), by).await.unwrap();
    assert_eq!(until_queued(&mut asking).await["state"], "running");
    assert!(!asking.received().iter().any(|(kind, _)| *kind == EventKind::Done));
    chats.interrupt(stage.shop.clone(), second.clone()).await.unwrap();
    assert_eq!(asking.until(EventKind::Done).await["result"], "it was allowed");
    let idle = asking.until_state("idle").await;
    assert_eq!(idle["why"], Value::Null);
}

#[tokio::test]
async fn a_question_that_waits_for_a_slot_can_still_be_stopped() {
    let stage = Stage::fake();
    let chats = stage.serve(ONE_SLOT).await;
    let (first, second) = (stage.new_chat(&chats).await, stage.new_chat(&chats).await);
    let mut asking = stage.look_on(&chats, &first, 0).await;
    let mut working = stage.look_on(&chats, &second, 0).await;
    stage.say(&chats, &first, "ask").await.unwrap();
    asking.until(EventKind::Permission).await;
    stage.say(&chats, &second, "silence").await.unwrap();
    working.until_state("running").await;
    chats.interrupt(stage.shop.clone(), first.clone()).await.unwrap();
    assert_eq!(asking.until(EventKind::Done).await["is_error"], true);
    asking.until_state("idle").await;
}
