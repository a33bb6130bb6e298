//! Failures that the real program cannot be made to show.

use std::time::Duration;

use ratchet_agent::claude::control::Queued;
use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::exit::EndCause;
use ratchet_agent::claude::lines::FromClaude;
use ratchet_agent::claude::message::Reply;
use ratchet_agent::claude::permission::{Remember, remembered};
use ratchet_agent::claude::process_slots::ProcessSlots;
use ratchet_core::chat::reader::LineReader;
use serde_json::json;

use crate::talk::{Stage, Talk, Until, dollars};

#[tokio::test]
async fn words_are_answered_line_by_line_as_they_were_said() {
    let stage = Stage::new();
    let mut talk = Talk::start(&stage.fake()).await;
    talk.say("deltas 3").await;
    let (lines, until) = talk.until(|line| line.is("result")).await;
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["system", "stream_event", "stream_event", "stream_event", "assistant"]);
    assert!(lines[0].is_a("system", "init"));
    let Until::Line(result) = until else { panic!("{until:?}") };
    assert!(result.raw.get().starts_with("{\"duration_ms\""), "{}", result.raw);
    talk.say("odd").await;
    let (_, until) = talk.until(|line| line.is("never_heard_of")).await;
    let Until::Line(odd) = until else { panic!("{until:?}") };
    assert_eq!(odd.raw.get(), r#"{"z":1.0,"type":"never_heard_of","a":{"z":1,"a":[ 1e2 ]}}"#);
    talk.result().await;
    let end = talk.process.end().await;
    assert_eq!((end.cause, end.code), (EndCause::Requested, Some(0)), "{end}");
    assert!(matches!(talk.next().await, FromClaude::Ended(_)));
    assert!(talk.try_next().await.is_none());
}

#[tokio::test]
async fn a_turn_costs_what_came_since_the_last() {
    let stage = Stage::new();
    let mut talk = Talk::start(&stage.fake()).await;
    let mut reader = LineReader::default();
    for _ in 0..3 {
        talk.say("cost").await;
        assert_eq!(talk.cost(&mut reader).await, dollars(0.25));
    }
}

#[tokio::test]
async fn noise_is_skipped_and_kept() {
    let stage = Stage::new();
    let mut talk = Talk::start(&stage.fake()).await;
    talk.say("garbage").await;
    assert_eq!(talk.result().await["result"], "after the noise");
    let end = talk.process.end().await;
    let expected = ["Warning: this is no JSON", r#"{"type":"assistant","broken"#, "[1]"];
    assert_eq!(end.noise, expected);
}

#[tokio::test]
async fn long_lines_are_read_whole_and_endless_ones_are_reported() {
    let stage = Stage::new();
    let mut talk = Talk::start(&stage.fake()).await;
    talk.say("huge 5000000").await;
    let text = talk.result().await["result"].as_str().unwrap().len();
    assert_eq!(text, 5_000_000);
    talk.say("huge 70000000").await;
    let mut lost = Vec::new();
    while lost.len() < 2 {
        if let FromClaude::Lost { bytes } = talk.next().await {
            lost.push(bytes);
        }
    }
    assert!(lost.iter().all(|bytes| *bytes > 70_000_000), "{lost:?}");
    talk.say("hello").await;
    assert_eq!(talk.result().await["result"], "Hello", "it does not go on");
}

#[tokio::test]
async fn a_crash_fails_all_pending_requests() {
    let stage = Stage::new();
    let mut talk = Talk::start(&stage.fake()).await;
    let identity = talk.process.identity().clone();
    assert!(identity.is_alive());
    let process = talk.process.clone();
    let asking = async { process.control("never_answered", &json!({})).await };
    let dying = async {
        talk.say("die").await;
        loop {
            if let FromClaude::Ended(end) = talk.next().await {
                return end;
            }
        }
    };
    let (asked, end) = tokio::join!(asking, dying);
    assert!(matches!(asked, Err(ClaudeError::Ended(_))), "{asked:?}");
    assert_eq!((end.cause, end.signal), (EndCause::Exited, Some(9)));
    assert_eq!(end.noise, [r#"{"type":"assistant","mess"#]);
    assert!(!identity.is_alive());
    let late = talk.process.control("mcp_status", &json!({})).await;
    assert!(matches!(late, Err(ClaudeError::Ended(_))), "{late:?}");
}

#[tokio::test]
async fn stderr_is_part_of_the_exit_error() {
    let stage = Stage::new();
    let talk = Talk::start(&stage.fake()).await;
    talk.say("fail 7").await;
    let end = talk.exit().await;
    assert_eq!(end.to_string(), "claude ended with code 7: something went wrong inside");
}

#[tokio::test]
async fn a_program_that_does_not_start_says_why() {
    let stage = Stage::new();
    let slots = ProcessSlots::new(1);
    let mut command = stage.fake();
    command.options.model = Some("gone".to_owned());
    let (process, _lines) = command.spawn(slots.take().await).unwrap();
    let error = process.initialize().await.unwrap_err();
    let text = "claude ended with code 3: the fake program does not want to start";
    assert_eq!(error.to_string(), text);
    // Its process slot is free again.
    command.options.model = Some("mute".to_owned());
    command.timeouts.start = Duration::from_millis(300);
    let (process, _lines) = command.spawn(slots.take().await).unwrap();
    let error = process.initialize().await.unwrap_err();
    assert!(matches!(error, ClaudeError::TooSlow { .. }), "{error}");
    drop(process);
    drop(slots.take().await);
}

#[tokio::test]
async fn an_idle_process_is_ended_but_not_while_a_person_answers() {
    let stage = Stage::new();
    let mut command = stage.fake();
    command.timeouts.silence = Duration::from_millis(400);
    let mut talk = Talk::start(&command).await;
    talk.say("ask").await;
    let (id, _) = talk.asked_tool().await;
    let thinks = tokio::time::timeout(command.timeouts.silence * 3, talk.lines.next()).await;
    assert!(thinks.is_err(), "{thinks:?}");
    talk.process.answer(&id, &Reply::deny("no").unwrap()).await.unwrap();
    assert_eq!(talk.result().await["result"], "it was denied");
    talk.say("silence").await;
    assert_eq!(talk.exit().await.cause, EndCause::IdleTimeout);
}

#[tokio::test]
async fn only_the_first_answer_counts_and_suggestions_do_not_go_back_whole() {
    let stage = Stage::new();
    let mut talk = Talk::start(&stage.fake()).await;
    talk.say("ask").await;
    let (id, ask) = talk.asked_tool().await;
    let updates = remembered(&ask.permission_suggestions, Remember::Session);
    assert_eq!(
        json!(updates),
        json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}],
                "behavior": "allow", "destination": "session"}])
    );
    let yes = Reply::allow(&ask.input, &updates).unwrap();
    talk.process.answer(&id, &yes).await.unwrap();
    let second = talk.process.answer(&id, &yes).await.unwrap_err();
    assert!(matches!(second, ClaudeError::UnknownRequest { .. }), "{second}");
    assert_eq!(talk.result().await["result"], "it was allowed");
}

