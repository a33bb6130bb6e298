use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{LineResult, SubAgentMetadata, Transcript, Turns};
use crate::record::claude_code::Patches;
use crate::record::observation::{Level, ObservationKind, ObservationPatch};
use crate::record::trace::TracePatch;

/// A line with the common fields.
fn line(kind: &str, second: u32, more: &Value) -> String {
    let mut line = json!({
        "type": kind, "uuid": format!("{kind}-{second}"), "sessionId": "s1",
        "timestamp": format!("2026-11-15T10:00:{second:02}.000Z"),
        "isSidechain": false, "cwd": "/work/shop", "gitBranch": "trunk", "version": "2.1.325",
    });
    for (key, value) in more.as_object().unwrap() {
        line[key] = value.clone();
    }
    line.to_string()
}

fn prompt(second: u32, text: &str) -> String {
    let uuid = format!("00000000-0000-4000-8000-0000000000{second:02}");
    let more = json!({
        "uuid": uuid, "promptId": format!("p{second}"),
        "message": {"role": "user", "content": text},
    });
    line("user", second, &more)
}

fn turn(second: u32) -> String {
    format!("000000000000400080000000000000{second:02}")
}

fn answer(second: u32, message: &str, block: &Value) -> String {
    let usage = json!({
        "input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
        "output_tokens": 7,
    });
    let message_id = format!("msg_{message}");
    let more = json!({
        "requestId": format!("req_{message}"), "uuid": format!("a{second}-{}", block["type"]),
        "message": {
            "id": message_id, "model": "claude-opus-5", "role": "assistant",
            "content": [block], "usage": usage, "stop_reason": "tool_use",
        },
    });
    line("assistant", second, &more)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": input})
}

fn result(second: u32, id: &str, content: &str, is_error: bool) -> String {
    let block =
        json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error});
    let more = json!({"promptId": "p1", "message": {"role": "user", "content": [block]}});
    line("user", second, &more)
}

/// One turn with two tool calls in one message, and an answer.
fn session() -> Vec<String> {
    vec![
        json!({"type": "mode", "mode": "normal", "sessionId": "s1"}).to_string(),
        prompt(1, "count the files"),
        line("attachment", 1, &json!({"attachment": {}})),
        answer(2, "1", &json!({"type": "thinking", "thinking": "hm", "signature": "x"})),
        answer(2, "1", &call("toolu_1", &json!({"command": "ls"}))),
        answer(3, "1", &call("toolu_2", &json!({"command": "false"}))),
        result(4, "toolu_1", "a b", false),
        result(5, "toolu_2", "exit code 1", true),
        answer(6, "2", &text("two files")),
    ]
}

/// A sub-agent of that turn.
fn scout() -> Vec<String> {
    let agent = json!({"isSidechain": true, "agentId": "a1", "promptId": "p1"});
    let with = |line: String| {
        let mut line: Value = serde_json::from_str(&line).unwrap();
        for (key, value) in agent.as_object().unwrap() {
            line[key] = value.clone();
        }
        line.to_string()
    };
    vec![with(prompt(3, "look around")), with(answer(4, "3", &text("nothing there")))]
}

#[derive(Default)]
struct Read {
    turns: Turns,
    patches: Patches,
}

impl Read {
    fn lines(mut self, mut transcript: Transcript, lines: &[String]) -> Self {
        for line in lines {
            match transcript.take(line, &mut self.turns) {
                LineResult::Patches(patches) => self.patches.extend(patches),
                LineResult::Nothing => {}
                other => panic!("{other:?} of {line}"),
            }
        }
        self
    }

    fn all(self) -> (BTreeMap<String, TracePatch>, BTreeMap<String, ObservationPatch>) {
        let merged = self.patches.merged();
        let traces = merged.traces.into_iter().map(|patch| (patch.id.to_string(), patch));
        let key = |patch: &ObservationPatch| format!("{}", patch.id);
        let observations = merged.observations.into_iter().map(|patch| (key(&patch), patch));
        (traces.collect(), observations.collect())
    }
}

fn about() -> SubAgentMetadata {
    SubAgentMetadata { tool_use: Some("toolu_1".to_owned()), kind: Some("scout".to_owned()) }
}

