use proptest::prelude::*;
use ratchet_core::time::Timestamp;
use serde_json::json;

use super::*;

fn received(seq: u64, kind: EventKind, body: Value) -> ReceivedEvent {
    let at = Timestamp::from_millis(i64::try_from(seq).unwrap() * 250);
    ReceivedEvent { seq, kind: Some(kind), at: Some(at), body, line: String::new() }
}

/// A turn in which much happens.
fn turn() -> Vec<ReceivedEvent> {
    let events = [
        (EventKind::Message, json!({"id": "m", "content": "look\naround"})),
        (EventKind::State, json!({"state": "running"})),
        (EventKind::TextDelta, json!({"text": "Let me ", "message": "1"})),
        (EventKind::TextDelta, json!({"text": "**look**.", "message": "1"})),
        (EventKind::ThinkingDelta, json!({"text": "hm"})),
        (EventKind::ToolUse, json!({"id": "a", "name": "Bash", "input": {"command": "ls\n-la"}})),
        (EventKind::ToolResult, json!({"tool_use_id": "a", "output": "a\nb\nc"})),
        (EventKind::ToolUse, json!({"id": "b", "name": "mcp__lake__find", "input": {"n": 3}})),
        (
            EventKind::ToolResult,
            json!({"tool_use_id": "b", "output": [{"type": "text", "text": "one"}]}),
        ),
        (EventKind::ToolUse, json!({"id": "t", "name": "Agent", "input": {"description": "dig"}})),
        (
            EventKind::ToolUse,
            json!({"id": "c", "name": "Read", "parent": "t", "input": {"path": "x"}}),
        ),
        (
            EventKind::ToolResult,
            json!({"tool_use_id": "c", "parent": "t", "output": "no", "is_error": true}),
        ),
        (EventKind::TextDelta, json!({"text": "not shown", "parent": "t"})),
        (EventKind::ToolResult, json!({"tool_use_id": "t", "output": "dug"})),
        (EventKind::Permission, json!({"id": "p", "tool": "Bash", "input": {"command": "rm x"}})),
        (EventKind::Answered, json!({"id": "p", "decision": "allow", "always": true, "by": "web"})),
        (EventKind::Question, json!({"id": "q", "questions": [{"question": "Which?"}]})),
        (
            EventKind::Answered,
            json!({"id": "q", "decision": "answer", "answers": {"Which?": "Blue"}}),
        ),
        (EventKind::Notice, json!({"what": "api_retry", "text": "overloaded"})),
        (EventKind::TextDelta, json!({"text": "- all\n- done\n", "message": "2"})),
        (
            EventKind::Done,
            json!({"turn": "0af7", "is_error": false, "cost": 0.0123, "duration_ms": 4250,
                "usage": {"input_tokens": 12, "cache_read_input_tokens": 4000, "output_tokens": 56}}),
        ),
        (EventKind::Done, json!({"is_error": true, "reason": "max_turns"})),
    ];
    events.into_iter().zip(1..).map(|((kind, body), seq)| received(seq, kind, body)).collect()
}

fn shown(paper: OutputTarget) -> String {
    let mut screen = Screen::new(Style::Plain, paper);
    screen.pages = Some("http://127.0.0.1:3000/project/p".to_owned());
    let mut shown = String::new();
    for event in turn() {
        if event.kind == Some(EventKind::Message) {
            shown.push_str(&screen.person(&event, Some("ada")));
        }
        shown.push_str(&screen.show(&event));
    }
    shown
}

#[test]
fn a_turn_reads_like_a_story() {
    insta::assert_snapshot!(shown(OutputTarget::Terminal(60)), @r#"
    › look (ada)
      around

    Let me look.

    ✓ Bash ls -la · 3 lines · 0.2 s  #1
    ✓ mcp__lake__find {"n":3} · one · 0.2 s  #2
    ▸ Agent dig  #3
      ✗ Read x · failed: no · 0.2 s  #4
    ✓ Agent dig · dug · 1.0 s  #3

    ✓ allowed for this chat: Bash rm x (by web)
    ✓ Which? Blue
    · api retry overloaded

    • all
    • done

    4,012 tokens in, 56 out · $0.0123 · 4.2 s
    http://127.0.0.1:3000/project/p/traces/0af7
    the turn ended early: max turns
    "#);
}

#[test]
fn in_a_pipe_the_agents_words_are_as_it_wrote_them() {
    let shown = shown(OutputTarget::Pipe);
    assert!(
        shown.contains("\nLet me **look**.\n\n✓ Bash ls -la · 3 lines · 0.2 s  #1\n"),
        "{shown}"
    );
    assert!(shown.contains("\n- all\n- done\n\n"), "{shown}");
}

#[test]
fn a_call_can_be_shown_in_whole() {
    let mut screen = Screen::new(Style::Plain, OutputTarget::Pipe);
    assert_eq!(screen.tools.show(""), "no tool was used yet\n");
    for event in turn() {
        screen.show(&event);
    }
    insta::assert_snapshot!(screen.tools.show("1"), @r"
    Bash ls -la · 3 lines · 0.2 s
        ls
        -la
    gave
        a
        b
        c
    ");
    assert_eq!(screen.tools.show("9"), "/show takes a number from 1 to 4\n");
    assert!(screen.tools.show("").starts_with("Read x · failed: no"));
}

#[test]
fn numbers_are_grouped() {
    let texts = [7, 999, 1_000, 1_234_567].map(grouped);
    assert_eq!(texts, ["7", "999", "1,000", "1,234,567"]);
}

proptest! {
    #[test]
    fn nothing_reaches_the_terminal_but_text(text in any::<String>(), width in 20_usize..90) {
        let all = [
            (EventKind::Message, json!({"content": text})),
            (EventKind::TextDelta, json!({"text": text})),
            (EventKind::ToolUse, json!({"id": "a", "name": text, "input": {"command": text}})),
            (EventKind::ToolResult, json!({"tool_use_id": "a", "output": text, "is_error": true})),
            (EventKind::Error, json!({"message": text})),
            (EventKind::Notice, json!({"what": text, "text": text})),
            (EventKind::Question, json!({"id": "q", "questions": [{"question": text}]})),
            (EventKind::Answered, json!({"id": "q", "by": text, "answers": {text.clone(): text}})),
            (EventKind::Permission, json!({"id": "p", "tool": text, "input": text})),
            (EventKind::Answered, json!({"id": "p", "decision": "deny", "message": text})),
            (EventKind::Done, json!({"is_error": true, "reason": text, "result": text})),
        ];
        let mut screen = Screen::new(Style::Plain, OutputTarget::Terminal(width));
        let mut shown = String::new();
        for (kind, body) in all {
            let event = received(1, kind, body);
            shown.push_str(&screen.person(&event, Some(&text)));
            shown.push_str(&screen.show(&event));
        }
        shown.push_str(&screen.tools.show("1"));
        let bad = |c: char| c.is_control() && c != '\n' && c != '\t';
        prop_assert!(!shown.contains(bad), "{shown:?}");
    }
}
