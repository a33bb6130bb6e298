use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::record::claude_code::Patches;
use crate::record::claude_code::transcript::{LineResult, Transcript, Turns};
use crate::record::observation::ObservationKind;

const PROMPT: &str = "00000000-0000-4000-8000-000000000001";

fn at(second: u32) -> String {
    format!("2026-11-15T10:00:{second:02}Z")
}

fn event(event: &Value) -> String {
    json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}).to_string()
}

fn start(message: &str) -> String {
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let message = json!({"id": message, "model": "claude-sonnet-5", "usage": usage});
    event(&json!({"type": "message_start", "message": message}))
}

fn piece(text: &str) -> String {
    event(&json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}))
}

fn finish() -> String {
    event(&json!({"type": "message_delta", "usage": {"output_tokens": 10}}))
}

/// A block as the agent tells it, and as it keeps it.
fn block(second: u32, message: &str, block: &Value) -> [String; 2] {
    let streamed = json!({"type": "assistant", "uuid": format!("a{second}"), "timestamp": at(second),
        "session_id": "s", "parent_tool_use_id": null, "request_id": format!("req_{message}"),
        "message": {"id": message, "role": "assistant", "model": "claude-sonnet-5",
            "content": [block], "usage": {"input_tokens": 100, "output_tokens": 1}}});
    let kept = json!({"type": "assistant", "uuid": format!("a{second}"), "timestamp": at(second),
        "sessionId": "s", "requestId": format!("req_{message}"),
        "message": {"id": message, "role": "assistant", "model": "claude-sonnet-5",
            "content": [block], "usage": {"input_tokens": 100, "output_tokens": 10}}});
    [streamed.to_string(), kept.to_string()]
}

fn result(second: u32, call: &str) -> [String; 2] {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "two"}]);
    let line = json!({"type": "user", "uuid": format!("u{second}"), "timestamp": at(second),
        "message": {"role": "user", "content": content}});
    let (mut streamed, mut kept) = (line.clone(), line);
    (streamed["session_id"], kept["sessionId"]) = (json!("s"), json!("s"));
    [streamed.to_string(), kept.to_string()]
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call() -> Value {
    json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}})
}

/// What a turn comes to of which the agent kept so many lines before it died.
fn recorded(kept: usize) -> Patches {
    let chat_id = SessionId::parse("s").unwrap();
    let asked = Timestamp::parse(&at(0)).unwrap();
    let whole = [
        block(1, "msg_1", &text("Let me see.")),
        block(2, "msg_1", &call()),
        result(3, "toolu_1"),
        block(4, "msg_2", &text("Two.")),
    ];
    let mut unpersisted = UnpersistedOutput::default();
    unpersisted.prompt(PROMPT, "\"How many?\"", asked);
    unpersisted.take(&start("msg_1"));
    unpersisted.take(&whole[0][0]);
    unpersisted.take(&whole[1][0]);
    unpersisted.take(&finish());
    unpersisted.take(&whole[2][0]);
    unpersisted.take(&start("msg_2"));
    unpersisted.take(&piece("Tw"));
    unpersisted.take(&piece("o."));
    unpersisted.take(&whole[3][0]);
    unpersisted.take(&finish());
    let prompt = json!({"type": "user", "uuid": PROMPT, "sessionId": "s", "timestamp": at(0),
        "message": {"role": "user", "content": "How many?"}});
    let lines = [prompt.to_string()].into_iter().chain(whole.into_iter().map(|[_, kept]| kept));
    let (mut transcript, mut turns) = (Transcript::new(), Turns::default());
    let mut patches = Patches::default();
    let mut read = |line: &str| match transcript.take(line, &mut turns) {
        LineResult::Patches(said) => patches.extend(said),
        LineResult::Nothing => {}
        other => panic!("{line}: {other:?}"),
    };
    for line in lines.take(kept) {
        unpersisted.kept(&line);
        read(&line);
    }
    for line in unpersisted.lines(&chat_id, asked) {
        read(&line);
    }
    patches.merged()
}

#[test]
fn a_turn_that_was_told_is_recorded_as_one_that_was_kept() {
    let whole = recorded(5);
    assert_eq!(whole.observations.len(), 4, "the turn, two calls of the model, a tool");
    for kept in 0..5 {
        assert_eq!(recorded(kept), whole, "{kept} lines were kept");
    }
}

#[test]
fn words_that_never_came_whole_are_there_too() {
    let now = Timestamp::parse(&at(9)).unwrap();
    let chat_id = SessionId::parse("s").unwrap();
    let mut unpersisted = UnpersistedOutput::default();
    unpersisted.prompt(PROMPT, "\"How many?\"", now);
    unpersisted.take(&start("msg_1"));
    unpersisted.take(&piece("Per"));
    unpersisted.take(&piece("haps"));
    let (mut transcript, mut turns) = (Transcript::new(), Turns::default());
    let mut patches = Patches::default();
    for line in unpersisted.lines(&chat_id, now) {
        let LineResult::Patches(said) = transcript.take(&line, &mut turns) else { continue };
        patches.extend(said);
    }
    let patches = patches.merged();
    let is_call = |kind: Option<&ObservationKind>| kind == Some(&ObservationKind::Generation);
    let call = patches.observations.iter().find(|step| is_call(step.kind.value())).unwrap();
    assert_eq!(call.trace.as_ref().unwrap().to_string(), PROMPT.replace('-', ""));
    assert!(format!("{:?}", call.output).contains("Perhaps"));
    let used = call.usage.value().unwrap();
    assert_eq!((used.input(), used.output()), (100, 1), "it is billed as far as it came");
}

#[test]
fn a_call_that_is_tried_again_is_counted_once_more() {
    let mut unpersisted = UnpersistedOutput::default();
    unpersisted.take(&start("msg_1"));
    unpersisted.take(&piece("Per"));
    assert_eq!(unpersisted.take_lost(), []);
    unpersisted.take(&start("msg_2"));
    let lost = unpersisted.take_lost();
    let [lost] = lost.as_slice() else { panic!("one call: {lost:?}") };
    assert_eq!((lost.message.as_str(), lost.model.as_str()), ("msg_1", "claude-sonnet-5"));
    assert_eq!((lost.usage.input(), lost.usage.output()), (100, 1));
    unpersisted.take(&finish());
    unpersisted.take(&start("msg_3"));
    assert_eq!(unpersisted.take_lost(), [], "a call that ended is kept");
}

#[test]
fn what_sub_agents_say_is_theirs() {
    let mut unpersisted = UnpersistedOutput::default();
    let [streamed, _] = block(1, "msg_1", &text("Aside."));
    let streamed = streamed.replace("\"parent_tool_use_id\":null", "\"parent_tool_use_id\":\"t\"");
    unpersisted.take(&streamed);
    assert!(unpersisted.lines(&SessionId::parse("s").unwrap(), Timestamp::default()).is_empty());
}

proptest! {
    #[test]
    fn no_line_is_too_odd(lines in prop::collection::vec("\\PC{0,40}", 0..5)) {
        let mut unpersisted = UnpersistedOutput::default();
        for line in &lines {
            unpersisted.take(line);
            unpersisted.kept(line);
        }
        prop_assert!(unpersisted.lines(&SessionId::parse("s").unwrap(), Timestamp::default()).is_empty());
    }
}