#[test]
fn a_turn_is_a_trace_with_its_steps() {
    let (traces, steps) = Read::default().lines(Transcript::new(), &session()).all();
    let trace = &traces[&turn(1)];
    assert_eq!(trace.session.value().unwrap().to_string(), "s1");
    assert_eq!(trace.input.value().unwrap().as_str(), r#""count the files""#);
    assert_eq!(trace.output.value().unwrap().as_str(), r#""two files""#);
    let tags: Vec<&str> = trace.tags.iter().map(String::as_str).collect();
    assert_eq!(tags, ["branch:trunk", "claude-code", "folder:shop"]);
    let root = &steps[&turn(1)];
    assert_eq!(root.kind.value(), Some(&ObservationKind::Agent));
    assert_eq!(root.end.0.unwrap().since(root.start.0.unwrap()), 5_000_000_000);
    for step in ["req_1", "req_2", "toolu_1", "toolu_2"] {
        assert_eq!(steps[step].parent.value().unwrap().to_string(), turn(1), "{step}");
    }
    assert_eq!(steps.len(), 5);
}

#[test]
fn a_message_in_pieces_is_one_model_call_counted_once() {
    let (_, steps) = Read::default().lines(Transcript::new(), &session()).all();
    let call = &steps["req_1"];
    let usage = call.usage.value().unwrap();
    assert_eq!((usage.input(), usage.output(), usage.total()), (260, 7, 267));
    assert_eq!(usage.kinds()["input_cache_creation_1h"], 30);
    let output: Value = serde_json::from_str(call.output.value().unwrap().as_str()).unwrap();
    let kinds: Vec<_> = output["content"].as_array().unwrap().iter().map(|b| &b["type"]).collect();
    assert_eq!(kinds, ["thinking", "tool_use", "tool_use"]);
    let input: Value =
        serde_json::from_str(steps["req_2"].input.value().unwrap().as_str()).unwrap();
    assert_eq!(input.as_array().unwrap().len(), 2, "both results went in");
}

#[test]
fn tools_have_their_results() {
    let (_, steps) = Read::default().lines(Transcript::new(), &session()).all();
    let failed = &steps["toolu_2"];
    assert_eq!(failed.name.value().unwrap(), "Bash");
    assert_eq!(failed.level.value(), Some(&Level::Error));
    assert_eq!(failed.status_message.value().unwrap(), "exit code 1");
    assert_eq!(failed.end.0.unwrap().since(failed.start.0.unwrap()), 2_000_000_000);
}

#[test]
fn a_sub_agent_is_inside_the_tool_call_that_started_it() {
    let read = Read::default().lines(Transcript::new(), &session());
    let (traces, steps) = read.lines(Transcript::of_agent(about()), &scout()).all();
    assert_eq!(traces.len(), 1, "it has no turn of its own");
    let agent = &steps["agent-a1"];
    assert_eq!(agent.parent.value().unwrap().to_string(), "toolu_1");
    assert_eq!(agent.name.value().unwrap(), "scout");
    assert_eq!(agent.input.value().unwrap().as_str(), r#""look around""#);
    assert_eq!(steps["req_3"].parent.value().unwrap().to_string(), "agent-a1");
    assert_eq!(steps["req_3"].trace.as_ref().unwrap().to_string(), turn(1));
}

/// The file of a fork: the old lines with its own session and prompt ids, then a new one.
fn fork() -> Vec<String> {
    let opened = json!({
        "type": "queue-operation", "sessionId": "s2", "timestamp": "2026-11-15T10:00:20.000Z"
    });
    let copied = session().into_iter().map(|line| {
        let mut line: Value = serde_json::from_str(&line).unwrap();
        line["sessionId"] = json!("s2");
        if line["promptId"].is_string() {
            line["promptId"] = json!("p21");
        }
        line.to_string()
    });
    let mut new: Value = serde_json::from_str(&prompt(21, "and then?")).unwrap();
    new["sessionId"] = json!("s2");
    std::iter::once(opened.to_string()).chain(copied).chain([new.to_string()]).collect()
}

#[test]
fn a_fork_repeats_nothing_and_takes_nothing_away() {
    let alone = Read::default().lines(Transcript::new(), &session()).all();
    for fork_first in [false, true] {
        let files = if fork_first { [fork(), session()] } else { [session(), fork()] };
        let read =
            files.iter().fold(Read::default(), |read, lines| read.lines(Transcript::new(), lines));
        let (mut traces, mut steps) = read.all();
        let new = traces.remove(&turn(21)).unwrap();
        assert_eq!(new.session.value().unwrap().to_string(), "s2");
        steps.remove(&turn(21)).unwrap();
        assert_eq!((traces, steps), alone);
    }
}

#[test]
fn commands_that_never_reach_the_model_are_no_turns() {
    let command = prompt(8, "<command-name>/model</command-name>");
    let output = prompt(9, "<local-command-stdout>Set model</local-command-stdout>");
    let (traces, _) =
        Read::default().lines(Transcript::new(), &[command.clone(), output.clone()]).all();
    assert_eq!(traces.len(), 0);
    let lines = [command, output, answer(10, "9", &text("done"))];
    let (traces, _) = Read::default().lines(Transcript::new(), &lines).all();
    let input = traces[&turn(8)].input.value().unwrap().as_str().to_owned();
    assert!(input.contains("/model"), "{input}");
}

#[test]
fn compactions_and_failures_are_events() {
    let boundary = json!({
        "uuid": "c1", "subtype": "compact_boundary", "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 9},
    });
    let summary = json!({
        "parentUuid": "c1", "isCompactSummary": true,
        "message": {"role": "user", "content": "what happened so far"},
    });
    let failed = json!({
        "uuid": "e1", "isApiErrorMessage": true,
        "message": {"id": "x", "model": "<synthetic>", "content": [text("API Error: 529")]},
    });
    let lines = [
        prompt(1, "go on"),
        line("system", 2, &boundary),
        line("user", 3, &summary),
        line("assistant", 4, &failed),
    ];
    let (_, steps) = Read::default().lines(Transcript::new(), &lines).all();
    assert_eq!(steps["c1"].kind.value(), Some(&ObservationKind::Event));
    assert_eq!(steps["c1"].output.value().unwrap().as_str(), r#""what happened so far""#);
    assert!(steps["c1"].metadata.get("compactMetadata").is_some());
    assert_eq!(steps["e1"].level.value(), Some(&Level::Error));
    assert_eq!(steps["e1"].status_message.value().unwrap(), "API Error: 529");
}

#[track_caller]
fn check(line: &str, expected: &LineResult) {
    assert_eq!(Transcript::new().take(line, &mut Turns::default()), *expected);
}

#[test]
fn unknown_lines_are_reported_and_not_fatal() {
    let malformed = |why: &str| LineResult::Malformed(why.to_owned());
    check(r#"{"type":"dream"}"#, &LineResult::Unknown("dream".to_owned()));
    check(r#"{"a":1}"#, &malformed("it has no type"));
    check(r#"{"type":"user","sessionId":"s"}"#, &malformed("it has no timestamp"));
    check(&line("user", 1, &json!({"message": 7})), &malformed("it has no message"));
    check(&line("assistant", 1, &json!({"message": {}})), &malformed("its message has no id"));
    for broken in ["", "[]", "{\"type\":\"user\"", "nonsense", "\"text\""] {
        let taken = Transcript::new().take(broken, &mut Turns::default());
        assert!(matches!(taken, LineResult::Malformed(_)), "{broken}: {taken:?}");
    }
}

proptest! {
    /// The records are the same however a transcript is split into parts that are read by different
    /// runs, all from the start, and however often.
    #[test]
    fn reading_in_pieces_and_again_changes_nothing(
        cuts in proptest::collection::vec(0usize..12, 0..4), fork_first in any::<bool>()
    ) {
        let whole = |read: Read| read
            .lines(Transcript::new(), &session())
            .lines(Transcript::of_agent(about()), &scout())
            .lines(Transcript::new(), &fork());
        let expected = whole(Read::default()).all();
        let mut read = Read::default();
        if fork_first {
            read = read.lines(Transcript::new(), &fork());
        }
        for cut in cuts {
            let lines = session();
            read = read.lines(Transcript::new(), &lines[..cut.min(lines.len())]);
        }
        prop_assert_eq!(whole(read).all(), expected);
    }

    #[test]
    fn no_line_panics(text in "[{}\\[\\]\",:a-z0-9\\\\ ]{0,80}", key in "[a-zA-Z]{1,12}") {
        let mut transcript = Transcript::new();
        let odd = json!({key: text, "type": "user", "timestamp": text, "message": {"content": text}});
        for line in [text, odd.to_string()] {
            drop(transcript.take(&line, &mut Turns::default()));
        }
    }
}
