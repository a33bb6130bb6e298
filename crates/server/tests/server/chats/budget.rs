use serde_json::{Value, json};

use super::Stage;

/// The current state of a chat.
async fn known(stage: &Stage, chat: &str) -> Value {
    stage.server.get(&format!("/api/v1/chats/{chat}")).send().await.json()
}

#[tokio::test]
async fn a_budget_is_inherited_refuses_at_its_end_and_can_be_raised() {
    let stage = Stage::start().await;
    let (_, begun) = stage.post("", &json!({"workspace": stage.work(), "maxBudget": 0.25})).await;
    let chat = begun["id"].as_str().unwrap().to_owned();
    assert_eq!((&begun["maxBudget"], &begun["spent"]), (&json!(0.25), &json!(0.0)));
    let mut events = stage.follow(&chat, "", None).await;
    assert_eq!(stage.say(&chat, "cost").await.0, 202);
    events.until_idle().await;
    let (_, fork) = stage.post(&format!("/{chat}/fork"), &json!({})).await;
    let fork = fork["id"].as_str().unwrap().to_owned();
    for chat in [&chat, &fork] {
        let (status, refused) = stage.say(chat, "cost").await;
        assert_eq!(status, 409, "{refused}");
        let why = refused["message"].as_str().unwrap();
        assert!(why.contains("has spent $0.25 of its budget of $0.25"), "{why}");
        assert!(why.contains("maxBudget"), "it says how to go on: {why}");
        let mode = format!("/{chat}/mode");
        assert_eq!(stage.post(&mode, &json!({"maxBudget": 1.5})).await.0, 200);
        let mut events = stage.follow(chat, "?types=done,state", None).await;
        assert_eq!(stage.say(chat, "cost").await.0, 202, "it goes on");
        events.until_idle().await;
    }
    let fork = known(&stage, &fork).await;
    assert_eq!((&fork["maxBudget"], &fork["spent"]), (&json!(1.5), &json!(0.5)), "{fork}");
    assert_eq!(fork["cost"], json!(0.25), "what is its own");
    let (_, open) = stage.post(&format!("/{chat}/mode"), &json!({"maxBudget": null})).await;
    assert_eq!(open["maxBudget"], Value::Null, "no limit");
}

#[tokio::test]
async fn trust_is_taken_back_and_never_given() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    for (trust, distrusted) in [(false, true), (true, false)] {
        let (status, set) = stage.post(&format!("/{chat}/mode"), &json!({"trust": trust})).await;
        assert_eq!((status, &set["distrusted"]), (200, &json!(distrusted)), "{set}");
    }
}
