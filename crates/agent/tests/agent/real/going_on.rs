use ratchet_agent::claude::control::Rewind;
use ratchet_agent::claude::message::Reply as Answer;
use ratchet_agent::claude::options::{ChatThread, PermissionMode};
use ratchet_agent::claude::process_slots::ProcessSlots;
use ratchet_core::chat::reader::LineReader;
use ratchet_testkit::scripted::Reply;
use serde_json::json;
use uuid::Uuid;

use super::request_text;
use crate::talk::{Stage, Talk, dollars};

fn command(
    stage: &Stage,
    conversation: ChatThread,
) -> ratchet_agent::claude::command::ClaudeCommand {
    let mut command = stage.real();
    command.options.conversation = conversation;
    command
}

#[tokio::test]
async fn a_killed_program_goes_on_where_it_was() {
    let stage = Stage::new();
    let id = Uuid::new_v4();
    let touch = || Reply::call("Bash", json!({"command": "touch made", "description": "Makes it"}));
    stage.model.script([
        Reply::text("Hello Ana.").on("I am Ana."),
        touch().on("Make it."),
        touch().on("Try again."),
        Reply::text("Made, Ana.").on("tool_result"),
    ]);
    let mut talk = Talk::start(&command(&stage, ChatThread::New(id))).await;
    talk.say("I am Ana.").await;
    assert_eq!(talk.result().await["session_id"], id.to_string());
    talk.say("Make it.").await;
    talk.asked_tool().await;
    let end = talk.process.kill().await;
    assert_eq!(end.signal, Some(9), "{end}");
    let mut talk = Talk::start(&command(&stage, ChatThread::Resume { id, at: None })).await;
    talk.say("Try again.").await;
    let (ask_id, ask) = talk.asked_tool().await;
    talk.process.answer(&ask_id, &Answer::allow(&ask.input, &[]).unwrap()).await.unwrap();
    let result = talk.result().await;
    assert_eq!(
        (&result["result"], &result["session_id"]),
        (&json!("Made, Ana."), &json!(id.to_string()))
    );
    assert!(request_text(&stage.model.requests()[2]).contains("I am Ana."), "it forgot");
}

#[tokio::test]
async fn a_turn_after_a_kill_costs_what_it_cost() {
    let stage = Stage::new();
    stage.model.say_always(Reply::text("Yes."));
    let id = Uuid::new_v4();
    let mut reader = LineReader::default();
    let threads = [ChatThread::New(id), ChatThread::Resume { id, at: None }];
    for thread in threads {
        let mut talk = Talk::start(&command(&stage, thread)).await;
        for _ in 0..2 {
            talk.say("Is it?").await;
            assert_eq!(talk.cost(&mut reader).await, dollars(0.0003));
        }
        talk.process.kill().await;
    }
    assert_eq!(reader.cost(), dollars(0.0012));
}

#[tokio::test]
async fn a_fork_has_the_history_and_does_not_change_the_original() {
    let stage = Stage::new();
    let (id, fork) = (Uuid::new_v4(), Uuid::new_v4());
    stage.model.script([
        Reply::text("Noted: one.").on("First."),
        Reply::text("Noted: two.").on("Second."),
        Reply::text("Forked.").on("Aside."),
        Reply::text("Went on.").on("Third."),
    ]);
    let mut talk = Talk::start(&command(&stage, ChatThread::New(id))).await;
    talk.say("First.").await;
    let (lines, _) = talk.until(|line| line.is("result")).await;
    let answer = lines.iter().rfind(|line| line.is("assistant")).map(crate::talk::json).unwrap();
    let at: Uuid = answer["uuid"].as_str().unwrap().parse().unwrap();
    talk.say("Second.").await;
    talk.result().await;
    talk.process.end().await;
    let thread = ChatThread::Fork { of: id, at: Some(at), id: fork };
    let mut talk = Talk::start(&command(&stage, thread)).await;
    talk.say("Aside.").await;
    assert_eq!(talk.result().await["session_id"], fork.to_string());
    talk.process.end().await;
    let mut talk = Talk::start(&command(&stage, ChatThread::Resume { id, at: None })).await;
    talk.say("Third.").await;
    talk.result().await;
    let asked: Vec<String> = stage.model.requests().iter().map(request_text).collect();
    assert!(asked[2].contains("First.") && !asked[2].contains("Second."), "{}", asked[2]);
    assert!(asked[3].contains("Second.") && !asked[3].contains("Aside."), "{}", asked[3]);
}

#[tokio::test]
async fn files_come_back_as_they_were_also_in_another_process() {
    let stage = Stage::new();
    let (id, file) = (Uuid::new_v4(), stage.file("note.txt"));
    std::fs::write(&file, "before\n").unwrap();
    let write =
        |content: &str| Reply::call("Write", json!({"file_path": file, "content": content}));
    let read = Reply::call("Read", json!({"file_path": file}));
    stage.model.script([
        read,
        write("after\n"),
        Reply::text("Changed."),
        write("long after\n"),
        Reply::text("Changed again."),
    ]);
    let mut first = command(&stage, ChatThread::New(id));
    first.options.permission_mode = Some(PermissionMode::AcceptEdits);
    let mut talk = Talk::start(&first).await;
    let changed = talk.say("Change it.").await;
    talk.result().await;
    let changed_again = talk.say("Again.").await;
    talk.result().await;
    let rewound = talk.process.rewind_files(changed_again, Rewind::Apply).await.unwrap();
    assert!(rewound.can_rewind, "{rewound:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "after\n");
    talk.process.end().await;
    let talk = Talk::start(&command(&stage, ChatThread::Resume { id, at: None })).await;
    let trial = talk.process.rewind_files(changed, Rewind::DryRun).await.unwrap();
    assert!(trial.can_rewind && trial.files_changed.len() == 1, "{trial:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "after\n", "a trial changed it");
    talk.process.rewind_files(changed, Rewind::Apply).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "before\n");
    let unknown = talk.process.rewind_files(Uuid::new_v4(), Rewind::Apply).await;
    assert!(unknown.is_err(), "{unknown:?}");
}

#[tokio::test]
async fn a_conversation_that_is_not_there_cannot_go_on() {
    let stage = Stage::new();
    let thread = ChatThread::Resume { id: Uuid::from_u128(7), at: None };
    let slot = ProcessSlots::new(1).take().await;
    let (process, _lines) = command(&stage, thread).spawn(slot).unwrap();
    let error = process.initialize().await.unwrap_err().to_string();
    assert!(error.contains("ended with code 1") && error.contains("00000007"), "{error}");
}
