use ratchet_core::id::SessionId;
use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use crate::chats::Stage;
use crate::harness::project;

/// Texts that the fake agent streams in several pieces, and the message that makes it do so.
const SECRETS: [&str; 2] = ["3 4 5", "deltas 8"];

async fn strict() -> Stage {
    let stage = Stage::start().await;
    for secret in SECRETS {
        let rule = json!({"pattern": secret, "replacement": "[gone]"}).to_string();
        let request = stage.server.post("/api/v1/projects/shop/redaction").key(Role::Owner);
        request.json(rule).send().await.check(201, "");
    }
    stage
}

#[tokio::test]
async fn what_a_rule_finds_is_neither_kept_nor_told_though_it_comes_in_pieces() {
    let stage = strict().await;
    let session = stage.begun().await;
    let mut events = stage.follow(&session, "", None).await;
    stage.say(&session, "deltas 8").await;
    let mut heard = events.until_idle().await;
    let words = heard.iter().filter(|event| event["type"] == "text_delta");
    let words: String = words.map(|event| event["body"]["text"].as_str().unwrap()).collect();
    assert_eq!(words, "1 2 [gone] 6 7 8 ", "the agent heard what is not shown, and counted");
    let message = heard.iter().find(|event| event["type"] == "message").unwrap();
    assert_eq!(message["body"]["content"], "[gone]");
    let is_piece = |event: &Value| event["body"]["type"] == "stream_event";
    assert!(!heard.iter().any(is_piece), "{heard:#?}");
    // The second client learns who answered first, redacted.
    stage.say(&session, "question").await;
    let asked = events.until("question").await;
    let answer = json!({"id": asked.last().unwrap()["body"]["id"], "response": "deltas 8, please"});
    heard.extend(asked);
    let path = format!("/{session}/answers");
    assert_eq!(stage.post(&path, &answer).await.0, 200);
    let (status, late) = stage.post(&path, &answer).await;
    assert_eq!((status, &late["answer"]["response"]), (409, &json!("[gone], please")));
    heard.extend(events.until_idle().await);
    let seqs: Vec<u64> = heard.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let id = SessionId::parse(&session).unwrap();
    let telemetry = &stage.server.app.store.telemetry;
    let kept = telemetry.chat_events(project(), id, 0, 1_000).await.unwrap();
    assert_eq!(kept.len(), heard.len());
    for secret in SECRETS {
        assert!(!kept.iter().any(|event| event.body.contains(secret)), "{secret} is kept");
        assert!(!json!(heard).to_string().contains(secret), "{secret} was told");
    }
}

#[tokio::test]
async fn a_rule_counts_from_the_moment_it_is_made() {
    let stage = Stage::start().await;
    let session = stage.begun().await;
    let mut events = stage.follow(&session, "?types=text_delta,done,state", None).await;
    stage.say(&session, "deltas 8").await;
    let open = events.until_idle().await;
    assert_eq!(open.iter().filter(|event| event["type"] == "text_delta").count(), 8);
    let rule = json!({"pattern": "3 4 5"}).to_string();
    let request = stage.server.post("/api/v1/projects/shop/redaction").key(Role::Owner);
    request.json(rule).send().await.check(201, "");
    stage.say(&session, "deltas 8").await;
    let heard = events.until_idle().await;
    let words: Vec<&Value> = heard.iter().filter(|event| event["type"] == "text_delta").collect();
    assert_eq!(words.len(), 1, "{words:#?}");
    assert_eq!(words[0]["body"]["text"], "1 2 [redacted] 6 7 8 ");
}