#[tokio::test]
async fn an_interrupt_cancels_pending_requests() {
    let stage = Stage::new();
    let mut talk = Talk::start(&stage.fake()).await;
    talk.say("question").await;
    let (asked, ask) = talk.asked_tool().await;
    assert!(ask.requires_user_interaction);
    assert!(talk.process.interrupt(Queued::Keep).await.unwrap().is_empty());
    let FromClaude::Withdrawn { id, .. } = talk.next().await else { panic!("not withdrawn") };
    assert_eq!(id, asked);
    assert_eq!(talk.result().await["subtype"], "error_during_execution");
    let late = talk.process.answer(&asked, &Reply::deny("no").unwrap()).await.unwrap_err();
    assert!(matches!(late, ClaudeError::UnknownRequest { .. }), "{late}");
}

#[tokio::test]
async fn requests_end_by_themselves() {
    let stage = Stage::new();
    let mut command = stage.fake();
    command.timeouts.control = Duration::from_millis(200);
    let talk = Talk::start(&command).await;
    let slow = talk.process.control("never_answered", &json!({})).await.unwrap_err();
    assert_eq!(slow.to_string(), "claude did not answer never_answered within 0 s");
    let refused = talk.process.control("unheard_of", &json!({})).await.unwrap_err();
    let text = "claude refuses unheard_of: Unsupported control request subtype: unheard_of";
    assert_eq!(refused.to_string(), text);
}

#[tokio::test]
async fn all_it_started_ends_with_it() {
    let stage = Stage::new();
    let mut command = stage.fake();
    command.options.model = Some("deaf".to_owned());
    command.timeouts.end = Duration::from_millis(200);
    let mut talk = Talk::start(&command).await;
    talk.say("child").await;
    let started = talk.result().await["result"].as_str().unwrap().to_owned();
    let child = started.trim_start_matches("started ").parse().unwrap();
    let child = ratchet_agent::claude::process_identity::ProcessIdentity::of(child);
    assert!(child.is_alive());
    let end = talk.process.end().await;
    assert_eq!((end.cause, end.signal), (EndCause::Requested, Some(9)), "it is deaf");
    assert!(!child.is_alive(), "a process is left behind");
}
