use ratchet_agent::claude::control::Queued;
use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::lines::FromClaude;
use ratchet_agent::claude::message::{Priority, Reply as Answer, UserMessage};
use ratchet_agent::claude::options::PermissionMode;
use ratchet_agent::claude::permission::{Remember, remembered};
use ratchet_agent::claude::request::ToolPermissionRequest;
use ratchet_testkit::scripted::{Failure, Reply};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use uuid::Uuid;

use super::request_text;
use crate::talk::{Stage, Talk};

fn make(name: &str) -> Reply {
    Reply::call("Bash", json!({"command": format!("touch {name}"), "description": "Makes it"}))
}

#[tokio::test]
async fn a_tool_runs_if_a_person_allows_it() {
    let stage = Stage::new();
    stage.model.script([make("yes"), Reply::text("Made."), make("no"), Reply::text("Not made.")]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("Make it.").await;
    let (id, ask) = talk.asked_tool().await;
    assert_eq!(ask.tool_name, "Bash");
    talk.process.answer(&id, &Answer::allow(&ask.input, &[]).unwrap()).await.unwrap();
    assert_eq!(talk.result().await["result"], "Made.");
    assert!(stage.file("yes").exists());
    talk.say("Make another.").await;
    let (id, _) = talk.asked_tool().await;
    talk.process.answer(&id, &Answer::deny("I would rather not.").unwrap()).await.unwrap();
    assert_eq!(talk.result().await["result"], "Not made.");
    assert!(!stage.file("no").exists());
    assert!(request_text(&stage.model.requests()[3]).contains("I would rather not."));
}

#[tokio::test]
async fn always_is_for_this_session_and_no_more() {
    let stage = Stage::new();
    let write = |name: &str| {
        let input = json!({"file_path": stage.file(name), "content": "x"});
        Reply::call("Write", input)
    };
    stage.model.script([
        make("a"),
        make("a"),
        Reply::text("Twice."),
        write("b"),
        Reply::text("Denied."),
    ]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("Make it twice.").await;
    let (id, ask) = talk.asked_tool().await;
    let updates = remembered(&ask.permission_suggestions, Remember::Session);
    assert!(!updates.is_empty(), "{:?}", ask.permission_suggestions);
    talk.process.answer(&id, &Answer::allow(&ask.input, &updates).unwrap()).await.unwrap();
    assert_eq!(talk.result().await["result"], "Twice.", "it asks a second time");
    // Nothing was written into the workspace, and edits still need permission.
    assert!(!stage.file(".claude").exists());
    talk.say("Write it down.").await;
    let (id, ask) = talk.asked_tool().await;
    assert_eq!(ask.tool_name, "Write");
    talk.process.answer(&id, &Answer::deny("no").unwrap()).await.unwrap();
    talk.result().await;
}

fn question(is_multi: bool) -> Value {
    let option = |label: &str| json!({"label": label, "description": format!("it is {label}")});
    json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": is_multi,
        "options": [option("Red"), option("Blue")],
    }]})
}

fn answered(ask: &ToolPermissionRequest, answers: &Value) -> Answer {
    let mut input: Value = serde_json::from_str(ask.input.get()).unwrap();
    input["answers"] = answers.clone();
    Answer::allow(&to_raw_value(&input).unwrap(), &[]).unwrap()
}

/// The text that the model receives for an answered question.
async fn answer_seen_by_model(is_multi: bool, answer: &str) -> String {
    let stage = Stage::new();
    stage.model.script([Reply::call("AskUserQuestion", question(is_multi)), Reply::text("I see.")]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("Ask me.").await;
    let (id, ask) = talk.asked_tool().await;
    assert!(ask.tool_name == "AskUserQuestion" && ask.requires_user_interaction, "{ask:?}");
    let answer = answered(&ask, &json!({"Which colour?": answer}));
    talk.process.answer(&id, &answer).await.unwrap();
    assert_eq!(talk.result().await["result"], "I see.");
    let asked = stage.model.requests()[1]["messages"].clone();
    let blocks = asked.as_array().unwrap().iter().flat_map(|said| said["content"].as_array());
    let result = blocks.flatten().find(|block| block["type"] == "tool_result");
    result.unwrap()["content"].to_string()
}

#[tokio::test]
async fn a_person_chooses_one() {
    let request_text = answer_seen_by_model(false, "Blue").await;
    assert!(request_text.contains("Blue") && !request_text.contains("Red"), "{request_text}");
}

#[tokio::test]
async fn a_person_chooses_several() {
    let request_text = answer_seen_by_model(true, "Red, Blue").await;
    assert!(request_text.contains("Red, Blue"), "{request_text}");
}

#[tokio::test]
async fn a_person_says_something_else() {
    let request_text = answer_seen_by_model(false, "Rather a smell of 木 \"pine\"").await;
    assert!(request_text.contains("Rather a smell of 木"), "{request_text}");
}

#[tokio::test]
async fn an_interrupt_stops_the_turn_and_cancels_requests() {
    let stage = Stage::new();
    let silent = Reply::failing(Failure::Silence);
    // The last first: a request has the words of the interrupted turns before it, too. Whole
    // sentences: the program's own instructions have words such as "Make".
    stage.model.script([
        Reply::text("Here.").on("Still there?"),
        make("x").on("Make it."),
        silent.on("Think."),
    ]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("Think.").await;
    talk.until(|line| line.is_a("system", "status")).await;
    talk.process.interrupt(Queued::Keep).await.unwrap();
    let result = talk.result().await;
    assert_eq!(result["subtype"], "error_during_execution", "{result}");
    talk.say("Make it.").await;
    let (asked, _) = talk.asked_tool().await;
    talk.process.interrupt(Queued::Keep).await.unwrap();
    let withdrawn = loop {
        if let FromClaude::Withdrawn { id, .. } = talk.next().await {
            break id;
        }
    };
    assert_eq!(withdrawn, asked);
    let late = talk.process.answer(&asked, &Answer::deny("no").unwrap()).await;
    assert!(matches!(late, Err(ClaudeError::UnknownRequest { .. })), "{late:?}");
    talk.result().await;
    talk.say("Still there?").await;
    assert_eq!(talk.result().await["result"], "Here.");
}

#[tokio::test]
async fn a_message_that_waits_can_be_taken_back() {
    let stage = Stage::new();
    let silent = Reply::failing(Failure::Silence);
    stage.model.script([Reply::text("Here.").on("Still there?"), silent.on("Think.")]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("Think.").await;
    talk.until(|line| line.is_a("system", "status")).await;
    let waiting = UserMessage::text(Uuid::new_v4(), "Forget me.").with_priority(Priority::Later);
    talk.process.send_user(&waiting).await.unwrap();
    assert!(talk.process.cancel_message(waiting.uuid).await.unwrap());
    assert!(!talk.process.cancel_message(waiting.uuid).await.unwrap(), "it is taken back already");
    talk.process.interrupt(Queued::Cancel).await.unwrap();
    talk.result().await;
    talk.say("Still there?").await;
    talk.result().await;
    let asked = stage.model.requests();
    assert!(asked.iter().all(|asked| !request_text(asked).contains("Forget me.")));
}

#[tokio::test]
async fn a_mode_without_prompts_denies_tools() {
    let stage = Stage::new();
    stage.model.script([make("x"), Reply::text("It was refused.")]);
    let mut command = stage.real();
    command.options.permission_mode = Some(PermissionMode::DontAsk);
    let mut talk = Talk::start(&command).await;
    talk.say("Make it.").await;
    assert_eq!(talk.result().await["result"], "It was refused.");
    assert!(!stage.file("x").exists());
}
